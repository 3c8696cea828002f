"""Text that people see: no door lets out what a terminal obeys, a spreadsheet runs or a page reads as its own."""

import csv
import io
import json
import logging
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.cli.app import _LogLine
from metaeval.core.errors import Shown, UserError
from metaeval.core.files import csv_text, write_text
from metaeval.report import html_report, latex, markdown, terminal
from metaeval.report.table import Block, Cell, ColumnGroup, Note, Table, TableLine

SHORT = st.text(min_size=1, max_size=20)


@pytest.mark.parametrize("text", ["", "a  b ", "naïve", "中文", "é́", "\u200d", "🇦🇹", "a\xa0b", "−0.5"])
def test_visible_text_stays_as_it_is(text):
    assert Shown(text) == text


def test_what_cannot_be_seen_is_a_space():
    assert Shown("a\x1b[2Jb\r\nc\u2028d\u202ee\u2066f\x9bg\ud800h\t") == "a [2Jb  c d e f g h "


@given(SHORT)
def test_it_is_one_clean_line_that_cleaning_does_not_change(hostile, text):
    shown = Shown(text)
    assert len(shown) == len(text)
    assert not hostile.UNSEEN.search(shown)
    assert len(shown.splitlines()) <= 1
    assert Shown(shown) is shown
    assert str(UserError(f"{text} is wrong.")) == Shown(f"{text} is wrong.")
    assert pickle.loads(pickle.dumps(shown)) == shown


def test_a_table_holds_shown_text_only_however_it_is_made():
    nasty, clean = "a\x1b\u202eb", "a  b"
    cell = Cell(nasty, (nasty, nasty), marks=(nasty,), asides=(nasty,))
    assert cell == Cell(clean, (clean, clean), marks=(clean,), asides=(clean,))
    assert hash(cell) == hash(Cell(clean, (clean, clean), marks=(clean,), asides=(clean,)))
    assert replace(Cell("1"), number=nasty).number == clean
    assert Note(nasty, nasty, ((nasty, nasty),)) == Note(clean, clean, ((clean, clean),))
    assert (TableLine(nasty, ()).name, Block(nasty, ()).title, ColumnGroup(nasty, 1).title) == (clean, clean, clean)
    assert all(isinstance(text, Shown) for text in (cell.number, *cell.ends, *cell.marks, Cell().interval))
    assert pickle.loads(pickle.dumps(cell)) == cell
    with pytest.raises(AttributeError):
        cell.number = "1"


def _grid(text):
    cell = Cell(text, (text, text), "best", (text,), (text, text))
    note = Note(text, text, ((text, text),))
    block = Block(text, (TableLine(text, (cell, Cell("-0.5", ("-0.7", "0.1")))),))
    texts = dict.fromkeys(("title", "subtitle", "legend", "stub"), text)
    notes = dict.fromkeys(("footnotes", "footer"), (note,))
    groups = (ColumnGroup(text, 2),)
    return Table((text,), headings=(text, "AUC"), blocks=(block,), signatures=(text,), groups=groups, **texts, **notes)


def check_doors(hostile, text):
    """No door lets out more lines, tags, commands or formulas for a text than for "x"."""
    hostile.check_stream(terminal.text_of(_grid(text)))
    hostile.check_stream(str(UserError(f"{text} is wrong.")))
    hostile.check_tex(latex.table_of(_grid(text)))
    hostile.check_csv(csv_text([[text, 1], [f"x{text}", None]]))
    page, mine = (markdown.page_of(_grid(each)) for each in (text, "x"))
    hostile.check_markdown(page)
    assert len(page.splitlines()) == len(mine.splitlines())
    page, mine = (html_report.table_of(_grid(each)) for each in (text, "x"))
    hostile.check_html(page)
    assert page.count("<") == mine.count("<")


@given(SHORT)
def test_no_door_lets_a_text_through(hostile, text):
    check_doors(hostile, text)


def test_no_door_lets_a_hostile_name_through(hostile, nasty):
    check_doors(hostile, nasty)


@pytest.mark.parametrize("begin", [*"=+-@＝＋－＠", "\t", "\r", "\n"])
def test_a_cell_that_begins_as_a_formula_is_text(begin):
    assert next(csv.reader(io.StringIO(csv_text([[f"{begin}cmd"]]), newline="")))[0].startswith("'")


@pytest.mark.parametrize("value", [-0.5, 1e-12, -3, True, None, "-0.5", "+3", "-1e-05", "-.5", "a=b", "a-b", "–"])
def test_numbers_stay_numbers_and_words_words(value):
    assert csv_text([[value, "x"]]) == f"{'' if value is None else value},x\r\n"


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, json.dumps({"name": "a\ud800b"}, ensure_ascii=False))
    assert json.loads(path.read_text(encoding="utf-8")) == {"name": "a\ud800b"}


def test_what_is_logged_is_one_clean_line(hostile, nasty):
    line = _LogLine().format(logging.LogRecord("metaeval", logging.WARNING, "", 0, "%s", (nasty,), None))
    hostile.check_stream(line)
    assert "\n" not in line
