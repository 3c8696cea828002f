"""`metaeval cite generate` by the papers' set-ups: sentence by sentence, in samples, killed, and of earlier jobs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import metaeval
from tests.cli.samples import lines_of

pytest.importorskip("aiohttp", reason="needs the extra 'llm'")

pytestmark = pytest.mark.usefixtures("own_environment")

TWO_STAGE = ("--strategy", "two-stage")
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
    }
    for number in range(1, 4)
]


def writer(body):
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
    path = tmp_path / "rivers.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS))
    return path


def counts(folder):
    records = json.loads((folder / "generation.json").read_text())["records"]
    return {record["count"]: record["value"] for record in records}


def test_answers_are_written_by_sentences_and_keep_their_choices(ran, fake, questions, tmp_path):
    with fake.ChatServer(answer=writer) as server:
        model = ("--model", "tiny", "--base-url", server.url, "--record", "kept.jsonl")
        ended = ran("cite", "generate", questions, "-o", "one.jsonl", *TWO_STAGE, *model)
        # Summaries: "Barges ..." serves all three rivers, 1 + 2 * 3; choices 3 * 3; sentences 3 * 2.
        assert server.completed.total() == 7 + 9 + 6
    written = lines_of(tmp_path / "one.jsonl")
    assert (written[1]["text"], written[1]["generation"]) == (
        "River 2 is 200 kilometres long [1]. Barges carry coal on it [2].",
        {
            "summaries": {
                "1": "River 2 is 200 kilometres long",
                "2": "Barges carry coal on it.",
                "3": "Nobody knows number 2.",
            },
            "steps": [
                {"documents": [1], "sentence": "River 2 is 200 kilometres long [1]."},
                {"documents": [2], "sentence": "Barges carry coal on it [2]."},
            ],
        },
    )
    assert "two-stage" in ended.out
    replayed = ("-o", "two.jsonl", *TWO_STAGE, "--replay", "kept.jsonl", "--results", "again")
    ran("cite", "generate", questions, *replayed)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    ran("cite", "alce", "one.jsonl", "--nli", "overlap", "--threshold", "0.9", "-s", "interval.resamples=20")


def test_a_killed_run_goes_on_where_it_stopped_and_pays_nothing_twice(ran, fake, questions, tmp_path):
    process = None

    def until(body):
        if process is not None and server.completed.total() == 11:  # amid the second round
            process.send_signal(signal.SIGKILL)
            process.wait()
        return writer(body)

    with fake.ChatServer(answer=until) as server:
        words = ["cite", "generate", str(questions), "-o", "one.jsonl", *TWO_STAGE, "--model", "tiny"]
        words += [
            "--base-url",
            server.url,
            "-s",
            "samples=2",
            "-s",
            "chat.temperature=0.5",
            "-s",
            "chat.concurrency=1",
            "-q",
        ]
        command = [sys.executable, "-m", "metaeval", *words]
        process = subprocess.Popen(command, cwd=tmp_path, env=os.environ, stderr=subprocess.DEVNULL)
        assert process.wait(timeout=120) == -signal.SIGKILL
        process = None
        paid = server.completed.total()
        assert paid in (11, 12)  # the reply that was on its way may have been counted
        ran(*words)
        # 7 summaries; for each of two samples 9 choices and 6 sentences; and the one request that was in hand.
        assert 7 + 2 * 15 <= server.completed.total() <= 7 + 2 * 15 + 1
    rows = lines_of(tmp_path / "one.jsonl")
    assert [(row["id"], row["sample"]) for row in rows] == [(f"q{n}", sample) for n in (1, 2, 3) for sample in (0, 1)]


def test_more_samples_keep_those_that_are_paid(ran, fake, questions, tmp_path):
    with fake.ChatServer(answer=writer) as server:
        words = [
            "cite",
            "generate",
            questions,
            "--model",
            "tiny",
            "--base-url",
            server.url,
            "-s",
            "chat.temperature=0.5",
        ]
        ran(*words, "-o", "one.jsonl")
        assert server.completed.total() == 3
        ran(*words, "-o", "three.jsonl", "-s", "samples=3")
        assert server.completed.total() == 9
    found = counts(tmp_path / "results/latest")
    assert (found["questions"], found["samples"], found["answers"]) == (3, 9, 9)
    rows = lines_of(tmp_path / "three.jsonl")
    assert [row["sample"] for row in rows] == [0, 1, 2] * 3
    first = [{name: value for name, value in row.items() if name != "sample"} for row in rows[::3]]
    assert first == lines_of(tmp_path / "one.jsonl")


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
    assert len(lines_of(tmp_path / "one.jsonl")) == 3
    assert answers == lines_of(tmp_path / "one.jsonl")
    assert "output=text" in json.loads(Path("results/latest/generation.json").read_text())["signatures"][0]
    assert "files are the same bytes" in ran("results", "rerun", "latest", "-s", "trust_config=true").out


def test_a_condition_is_part_of_the_system_s_name_and_of_the_signature(ran, fake, questions, tmp_path):
    rows = [{**row, "passages": [{**each, "summary": "Short."} for each in row["passages"]]} for row in QUESTIONS]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with fake.ChatServer(answer=writer) as server:
        words = ("cite", "generate", questions, "--model", "tiny", "--base-url", server.url, "-o", "a.jsonl")
        ran(*words, "-s", "documents=2", "-s", "document_text=summary", "-s", "shuffle=4")
        (one, *_) = lines_of(tmp_path / "a.jsonl")
        assert (one["system"], len(one["passages"])) == ("tiny/truncated/2-summary", 2)
        assert one["text"].startswith("Short [1]")
        (signed,) = json.loads(Path("results/latest/generation.json").read_text())["signatures"]
        assert "answer_words=200,documents=2,document_text=summary,shuffle=4|" in signed
        ran(*words, "-s", "negatives=0")
        assert [len(row["passages"]) for row in lines_of(tmp_path / "a.jsonl")] == [1, 1, 1]
        told = ran(*words, "-s", "negatives=4")
    assert "negatives from other questions: 6" in told.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-s", "document_text=abstract"), "document_text is 'abstract'"),
        (("-s", "document_text=summary"), "No document has the field for document_text=summary"),
        (("-s", "documents=9"), "documents=9 asks for more documents than there are: 3 of 3 questions have fewer"),
        (("-s", "samples=2"), "samples=2 at temperature 0 are the same answer 2 times: set a temperature"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(refused, questions, options, says):
    words = ("--model", "tiny", "--base-url", "http://127.0.0.1:9/v1")
    assert says in refused("cite", "generate", questions, "-o", "a.jsonl", *words, *options)
