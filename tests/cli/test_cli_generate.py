"""`metaeval cite generate` as it is typed: with faults, killed, replayed, by the papers' set-ups, and refused."""

import json
import re
from pathlib import Path

import pytest

import metaeval
from tests.cli.samples import lines_of, write_lines

pytest.importorskip("openai", reason="needs the extra 'llm'")

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
        "text": "It is long [1].",
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


def by_sentences(body):
    """A model that writes one sentence from the first document, one from the second, and then stops."""
    prompt = body["messages"][0]["content"]
    if "which questions it helps" in prompt:
        return json.dumps({"summary": json.loads(prompt.rpartition("Document: ")[2])["text"].split(". ")[0]})
    if "You decide for the next sentence" in prompt:
        marks = len(re.findall(r"\[\d\]", json.loads(prompt.rpartition("The answer so far: ")[2])))
        return json.dumps({"documents": [marks + 1] if marks < 2 else []})
    documents = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"document": ')]
    return f"{documents[0]['text'].split('. ')[0].rstrip('.')} [{documents[0]['document']}]."


@pytest.fixture
def questions(tmp_path):
    return write_lines(tmp_path / "rivers.jsonl", QUESTIONS)


def counts(folder):
    records = json.loads((folder / "generation.json").read_text())["records"]
    return {record["count"]: record["value"] for record in records}


@pytest.mark.parametrize(("strategy", "requests"), [("truncated", 6), ("summary", 18 + 6)])
def test_answers_come_through_faults(asked, contents, fake, questions, tmp_path, strategy, requests, recorded):
    words = ("cite", "generate", questions, "-o", "one.jsonl", "--budget", "1", "--strategy", strategy, *QUICK)
    ended, server = asked(writer, *words, faults=0.4, kinds=fake.QUICK_FAULTS, seed=16)
    assert sorted(server.completed.values()) == [1] * requests
    first = tmp_path / "results/latest"
    assert sorted(contents(first)) == sorted(["generation.json", "report.html", "left-out.jsonl"])
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
    recorded.held(f"cited-generate-{strategy}", recorded.sheets(first))


def test_what_failed_is_left_out_counted_and_listed(asked, fake, questions, tmp_path, recorded):
    def some(body):
        prompt = body["messages"][0]["content"]
        if "Sum up" in prompt:
            return "Sorry." if "river 2?" in prompt else writer(body)
        if any(f"river {number}?" in prompt for number in (3, 4, 5)):
            return fake.completion("River 5 is", finish_reason="length")
        return writer(body)

    ended, _ = asked(some, "cite", "generate", questions, "-o", "a.jsonl", "--strategy", "summary", *QUICK)
    assert [one["id"] for one in lines_of(tmp_path / "a.jsonl")] == ["q1", "q6"]
    left, said = lines_of(tmp_path / "results/latest/left-out.jsonl"), " ".join(ended.out.split())
    lost = [("q2", "summary", "unparsed"), *((f"q{number}", "answer", "unparsed") for number in (3, 4, 5))]
    assert [(one["id"], one["stage"], one["state"]) for one in left] == lost
    found = counts(tmp_path / "results/latest")
    assert (found["left out: summary unparsed"], found["left out: answer unparsed"], found["answers"]) == (1, 3, 2)
    assert "q2 (summary unparsed), q3 (answer unparsed), q4 (answer unparsed), and 1 more" in said
    recorded.held("cited-generate-failed", recorded.sheets(tmp_path / "results/latest"))


def test_no_answer_at_all_writes_nothing(asked, fake, questions, tmp_path):
    cut = fake.completion("It is", finish_reason="length")

    def some(body):
        read = "Sum up" in str(body) and "river 1?" not in str(body)
        return writer(body) if read else cut

    ended, _ = asked(some, "cite", "generate", questions, "-o", "a.jsonl", "-q", "--strategy", "summary", code=2)
    assert "'summary'. Replies: 6 cut at the token limit; the first reply begins 'It is'" in ended.err
    assert "-s chat.max_tokens=2048" in ended.err  # twice the default
    assert not (tmp_path / "a.jsonl").exists()


def test_a_killed_run_goes_on_where_it_stopped_and_pays_nothing_twice(killed, questions, tmp_path):
    sampled = ("--strategy", "two-stage", "-s", "samples=2", "-s", "chat.temperature=0.5")
    server = killed(by_sentences, 20, "cite", "generate", questions, *sampled)  # amid the second round
    # 13 summaries; for each of two samples 18 choices and 12 sentences.
    assert server.completed.total() == 13 + 2 * 30
    rows = lines_of(tmp_path / "a.jsonl")
    assert [(row["id"], row["sample"]) for row in rows] == [(f"q{n}", sample) for n in range(1, 7) for sample in (0, 1)]


def test_the_chat_setting_output_is_the_form_of_the_replies(ran, fake, questions, tmp_path):
    def plain(body):
        assert "response_format" not in body
        prompt = body["messages"][0]["content"]
        assert "JSON" not in prompt
        assert "Document [1] (Title: River" in prompt
        return "It is long [1]."

    with fake.ChatServer(answer=plain) as server:
        model = ("--model", "tiny", "--base-url", server.url, "-s", "chat.output=text")
        ran("cite", "generate", questions, "-o", "one.jsonl", *model)
        assert not Path("text").exists()
        answers = metaeval.cite.generate(questions, "tiny", base_url=server.url, chat={"output": "text"})
    assert len(lines_of(tmp_path / "one.jsonl")) == 6
    assert answers == lines_of(tmp_path / "one.jsonl")
    assert "output=text" in json.loads(Path("results/latest/generation.json").read_text())["signatures"][0]
    assert "files are the same bytes" in ran("results", "rerun", "latest", "-s", "trust_config=true").out


def test_a_condition_is_part_of_the_system_s_name_and_of_the_signature(ran, fake, questions, tmp_path):
    rows = [{**row, "passages": [{**each, "summary": "Short."} for each in row["passages"]]} for row in QUESTIONS]
    write_lines(questions, rows)
    with fake.ChatServer(answer=by_sentences) as server:
        words = ("cite", "generate", questions, "--model", "tiny", "--base-url", server.url, "-o", "a.jsonl")
        ran(*words, "-s", "documents=2", "-s", "document_text=summary", "-s", "shuffle=4")
        (one, *_) = lines_of(tmp_path / "a.jsonl")
        assert (one["system"], len(one["passages"])) == ("tiny/truncated/2-summary", 2)
        assert one["text"].startswith("Short [1]")
        (signed,) = json.loads(Path("results/latest/generation.json").read_text())["signatures"]
        assert "answer_words=200,documents=2,document_text=summary,shuffle=4|" in signed
        told = ran(*words, "-s", "negatives=4")
    assert "negatives from other questions: 12" in told.err
