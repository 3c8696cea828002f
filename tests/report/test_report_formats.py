"""Formats by name, and results of every schema version through all of them."""

import json
from pathlib import Path

import pytest

from metaeval.errors import UserError
from metaeval.report.result import SCHEMAS, load_result, save_result
from metaeval.report.sheet import FORMATS, check_format, table_text, write_tables

HISTORIC = sorted((Path(__file__).parent / "historic").glob("*.json"))


def test_every_format_has_its_own_suffix():
    assert FORMATS == {"terminal": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv"}


def test_an_unknown_format_gets_the_nearest_name():
    with pytest.raises(UserError) as caught:
        check_format("markdwon")
    assert str(caught.value) == (
        "Unknown format 'markdwon'. Did you mean 'markdown'? Known: csv, latex, markdown, terminal."
    )


def test_tables_are_written_beside_each_other_and_a_dot_in_the_name_stays(result, tmp_path):
    paths = write_tables(result, tmp_path / "wice.v1")
    assert [path.name for path in paths] == ["wice.v1.txt", "wice.v1.md", "wice.v1.tex", "wice.v1.csv"]
    for path, name in zip(paths, FORMATS, strict=True):
        assert path.read_bytes().decode("utf-8") == table_text(result, name)


@pytest.mark.parametrize("name", FORMATS)
def test_saving_and_loading_changes_no_table(result, tmp_path, name):
    save_result(result, tmp_path / "result.json")
    assert table_text(load_result(tmp_path / "result.json"), name) == table_text(result, name)


def test_every_schema_is_among_the_historic_files():
    written = {json.loads(path.read_text(encoding="utf-8"))["schema"] for path in HISTORIC}
    assert written == set(SCHEMAS)


def test_an_old_file_gets_what_came_later_as_absent():
    result = load_result(Path(__file__).parent / "historic" / "schema-1.json")
    assert (result.ceilings, result.significance, result.published) == ({}, None, "")
    assert {value.ceiling for row in result.rows for value in row.values.values()} == {None}
    assert result.interval.method == "percentile"


@pytest.mark.parametrize("path", HISTORIC, ids=lambda path: path.name)
@pytest.mark.parametrize("name", FORMATS)
def test_old_results_load_and_render(path, name):
    result = load_result(path)
    text = table_text(result, name)
    assert all(row.signature in text for row in result.rows if row.kind == "metric")
