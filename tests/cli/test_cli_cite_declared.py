"""Citation pipelines as declared analyses: command and function give the same tables, and a job runs again."""

import json
from pathlib import Path

import pytest

import metaeval
from metaeval.report.notebook import NotebookText
from tests.cli.samples import reply, write_rated_answers

pytestmark = pytest.mark.usefixtures("own_environment")

QUICK = ("-q", "-s", "interval.resamples=20")
CALLED = {"interval": {"resamples": 20}}


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Two systems' answers to three questions, in a folder with their files."""
    monkeypatch.chdir(tmp_path)
    return write_rated_answers(tmp_path)


OFFLINE = {
    "alce": (
        "alce answers.jsonl --nli overlap,rouge --threshold 0.5 -s premise=chunks",
        {"nli": "overlap,rouge", "threshold": 0.5, "premise": "chunks"},
    ),
    "aliice": ("aliice answers.jsonl --metrics overlap", {"metrics": ["overlap"]}),
    "scifi": ("scifi answers.jsonl --nli overlap -s group=joint", {"nli": "overlap", "group": "joint"}),
    "meta": ("meta rated.jsonl --nli overlap --scenario cited", {"nli": "overlap", "scenario": "cited"}),
    "meta ": ("meta rated.jsonl --scores scores.jsonl", {"scores": "scores.jsonl"}),
    "tables": (
        "tables A=answers.jsonl -c aliice --nli overlap --parser small",
        {"config": "aliice", "nli": "overlap", "parser": "small"},
    ),
}
ASKED = {
    "scifi": ["scifi", "answers.jsonl", "--nli", "overlap", "-s", "chat.output=json_schema"],
    "citeeval": ["citeeval", "answers.jsonl", "-s", "chat.extra={top_k: 1, stop: [a]}"],
    "citeeval file": ["citeeval", "answers.jsonl", "-s", "editing_file="],
    "refit": ["refit", "rated.jsonl"],
    "rewrite": ["rewrite", "answers.jsonl", "--nli", "overlap", "-s", "whole=true", "-s", "chat.temperature=0.5"],
    "improve": ["improve", "answers.jsonl", "-o", "better.jsonl", "--rounds", "2"],
    "meta": ["meta", "rated.jsonl", "--pipelines", "citeeval"],
    "generate": ["generate", "answers.jsonl", "-o", "new.jsonl", "-s", "chat.output=json_schema"],
}


@pytest.mark.parametrize("name", OFFLINE)
def test_a_command_and_its_function_give_the_same_tables(ran, answers, tmp_path, name):
    typed, keywords = OFFLINE[name]
    ran("cite", *typed.split(), *QUICK, "--results", "typed")
    result = getattr(metaeval.cite, name.strip())(typed.split()[1], **keywords, **CALLED, results=tmp_path / "called")
    sheets = {
        path.relative_to(Path("typed/latest").resolve()).with_suffix("").as_posix(): json.loads(path.read_text())
        for path in Path("typed/latest").resolve().rglob("*.json")
    }
    sheets = {place: sheet["records"] for place, sheet in sheets.items() if "records" in sheet}
    tables = getattr(result, "tables", result)
    assert sheets.keys() == tables.keys()
    for place, records in sheets.items():
        assert json.loads(json.dumps([dict(one) for one in tables[place].records])) == records
    assert not [path for path in (tmp_path / "called").rglob("*") if path.suffix in (".json", ".csv", ".tex")]


@pytest.mark.parametrize("name", OFFLINE)
def test_a_job_run_again_has_the_same_hash_and_bytes(cli, ran, answers, name, contents):
    ran("cite", *OFFLINE[name][0].split(), *QUICK)
    before = contents(Path("results"))

    ended = cli("results", "rerun", "latest")

    assert (ended.code, contents(Path("results"))) == (0, before), ended.err
    assert "files are the same bytes." in ended.out
    assert " 0 of 0 " not in ended.out


@pytest.mark.parametrize(
    ("name", "kept"), [*((name, "record") for name in ASKED), *(("citeeval", kept) for kept in ("replay", "store"))]
)
def test_a_job_of_a_chat_model_runs_again_from_its_kept_replies(cli, ran, fake, answers, name, kept, contents):
    typed = ["cite", *ASKED[name], *QUICK]
    with fake.ChatServer(answer=reply) as server:
        model = ("--model", "tiny", "--base-url", server.url)
        ran(*typed, *model, *(() if kept == "store" else ("--record", "kept.jsonl")))
    if kept == "replay":
        ran(*typed, "--replay", "kept.jsonl")
    before, made = contents(Path("results")), manifest()

    ended = cli("results", "rerun", "latest", *(["--set", "trust_config=true"] if kept == "store" else []))

    assert (ended.code, contents(Path("results"))) == (0, before), ended.err
    assert manifest()["recipe"] == made["recipe"]


def manifest():
    return json.loads(Path("results/latest/manifest.json").read_text())


def test_an_address_in_a_recipe_is_asked_only_where_it_is_trusted(refused, ran, fake, answers):
    with fake.ChatServer(answer=reply) as server:
        model = ("--model", "tiny", "--base-url", server.url)
        ran("cite", "citeeval", "answers.jsonl", *model, *QUICK)

    error = refused("results", "rerun")
    assert "base_url" in error
    assert "trust_config=true" in error


@pytest.mark.parametrize("path", ["answers.jsonl", "prompt.txt"])
def test_a_file_that_was_read_is_held_by_its_hash(refused, ran, fake, answers, path):
    Path("prompt.txt").write_text("Edit. {query} {passages} {statements} Reply in JSON.")
    with fake.ChatServer(answer=reply) as server:
        model = ("--model", "tiny", "--base-url", server.url, "--record", "kept.jsonl")
        typed = ("cite", "citeeval", "answers.jsonl", "-s", "editing_file=prompt.txt")
        ran(*typed, *model, *QUICK)
    ran("results", "rerun")
    Path(path).write_text("other")

    assert f"cannot be run again: {path} is missing or has changed" in refused("results", "rerun")


def test_files_of_tables_are_in_the_recipe(ran, answers):
    ran("cite", "tables", "A=answers.jsonl", "--nli", "overlap", *QUICK)

    assert list(manifest()["recipe"]["files"]) == ["answers.jsonl"]


@pytest.mark.parametrize("words", [["answers.jsonl", "--nli", "overlap"], ["--nli", "overlap", "answers.jsonl"]])
def test_a_file_without_a_pipeline_is_for_alce(ran, answers, words):
    ran("cite", *words, *QUICK)
    assert manifest()["recipe"]["analysis"] == "cite alce"


def test_the_group_is_called_by_the_name_of_a_pipeline(answers):
    named = metaeval.cite("alce", "answers.jsonl", nli=["overlap"], **CALLED)
    usual = metaeval.cite(answers, nli="overlap", **CALLED)

    assert named.estimates == metaeval.cite.alce("answers.jsonl", nli="overlap", **CALLED).estimates
    assert [row["value"] for row in named.estimates] == [row["value"] for row in usual.estimates]
    assert {"alce", "support", "tables_scifi", "convert"} <= set(dir(metaeval.cite))


def test_a_result_that_python_writes_runs_again(ran, answers):
    for given in ("answers.jsonl", answers):
        metaeval.cite.alce(given, nli="overlap", **CALLED).write()
        assert "6 of 6 files are the same bytes" in ran("results", "rerun").out


def test_a_plan_is_a_text_in_python(answers):
    said = metaeval.cite.citeeval("answers.jsonl", model="tiny", base_url="http://127.0.0.1:9/v1", dry_run=True)

    assert isinstance(said, NotebookText)
    assert "requests" in said


def test_two_names_of_one_option_are_refused(answers):
    with pytest.raises(metaeval.core.errors.UserError, match="metrics is another name of nli"):
        metaeval.cite.alce("answers.jsonl", nli="overlap", metrics="rouge")
