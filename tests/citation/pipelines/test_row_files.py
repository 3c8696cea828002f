"""Rows as JSON lines, and the CSV made of these: undefined values, truth values, text that UTF-8 cannot hold."""

import json

import pytest

from metaeval.citation.pipelines.cited import row_files
from metaeval.errors import UserError
from metaeval.report.table import Table
from metaeval.report.table_files import FORMATS, format_texts, write_rows

ROWS = [{"answer": "a", "value": None, "cut": True}, {"answer": 'b, "c"', "value": 0.25, "cut": False}]


def test_undefined_is_empty_and_truth_is_a_number(tmp_path):
    path = write_rows(Table(name="rows", records=ROWS), tmp_path)
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == ROWS
    # Quotes are doubled inside quotes (RFC 4180, section 2.7).
    assert format_texts(path, FORMATS) == {".csv": 'answer,value,cut\na,,1\n"b, ""c""",0.25,0\n'}
    assert format_texts(path, ["latex"]) == {}


def test_a_list_in_a_cell_is_json(tmp_path):
    path = write_rows(Table(name="rows", records=[{"scores": {"a": 1}, "places": [1, 2]}]), tmp_path)
    assert format_texts(path, ["csv"])[".csv"] == 'scores,places\n"{""a"": 1}","[1, 2]"\n'


def test_without_rows_there_is_no_csv(tmp_path):
    path = write_rows(Table(name="rows", records=[]), tmp_path)
    assert (path.read_text(encoding="utf-8"), format_texts(path, FORMATS)) == ("", {})


def test_lines_that_are_no_objects_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n[\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"rows\.jsonl"):
        format_texts(path, ["csv"])


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path):
    path = write_rows(Table(name="rows", records=[{"text": "\ud800"}]), tmp_path)
    assert json.loads(path.read_text(encoding="utf-8")) == {"text": "\ud800"}
    assert format_texts(path, ["csv"])[".csv"] == "text\n\\ud800\n"


def test_files_are_named_by_what_the_rows_are_and_the_backend(tmp_path):
    (path,) = row_files([Table(name="answers:scores:x/y", records=ROWS)])(tmp_path)
    assert path.stem == "per-answers-scores_x_y"
