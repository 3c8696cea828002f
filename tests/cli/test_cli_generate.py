"""`metaeval cite generate` as it is typed: with faults, killed, replayed, read by the pipelines, and refused."""

import json

import pytest

import metaeval
from tests.cli.samples import lines_of

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-s", "chat.backoff=0.01", "-s", "chat.price_in=0.5", "-s", "chat.price_out=1.5", "-s", "chat.retries=20")
QUESTIONS = [
    {
        "id": f"q{number}",
        "question": f"How long is river {number}?",
        "passages": [
            {"title": f"River {number}", "text": f"River {number} is {number}00 kilometres long. It has fish."},
            {"text": "Barges carry coal on it."},
            {"text": f"Nobody knows number {number}."},
        ],
        "reference": {"answer": f"{number}00 kilometres"},
    }
    for number in range(1, 7)
]


def writer(body):
    """A model that takes the first two documents, and says of each its first sentence; and of a third that is none."""
    prompt = body["messages"][0]["content"]
    if "Sum up" in prompt:
        document = json.loads(prompt.rpartition("Document: ")[2])
        return json.dumps({"summary": document["text"].split(". ")[0] if document["document"] < 3 else ""})
    documents = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"document": ')]
    said = [f"{one['text'].split('. ')[0].rstrip('.')} [{one['document']}]" for one in documents[:2]]
    return f"{' and '.join(said)}, they say [8]."


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "rivers.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS))
    return path


def counts(folder):
    records = json.loads((folder / "generation.json").read_text())["records"]
    return {record["count"]: record["value"] for record in records}


@pytest.mark.parametrize(("strategy", "requests"), [("truncated", 6), ("summary", 18 + 6)])
def test_answers_come_through_faults_and_a_replay_writes_the_same_bytes(
    cli, ran, contents, fake, questions, tmp_path, strategy, requests
):
    kept, chosen = tmp_path / "replies.jsonl", ("--strategy", strategy, *QUICK)
    with fake.ChatServer(answer=writer, faults=0.4, kinds=fake.QUICK_FAULTS, seed=16) as server:
        endpoint = ("--model", "tiny", "--base-url", server.url, "--record", kept, "--budget", "1")
        ended = cli("cite", "generate", questions, "-o", "one.jsonl", *endpoint, *chosen)
        assert (ended.code, sum(server.faulted.values()) > 0) == (0, True), ended.err
        assert sorted(server.completed.values()) == [1] * requests
    ran("cite", "generate", questions, "-o", "two.jsonl", "--replay", kept, "--results", "again", *chosen)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    first, second = tmp_path / "results/latest", tmp_path / "again/latest"
    files = contents(first)
    assert contents(second) == files
    assert sorted(files) == sorted(["generation.json", "report.html", "left-out.jsonl"])
    written = lines_of(tmp_path / "one.jsonl")
    assert written[2] == {
        "id": "q3",
        "question": "How long is river 3?",
        "text": "River 3 is 300 kilometres long [1] and Barges carry coal on it [2], they say [8].",
        "passages": [{"title": "", **passage} for passage in QUESTIONS[2]["passages"]],
        "system": f"tiny/{strategy}",
        "reference": {"answer": "300 kilometres"},
    }
    found = counts(first)
    assert (found["questions"], found["answers"], found["marks"], found["marks that cite no document"]) == (6, 6, 18, 6)
    # "River 3 is 300 kilometres long and Barges carry coal on it, they say.": 14 words, and none is a mark.
    assert found["words per answer"] == 14
    assert found["documents shown per answer"] == (3 if strategy == "truncated" else 2)
    # The fake server counts 100 tokens in and 10 out for every reply: 0.5 and 1.5 USD per million.
    assert found["USD for these replies"] == pytest.approx(requests * (100 * 0.5 + 10 * 1.5) / 1e6)
    assert "marks that cite no document" in ended.out


def test_the_pipelines_read_what_is_written(ran, fake, questions, tmp_path):
    with fake.ChatServer(answer=writer) as server:
        ran("cite", "generate", questions, "-o", "a.jsonl", "--model", "tiny", "--base-url", server.url, "-q")
    ran("cite", "alce", "a.jsonl", "--nli", "overlap", "--threshold", "0.9", "-s", "interval.resamples=20")
    (path,) = (tmp_path / "results/latest").glob("*answer*.jsonl")
    rows = lines_of(path)
    assert [(row["answer"], row["system"]) for row in rows] == [(f"q{n}", "tiny/truncated") for n in range(1, 7)]


def test_what_failed_is_left_out_counted_and_listed(cli, fake, questions, tmp_path):
    def some(body):
        prompt = body["messages"][0]["content"]
        if "Sum up" in prompt:
            return "Sorry." if "river 2?" in prompt else writer(body)
        if "river 5?" in prompt:
            return fake.completion("River 5 is", finish_reason="length")
        return writer(body)

    with fake.ChatServer(answer=some) as server:
        endpoint = ("--model", "tiny", "--base-url", server.url, "--strategy", "summary")
        ended = cli("cite", "generate", questions, "-o", "a.jsonl", *endpoint, *QUICK)
    assert ended.code == 0
    assert [one["id"] for one in lines_of(tmp_path / "a.jsonl")] == ["q1", "q3", "q4", "q6"]
    assert [
        (one["id"], one["stage"], one["state"]) for one in lines_of(tmp_path / "results/latest/left-out.jsonl")
    ] == [
        ("q2", "summary", "unparsed"),
        ("q5", "answer", "unparsed"),
    ]
    found = counts(tmp_path / "results/latest")
    assert (found["left out: summary unparsed"], found["left out: answer unparsed"], found["answers"]) == (1, 1, 4)
    assert "q2 (summary unparsed), q5 (answer unparsed)" in " ".join(ended.out.split())


def test_no_answer_at_all_writes_nothing(refused, fake, questions, tmp_path):
    with fake.ChatServer(answer=lambda body: fake.completion("It is", finish_reason="length")) as server:
        said = refused(
            "cite", "generate", questions, "-o", "a.jsonl", "--model", "tiny", "--base-url", server.url, "-q"
        )
    assert "6 cut at the token limit; the first reply begins 'It is'" in said
    assert "-s chat.max_tokens=2048" in said  # twice the default
    assert not (tmp_path / "a.jsonl").exists()


def test_replies_that_ended_by_themselves_are_not_blamed_on_the_token_limit(refused, fake, questions, tmp_path):
    def talk(body):
        return "Certainly! Here is everything that I found out about it."

    with fake.ChatServer(answer=talk) as server:
        endpoint = ("--model", "tiny", "--base-url", server.url, "--strategy", "summary")
        said = refused("cite", "generate", questions, "-o", "a.jsonl", *endpoint)
    assert "6 malformed; the first reply begins 'Certainly! Here is everything that I fou...'" in said
    assert "max_tokens" not in said
    assert not (tmp_path / "a.jsonl").exists()


def test_a_dry_run_says_what_is_left_and_asks_nothing(cli, fake, questions, tmp_path):
    with fake.ChatServer(answer=writer) as server:
        command = ("cite", "generate", questions, "-o", "a.jsonl", "--model", "tiny", "--base-url", server.url, *QUICK)
        first = cli(*command, "--strategy", "summary", "--dry-run")
        assert (first.code, server.attempts.total()) == (0, 0)
        head, summaries, answers = first.out.splitlines()
        assert head == "6 questions, strategy summary"
        assert summaries.startswith("summary: 18 requests to ask, 0 replies already stored")
        # 1,024 tokens for each reply at the most.
        assert "at most 18,432 out" in summaries
        assert "(a budget of at least $0.00" in summaries
        assert answers.startswith("then answer, at most: 6 requests to ask")
        assert not (tmp_path / "results").exists()
        cli(*command, "--strategy", "summary")
        assert "18 replies already stored" in cli(*command, "--strategy", "summary", "--dry-run").out
        assert cli(*command, "--dry-run").out.count("\n") == 2  # one stage


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--model", "tiny", "-s", "documnets=3"), "Did you mean 'documents'"),
        (("--model", "tiny", "-s", "documents=0"), "documents is 0"),
        (("--model", "tiny", "-s", "negatives=-1"), "negatives is -1"),
        (("--model", "tiny", "--strategy", "sumary"), "'summary'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(refused, questions, options, says):
    assert says in refused("cite", "generate", questions, "-o", "a.jsonl", *options)


def test_the_function_gives_the_commands_answers_to_the_next_one(ran, fake, questions, tmp_path):
    with fake.ChatServer(answer=writer) as server:
        ran("cite", "generate", questions, "-o", "a.jsonl", "--model", "tiny", "--base-url", server.url)
        for given in (questions, QUESTIONS):
            answers = metaeval.cite.generate(given, "tiny", base_url=server.url, results=tmp_path / "results")
            assert answers == lines_of(tmp_path / "a.jsonl")
    drawn = metaeval.label(answers, 4, results=tmp_path / "results")
    assert {one["passage"] for one in drawn} <= {
        f"Title: {one['title']}\n{one['text']}" if one["title"] else one["text"]
        for answer in answers
        for one in answer["passages"]
    }
