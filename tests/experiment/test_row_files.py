"""Rows as CSV and JSON lines: empty tables, undefined values, truth values, and text that UTF-8 cannot hold."""

import json

from metaeval.experiment.citing.result import RowTable

ROWS = [{"answer": "a", "value": None, "cut": True}, {"answer": 'b, "c"', "value": 0.25, "cut": False}]


def read(paths):
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def test_undefined_is_empty_and_truth_is_a_number_or_a_word(tmp_path):
    found = read(RowTable("rows", ROWS, "rows").write(tmp_path))
    # Quotes are doubled inside quotes (RFC 4180, section 2.7).
    assert found["rows.csv"] == 'answer,value,cut\na,,1\n"b, ""c""",0.25,0\n'
    assert [json.loads(line) for line in found["rows.jsonl"].splitlines()] == ROWS
    assert read(RowTable("words", ROWS, "words", words=True).write(tmp_path))["words.csv"].splitlines()[1] == "a,,True"


def test_without_rows_there_is_the_header_that_is_given(tmp_path):
    assert read(RowTable("rows", [], "rows", ["answer", "cut"]).write(tmp_path)) == {
        "rows.csv": "answer,cut\n",
        "rows.jsonl": "",
    }


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path):
    found = read(RowTable("rows", [{"text": "\ud800"}], "rows").write(tmp_path))
    assert found["rows.csv"] == "text\n\\ud800\n"
    assert json.loads(found["rows.jsonl"]) == {"text": "\ud800"}


def test_files_are_named_by_what_the_rows_are_and_the_backend(tmp_path):
    assert sorted(read(RowTable("answers:scores:x/y", ROWS).write(tmp_path))) == [
        "per-answers-scores_x_y.csv",
        "per-answers-scores_x_y.jsonl",
    ]
