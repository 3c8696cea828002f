"""`worker:COMMAND`: the protocol kept, broken in every way that we could think of, and the identity of what was run."""

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from metaeval.errors import UserError
from metaeval.scoring.backends import line_process
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.score_store import ScoreStore
from metrics_zoo.worker import Worker

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "own-metrics.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.split("# my_worker.py\n")[1].split("```")[0]

# Reads a block to its end, and answers it backwards.
BY_BLOCK = """\
import json, sys
from itertools import takewhile

next(sys.stdin)
print(json.dumps({"protocol": "metaeval-worker/1", "name": "lengths", "version": "2", "direction": -1}), flush=True)
while block := list(takewhile(str.strip, sys.stdin)):
    for line in reversed(block):
        pair = json.loads(line)
        print(json.dumps({"id": pair["id"], "score": len(pair["source"]) + len(pair["statement"])}))
    sys.stdout.flush()
"""

HELLO = '{"protocol": "metaeval-worker/1", "name": "fake", "version": "1"}'

PAIRS = [("a b c", "a b"), ("a b c", "a d"), ("x", "y z"), ("x", " \n"), ("é 東京 \u2028 \ud800", "東京 \ud800")]


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """A worker made of a script's text."""
    monkeypatch.chdir(tmp_path)

    def make(text, **options):
        (tmp_path / "it.py").write_text(text, encoding="utf-8")
        return Worker(Worker.Options(command=f"{shlex.quote(sys.executable)} it.py", **options))

    return make


@pytest.fixture
def patient(monkeypatch):
    """A worker that is let go has the time that it takes on a busy machine."""
    monkeypatch.setattr(line_process, "_GRACE", 60.0)


@pytest.fixture
def scripted(worker):
    """A worker that says hello, reads one block, writes `lines`, and then runs `end`."""

    def make(*lines, hello=HELLO, end="sys.stdin.read()", **options):
        text = f"""import sys, time
next(sys.stdin); print({hello!r}, flush=True)
for line in sys.stdin:
    if not line.strip(): break
for line in {lines!r}: print(line, flush=True)
{end}
"""
        return worker(text, **options)

    return make


def stopped(metric, pairs=(("s", "t"), ("s", "u"))):
    """The sentence that scoring ends with."""
    began = time.monotonic()
    with pytest.raises(UserError) as raised:
        score_pairs(metric, list(pairs))
    assert time.monotonic() - began < 120
    return str(raised.value)


def test_the_example_of_the_readme(worker):
    answers = score_pairs(worker(EXAMPLE), PAIRS).answers
    # Words shared / words of the statement: 2/2, 1/2, 0/2; the fourth has no words; the fifth shares both.
    assert [answer.score for answer in answers] == [1.0, 0.5, 0.0, None, 1.0]
    assert answers[3].status is Status.EMPTY


def test_a_worker_that_reads_blocks_and_answers_backwards(worker):
    metric = worker(BY_BLOCK)
    answers = score_pairs(metric, PAIRS).answers
    assert [answer.score for answer in answers] == [
        None if not statement.strip() else len(source) + len(statement) for source, statement in PAIRS
    ]
    assert metric.card.direction == -1
    assert Worker.card.direction == 1


def test_blocks_follow_one_another_and_a_block_of_megabytes_blocks_nobody(worker):
    # 40 MB in each direction of a pipe that holds 64 kB: a side that wrote all before it read would wait for ever.
    text = EXAMPLE.replace("score=", "score=0 if sys.stderr.write('x' * 200 + chr(10)) else ")
    pairs = [(f"{number} " + "word " * 2000, f"{number}") for number in range(2000)]
    metric = worker(text)
    for _ in range(2):
        answers = metric.score([source for source, _ in pairs], [statement for _, statement in pairs])
        assert len(answers) == 2000
        assert {answer.status for answer in answers} == {Status.OK}


def test_statuses_tokens_and_cut(scripted):
    metric = scripted(
        '{"id": 1, "score": null, "status": "nothing to score", "tokens": 7, "cut": 2}', '{"id": 0, "score": 3}'
    )
    first, second = score_pairs(metric, [("s", "long"), ("s", "t")]).answers
    assert (first.score, first.status, first.tokens, first.cut) == (3.0, Status.OK, 0, 0)
    assert second == (None, Status.NOTHING_TO_SCORE, 7, 2)


def test_a_score_that_is_not_finite_is_a_status(scripted):
    metric = scripted('{"id": 0, "score": NaN}', '{"id": 1, "score": -1e999}', '{"id": 2, "score": 0.5}')
    answers = score_pairs(metric, [("s", "longest"), ("s", "longer"), ("s", "t")]).answers
    assert [answer.status for answer in answers] == [Status.NOT_FINITE, Status.NOT_FINITE, Status.OK]


GOOD = '{"id": 0, "score": 1}'

FAULTS = {
    "garbage": (("Loading weights: 100%",), "not a JSON object"),
    "a list": (("[1, 2]",), "not a JSON object"),
    "a score as text": (('{"id": 0, "score": "0.5"}',), "score: input should be a valid number"),
    "true": (('{"id": 0, "score": true}',), "score: input should be a valid number"),
    "no score": (('{"id": 0}',), "score: field required"),
    "no id": (('{"score": 1}',), "id: field required"),
    "a typing error": (('{"id": 0, "score": 1, "tokns": 5}',), "tokns: extra inputs are not permitted"),
    "a wrong status": (('{"id": 0, "score": null, "status": "lost"}',), "status: input should be 'ok'"),
    "twice": ((GOOD, GOOD), "answered pair 0 twice"),
    "never asked": (('{"id": 99, "score": 1}',), "answered pair 99, never asked"),
    "none without a status": (('{"id": 0, "score": null}',), "score None and status 'ok'"),
    "a score and a status": (('{"id": 0, "score": 1, "status": "empty"}',), "score 1.0 and status 'empty'"),
    "an error of its own": (('{"error": "No such checkpoint."}',), "reports: No such checkpoint."),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("patient")
def test_a_fault_is_one_sentence_with_the_workers_last_words(scripted, fault):
    lines, said = FAULTS[fault]
    metric = scripted(
        *lines, end="print('first', file=sys.stderr); print('last words', file=sys.stderr); sys.stdin.read()"
    )
    sentence = stopped(metric)
    assert said in sentence
    assert sentence.startswith("The worker '")
    # A worker that says itself what is wrong has no more to say.
    assert sentence.endswith("last words") or "reports" in said
    assert "\n" not in sentence


def test_its_last_words_are_quoted(scripted):
    sentence = stopped(scripted(end="print('first\\nCUDA is on fire\\n', file=sys.stderr); sys.exit(3)"))
    assert "ended with exit code 3 with 2 of 2 pairs unanswered" in sentence
    assert sentence.endswith("Its last line on standard error: CUDA is on fire")


def test_a_worker_that_is_killed(scripted):
    sentence = stopped(scripted(GOOD, end="import os; os.kill(os.getpid(), 9)"))
    assert "was killed by SIGKILL with 1 of 2 pairs unanswered" in sentence


def test_a_worker_that_closes_its_output_and_lives_on(scripted):
    sentence = stopped(scripted(GOOD, end="import os; os.close(1); time.sleep(600)"))
    assert "closed its standard output" in sentence


def test_a_silent_worker_is_waited_for_no_longer_than_asked(scripted, monkeypatch):
    metric = scripted(GOOD, end="time.sleep(600)", timeout=0.5)
    read, patience = metric._process.read, iter((60, 60))  # a busy machine takes its time for the two lines
    monkeypatch.setattr(metric._process, "read", lambda seconds: read(next(patience, seconds)))
    sentence = stopped(metric)
    assert "said nothing for 0.5 s, with 1 of 2 pairs unanswered" in sentence


START = '{"protocol": "metaeval-worker/1", "name": "n", '
HELLOS = {
    "": "not a JSON object",
    "hello": "not a JSON object",
    '{"protocol": "metaeval-worker/2", "name": "n", "version": "1"}': "protocol: input should be 'metaeval-worker/1'",
    '{"protocol": "metaeval-worker/1", "version": "1"}': "name: field required",
    START + '"version": 1}': "version: input should be a valid string",
    START + '"version": "1", "direction": 0}': "direction: input should be 1 or -1",
    START + '"version": "1", "dirction": -1}': "dirction: extra inputs",
    '{"error": "no GPU"}': "reports: no GPU",
}


@pytest.mark.parametrize("hello", HELLOS)
def test_a_wrong_first_line(scripted, hello):
    assert HELLOS[hello] in stopped(scripted(GOOD, hello=hello))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program-anywhere x", "cannot be started (No such file or directory)"),
        (shlex.join([sys.executable, "-c", "import nothing_like_it"]), "No module named 'nothing_like_it'"),
        (shlex.join([sys.executable, "-c", "pass"]), "ended with exit code 0 before its first line"),
        ("cat", "name: field required"),  # sends our own first line back
    ],
)
def test_commands_that_are_no_workers(command, said):
    assert said in stopped(Worker(Worker.Options(command=command)))


def test_a_command_that_cannot_be_read_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match="open quote"):
        Worker.Options(command="python 'my worker.py")
    with pytest.raises(UserError, match=r"needs a program: metric='worker:python my_worker\.py'"):
        Worker(Worker.Options(command="  "))


def test_the_command_runs_without_a_shell(worker, tmp_path):
    metric = Worker(Worker.Options(command=f"{shlex.quote(sys.executable)} -c pass ; touch {tmp_path / 'touched'}"))
    stopped(metric)
    assert not (tmp_path / "touched").exists()


def test_an_edited_program_is_another_metric(worker):
    before, same = worker(EXAMPLE).identity(), worker(EXAMPLE).identity()
    edited = worker(EXAMPLE + "# edited\n").identity()
    assert before == same
    assert before["files"]["it.py"] != edited["files"]["it.py"]
    json.dumps(before)


def test_files_after_an_equals_sign_count_too(worker, tmp_path):
    worker(EXAMPLE)
    (tmp_path / "weights.txt").write_text("1")
    command = f"{shlex.quote(sys.executable)} it.py --weights=weights.txt"
    first = Worker(Worker.Options(command=command)).identity()["files"]
    (tmp_path / "weights.txt").write_text("2")
    second = Worker(Worker.Options(command=command)).identity()["files"]
    assert first["it.py"] == second["it.py"]
    assert first["weights.txt"] != second["weights.txt"]


@pytest.mark.parametrize("field", ['"version": "2"', '"identity": {"checkpoint": "other"}', '"direction": -1'])
def test_what_the_worker_says_of_itself_is_in_its_identity(scripted, field):
    other = json.dumps(json.loads(HELLO) | json.loads("{" + field + "}"))
    assert scripted(hello=HELLO).identity()["worker"] != scripted(hello=other).identity()["worker"]


def test_the_signature_says_which_program(worker):
    fields = worker(EXAMPLE).provenance()
    assert fields["worker"] == "shared-words@1"
    assert "it.py@sha256:" in fields["files"]


def test_what_was_scored_before_a_fault_is_kept(worker, tmp_path):
    """Blocks of one source each: the worker dies in the second, and its successor is asked for the rest alone."""
    dies = EXAMPLE.replace(
        "        words", "        if 'bad' in pair['source']: sys.exit('out of memory')\n        words"
    )
    pairs = [("a " * 40_000, "a b"), ("bad " * 10_000, "a")]

    def metric(survives):
        made = worker(dies)
        # One identity for both, as where a machine ran out of memory the first time.
        if survives:
            made = Worker(Worker.Options(command=made.options.command))
            (tmp_path / "it.py").write_text(EXAMPLE)
        made.__dict__["_files"] = {}
        return made

    with ScoreStore(tmp_path / "scores.sqlite") as store:
        with pytest.raises(UserError, match="out of memory"):
            score_pairs(metric(False), pairs, store)
        again = score_pairs(metric(True), pairs, store)
    assert (again.unique, again.computed) == (2, 1)
    assert [answer.score for answer in again.answers] == [0.5, 0.0]


@pytest.mark.usefixtures("patient")
def test_a_worker_ends_when_it_is_let_go(worker):
    metric = worker(EXAMPLE)
    metric.identity()
    process = metric._process._process
    del metric
    assert process.wait(timeout=60) == 0
