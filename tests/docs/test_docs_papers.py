"""The page of the papers: every command is one that metaeval reads, and the page is what the files make."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

ROOT = Path(__file__).parents[2]


def _module():
    spec = importlib.util.spec_from_file_location("papers_page", ROOT / "docs" / "papers_page.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PAPERS = _module()
READ = PAPERS.papers()
ROWS = [(name, row) for name, paper in READ.items() for row in paper.rows]
COMMANDS = [
    pytest.param(command, id=f"{name}, {row.part}: {number}")
    for name, row in ROWS
    for number, command in enumerate(row.commands, start=1)
]
ROW = {"part": "Table 9", "shows": "a thing", "commands": ["metaeval run"], "run": "all of it"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_read_by_the_command_line(command):
    PAPERS.parse(command)


def test_the_page_is_made_of_the_files():
    made = "type: python docs/papers_page.py"
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == PAPERS.page(), made


def test_every_table_and_figure_of_the_base_paper_has_a_row():
    parts = "; ".join(row.part for row in READ["base"].rows)
    assert {*re.findall(r"\d", " ".join(re.findall(r"Tables? (\d(?: and \d)?)", parts)))} == {*"12345"}
    assert {*re.findall(r"Figure (\d)", parts)} == {*"123"}


@pytest.mark.parametrize("name", READ)
def test_a_row_stands_once(name):
    parts = [row.part for row in READ[name].rows]
    assert len(parts) == len(set(parts))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("metaeval run --nope 1", "No such option"),
        ("metaeval nope", "No such command"),
        ("metaeval results", "stops before a command's name"),
        ("metaeval run -s chunk.length=1", "Unknown setting 'chunk.length'"),
        ("metaeval run -s chunk.size=x", "valid integer"),
        ("metaeval run -c nope", "Unknown experiment 'nope'"),
        ("python run.py", "does not start with metaeval"),
    ],
)
def test_a_command_that_is_refused_is_an_error(command, sentence):
    with pytest.raises(ValueError, match=sentence):
        PAPERS.parse(command)


@pytest.mark.parametrize(
    "change",
    [{"needs": ["luck"]}, {"run": ""}, {"shown": "x"}, {"part": ""}, {"commands": "metaeval run"}],
)
def test_a_row_that_does_not_fit_is_refused(change):
    with pytest.raises(ValidationError):
        PAPERS.Row.model_validate({**ROW, **change})


def test_a_row_says_what_it_needs_what_was_run_and_what_was_not():
    rows = [{**ROW, "part": "A"}, {**ROW, "part": "B", "needs": ["gpu", "data"], "run": "", "not_run": "no GPU."}]
    paper = PAPERS.Paper.model_validate({"paper": "P", "source": "S", "rows": rows})
    text = PAPERS.page({"p": paper})
    block = "```sh\nmetaeval run\n```"
    assert f"### A: a thing\n\n{block}\n\nRun here: all of it\n" in text
    assert f"### B: a thing\n\n{block}\n\nNeeds: gpu, data. Not run: no GPU.\n" in text


def test_a_long_command_is_broken_between_words_and_keeps_its_quotes():
    long = "metaeval run " + " ".join(f"-s metric_options.overlap.stem{number}='a b'" for number in range(4))
    paper = {"paper": "P", "source": "S", "rows": [{**ROW, "commands": [long]}]}
    block = PAPERS.page({"p": PAPERS.Paper.model_validate(paper)}).partition("```sh\n")[2].partition("\n```")[0]
    assert max(map(len, block.splitlines())) <= 78
    assert PAPERS.shlex.split(block.replace("\\\n", " ")) == PAPERS.shlex.split(long)
