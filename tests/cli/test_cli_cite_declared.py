"""Citation pipelines as declared analyses: a job runs again, by its recipe and by the command that it prints."""

import json
import shlex
from pathlib import Path

import pytest

import metaeval
from metaeval.report.notebook import NotebookText
from tests.cli.samples import reply, write_rated_answers

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-q", "-s", "interval.resamples=5")
CALLED = {"interval": {"resamples": 5}}


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Two systems' answers to three questions, in a folder with their files."""
    monkeypatch.chdir(tmp_path)
    return write_rated_answers(tmp_path)


OFFLINE = [
    "alce answers.jsonl --nli overlap --threshold 0.5 -s premise=chunks -s chunk.size=9 -s interval.seed=4",
    "aliice answers.jsonl --nli rouge-2 --threshold soft --profile released",
    "scifi answers.jsonl --nli overlap,rouge --threshold overlap=0.5 -s group=joint -s uncited=fails"
    " -s metric_options.rouge.stem=true -s interval.level=0.9",
    "scifi answers.jsonl --nli overlap --profile paper -s tokenizer=words",
    "meta rated.jsonl --nli overlap --threshold 0.5 -s profile=released",
    "meta rated.jsonl --scores scores.jsonl",
    "meta rated.jsonl --nli overlap --pipelines scifi,autoais --scenario cited -s interval.level=0.9 -s gaps=response",
    "tables A=answers.jsonl -c aliice --nli overlap --parser small",
]
FORM = "-s chat.output=json_schema"  # replies are told apart by their schema
ASKED = [
    f"scifi answers.jsonl --nli overlap -s uncited=fails -s chat.temperature=0.3 -s chat.seed=4 {FORM}",
    "citeeval answers.jsonl -s editing_file=",
    "citeeval answers.jsonl --profile released --scenario cited -s chat.max_tokens=2000 -s chat.top_p=null"
    " -s statements_per_request=1 -s \"chat.extra={top_k: 1, stop: ['a', 'b=c']}\"",
    "citeeval answers.jsonl --baselines lqac,attrscore --nli overlap --threshold 0.5",
    "meta rated.jsonl --pipelines citeeval -s chat.max_tokens=99",
    f"meta rated.jsonl --pipelines scifi --nli overlap -s facts=model -s chat.seed=1 {FORM}",
    "refit rated.jsonl -s interval.level=0.9",
    "rewrite answers.jsonl --nli overlap -s whole=true -s chat.temperature=0.5",
    "improve answers.jsonl -o better.jsonl --rounds 2 -s scenario=cited",
    f"generate answers.jsonl -o new.jsonl --strategy summary -s samples=2 -s chat.temperature=0.5 {FORM}",
    f"generate answers.jsonl -o new.jsonl --strategy two-stage -s chat.temperature=null {FORM}",
]


@pytest.mark.parametrize("typed", OFFLINE)
def test_a_job_runs_again_by_its_recipe_and_by_its_command(ran, answers, again, typed):
    ran("cite", *shlex.split(typed), *QUICK)
    again()


@pytest.mark.parametrize("typed", ASKED)
def test_a_job_of_a_chat_model_runs_again_from_its_kept_replies(ran, fake, answers, again, typed):
    words = ("cite", *shlex.split(typed), *QUICK)
    with fake.ChatServer(answer=reply) as server:
        if "rewrite" in words:  # its replies come from the store
            ran(*words, "--model", "tiny", "--base-url", server.url)
            sent = server.attempts.total()
            again("-s", "trust_config=true")
            assert server.attempts.total() == sent
            return
        ran(*words, "--model", "tiny", "--base-url", server.url, "--record", "kept.jsonl")
    again(record="--replay")


# What is typed, what the plan begins with, the requests of the first step, the most tokens that these bring, and more.
# Both systems say the same: six answers are three texts with two requests of 4,096 tokens; LQAC has 15 of 1,024.
RECORDED = Path(__file__).parents[1] / "sound" / "recording.jsonl"
SCIFI = "scifi, 4 sentences to decompose: 4 requests to ask, 0 replies already stored"
MARKS = "Then one more request for each fact of 6 sentences with several citations"
PLANS = {
    "citeeval answers.jsonl --baselines lqac": ("", 21, 6 * 4096 + 15 * 1024, ""),
    "improve answers.jsonl -o a.jsonl --rounds 3": (
        *("6 answers, to judge before any edit: ", 6, 6 * 4096, "in each of 3 rounds, at most 6 requests of about"),
    ),
    f"scifi answers.jsonl --nli overlap {FORM}": ("4 sentences to decompose: ", 4, 4 * 1024, MARKS),
    f"generate answers.jsonl -o n.jsonl --strategy summary {FORM}": (
        *("3 questions, strategy summary\nsummary: ", 6, 6 * 1024, "then answer, at most: 3 requests to ask"),
    ),
    f"generate answers.jsonl -o n.jsonl -s samples=2 -s chat.temperature=1 {FORM}": (
        *("3 questions, 2 samples of each, strategy truncated\nanswer: ", 6, 6 * 1024, ""),
    ),
    f"meta rated.jsonl --pipelines citeeval,scifi --nli overlap -s facts=model {FORM}": (
        *("citeeval, 6 answers to judge: ", 6, 6 * 4096, SCIFI),
    ),
    "rewrite answers.jsonl --nli overlap -s whole=true": ("18 claims to rewrite: ", 5, 5 * 512, ""),
    "refit rated.jsonl": ("6 answers to be edited: ", 3, 3 * 4096, ""),
}


@pytest.mark.parametrize("typed", PLANS)
def test_a_dry_run_says_what_it_would_cost_and_asks_nothing(ran, fake, answers, typed):
    head, requests, most, more = PLANS[typed]
    with fake.ChatServer(answer=reply) as server:
        prices = ("-s", "chat.price_in=1", "-s", "chat.price_out=2", "-s", "interval.resamples=5")
        words = ("cite", *typed.split(), "--model", "tiny", "--base-url", server.url, *prices)
        before = ran(*words, "--dry-run").out
        assert (server.attempts.total(), Path("results").exists()) == (0, False)
        assert before.startswith(f"{head}{requests} requests to ask, 0 replies already stored; about ")
        assert f", at most {most:,} out; at most about $" in before
        assert (more in before, before.count("then ")) == (True, more.count("then "))
        ran(*words)
        sent = server.attempts.total()
        assert f"0 requests to ask, {requests} replies already stored" in ran(*words, "--dry-run").out
        assert server.attempts.total() == sent > 0


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("scifi answers.jsonl", "A parser makes the facts: no chat model is asked"),
        (f"scifi answers.jsonl --replay {RECORDED}", f"The replies are in {RECORDED}: no chat model is asked"),
        ("tables-scifi answers.jsonl", "A parser makes the facts: no chat model is asked"),
        (f"meta rated.jsonl --pipelines citeeval --replay {RECORDED}", f"The replies are in {RECORDED}: no chat model"),
        ("meta rated.jsonl", "No pipeline here asks a chat model: nothing is sent, and nothing is paid."),
    ],
    ids=["parser", "replay", "tables", "replayed judge", "metrics"],
)
def test_a_dry_run_says_that_nobody_is_asked(ran, answers, typed, says):
    assert ran("cite", *typed.split(), "--nli", "overlap", "--dry-run").out.startswith(says)


def test_fitted_coefficients_are_a_file_that_the_command_names(asked, answers, again):
    asked(reply, "cite", "refit", "rated.jsonl", *QUICK, "--results", "first")
    fitted = ("--coefficients", "first/latest/fitted.json", "--record", "kept.jsonl")
    asked(reply, "cite", "citeeval", "answers.jsonl", *fitted, *QUICK)
    again(record="--replay")


def manifest():
    return json.loads(Path("results/latest/manifest.json").read_text())


def test_an_address_in_a_recipe_is_asked_only_where_it_is_trusted(refused, asked, answers):
    asked(reply, "cite", "citeeval", "answers.jsonl", *QUICK)
    error = refused("results", "rerun")
    assert "base_url" in error
    assert "trust_config=true" in error


@pytest.mark.parametrize("path", ["answers.jsonl", "prompt.txt"])
def test_a_file_that_was_read_is_held_by_its_hash(refused, ran, asked, answers, path):
    Path("prompt.txt").write_text("Edit. {query} {passages} {statements} Reply in JSON.")
    typed = ("cite", "citeeval", "answers.jsonl", "-s", "editing_file=prompt.txt", "--record", "kept.jsonl")
    asked(reply, *typed, *QUICK)
    ran("results", "rerun")
    Path(path).write_text("other")
    assert f"{path} is missing or has changed." in ran("results", "show").out
    assert f"cannot be run again: {path} is missing or has changed" in refused("results", "rerun")


@pytest.mark.parametrize("words", [["copy", "--nli", "overlap"], ["--nli", "overlap", "answers.jsonl"]])
def test_a_file_without_a_pipeline_is_for_alce(ran, cli, answers, words):
    assert ["Cannot read" in cli("cite", name).err for name in ("nowhere", "no/x", "a.jsonl")] == [False, True, True]
    Path("copy").write_bytes(Path("answers.jsonl").read_bytes())
    ran("cite", *words, *QUICK)
    assert manifest()["recipe"]["analysis"] == "cite alce"


def test_the_group_is_called_by_the_name_of_a_pipeline(answers):
    named = metaeval.cite("alce", "answers.jsonl", nli=["overlap"], **CALLED)
    usual = [metaeval.cite(given, nli="overlap", **CALLED) for given in (answers, "answers.jsonl")]

    assert named.estimates == metaeval.cite.alce("answers.jsonl", nli="overlap", **CALLED).estimates
    values = [[row["value"] for row in called.estimates] for called in (named, *usual)]
    assert values == [values[0]] * 3
    assert {"alce", "support", "tables_scifi", "convert"} <= set(dir(metaeval.cite))


def test_a_result_that_python_writes_runs_again(ran, answers):
    for given in ("answers.jsonl", answers):
        metaeval.cite.alce(given, nli="overlap", **CALLED).write()
        assert "6 of 6 files are the same bytes" in ran("results", "rerun").out


def test_a_plan_is_a_text_in_python(answers):
    said = metaeval.cite.citeeval("answers.jsonl", model="tiny", base_url="http://127.0.0.1:9/v1", dry_run=True)

    assert isinstance(said, NotebookText)
    assert "requests" in said


def test_two_names_of_one_option_are_refused_and_names_that_are_none(answers):
    wrong = {"metrics is another name of nli": {"nli": "overlap", "metrics": "rouge"}, "nli is 5": {"nli": 5}}
    for says, given in wrong.items():
        with pytest.raises(metaeval.core.errors.UserError, match=says):
            metaeval.cite.alce("answers.jsonl", **given)
    listed = metaeval.cite.formats()
    assert [metaeval.cite.formats(name=row["format"]).records for row in listed.records] == [[row] for row in listed]
    with pytest.raises(metaeval.core.errors.UserError, match="'trec'"):
        metaeval.cite.formats(name="trc")


REWRITE = "rewrite answers.jsonl --base-url http://127.0.0.1:9/v1 -s chat.retries=0 --nli overlap"
GENERATE = "generate answers.jsonl -o a.jsonl --model tiny"
REFUSED = {
    "scifi answers.jsonl --nli overlap -s tokenzier=x": "Did you mean 'tokenizer'",
    "scifi answers.jsonl --nli overlap --record x.jsonl": "--record is for chat models",
    "scifi answers.jsonl --nli overlap --threshold much": "--threshold is 'much'; allowed: a number, soft",
    REWRITE: "Cannot reach http://127.0.0.1:9/v1",
    f"{REWRITE} --budget 1": "both price_in and price_out",
    f"{REWRITE} -s threshold=soft": "'soft'",
    f"{REWRITE},rouge": "One metric judges the claims, and 2 are given",
    f"{REWRITE} -s profile=own": "Unknown profile 'own'",
    f"{REWRITE} -s chat.temprature=1": "'temprature'",
    f"{GENERATE} -s documnets=3": "Did you mean 'documents'",
    f"{GENERATE} -s documents=0": "documents is 0",
    f"{GENERATE} -s negatives=-1": "negatives is -1",
    f"{GENERATE} --strategy sumary": "'summary'",
    f"{GENERATE} -s document_text=abstract": "document_text is 'abstract'",
    f"{GENERATE} -s document_text=summary": "No document has a summary",
    f"{GENERATE} -s documents=9": "documents=9",
    f"{GENERATE} -s samples=2": "samples=2 at temperature 0",
}


@pytest.mark.parametrize("typed", REFUSED)
def test_what_cannot_be_done_is_one_sentence(refused, answers, typed):
    assert REFUSED[typed] in refused("cite", *typed.split())
    assert not Path("results/cite").exists()
