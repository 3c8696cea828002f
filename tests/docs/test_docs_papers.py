"""The page of the papers: every command is one that metaeval reads, and the page is what the files make."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


SPEC = importlib.util.spec_from_file_location("papers_page", ROOT / "docs" / "papers_page.py")
PAPERS = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PAPERS)
READ = PAPERS.papers()


def test_every_command_is_read_by_the_command_line():
    commands = [command for paper in READ.values() for row in paper.rows for command in row.commands]
    assert len(commands) > 50
    for command in commands:
        PAPERS.parse(command)


def test_the_page_is_made_of_the_files():
    made = "type: python docs/papers_page.py"
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == PAPERS.page(), made


def test_every_table_and_figure_of_the_base_paper_has_a_row():
    parts = "; ".join(row.part for row in READ["base"].rows)
    assert {*re.findall(r"\d", " ".join(re.findall(r"Tables? (\d(?: and \d)?)", parts)))} == {*"12345"}
    assert {*re.findall(r"Figure (\d)", parts)} == {*"123"}


def test_a_row_stands_once():
    for paper in READ.values():
        parts = [row.part for row in paper.rows]
        assert len(parts) == len(set(parts))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("metaeval run --nope 1", "No such option"),
        ("metaeval results", "stops before a command's name"),
        ("metaeval run -s chunk.size=x", "valid integer"),
        ("python run.py", "does not start with metaeval"),
    ],
)
def test_a_command_that_is_refused_is_an_error(command, sentence):
    with pytest.raises(ValueError, match=sentence):
        PAPERS.parse(command)
