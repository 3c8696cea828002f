"""Formats by name, and results of every schema version through all of them."""

import json
from pathlib import Path

import pytest

from metaeval.errors import UserError
from metaeval.report.result import SCHEMAS, load_result, save_result
from metaeval.report.result_tables import lay_out
from metaeval.report.table_files import FORMATS, check_format, format_texts, table_text

HISTORIC = sorted((Path(__file__).parent / "historic").glob("*.json"))


def test_every_format_has_its_own_suffix():
    assert FORMATS == {"text": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv"}


def test_an_unknown_format_gets_the_nearest_name():
    with pytest.raises(UserError) as caught:
        check_format("markdwon")
    assert str(caught.value) == (
        "Unknown format 'markdwon'. Did you mean 'markdown'? Known: csv, latex, markdown, text."
    )


def test_a_result_file_is_made_into_every_format(result, tmp_path):
    save_result(result, tmp_path / "wice.v1.json")
    texts = format_texts(tmp_path / "wice.v1.json", FORMATS)
    assert texts == {end: table_text(lay_out(result), name) for name, end in FORMATS.items()}


def test_every_schema_is_among_the_historic_files():
    written = {json.loads(path.read_text(encoding="utf-8"))["schema"] for path in HISTORIC}
    assert written == set(SCHEMAS)


def test_an_old_file_gets_what_came_later_as_absent():
    result = load_result(Path(__file__).parent / "historic" / "schema-1.json")
    assert (result.ceilings, result.significance, result.published) == ({}, None, "")
    assert {value.ceiling for row in result.rows for value in row.values.values()} == {None}
    assert result.interval.method == "percentile"


def test_numbers_of_clusters_in_an_old_file_become_letters_and_ranks():
    # The file's tests: NDCG@5 .0504, ROC-AUC none, Pearson 1 / 1,001 with the second metric ahead.
    first, second, *controls = load_result(Path(__file__).parent / "historic" / "schema-2.json").rows
    assert (first.letters, second.letters) == ({"ndcg5": "a", "pearson": "b"}, {"ndcg5": "a", "pearson": "a"})
    assert first.ranks == {"ndcg5": (1, 2), "pearson": (2, 2)}
    assert second.ranks == {"ndcg5": (1, 2), "pearson": (1, 1)}
    assert not any(row.letters or row.ranks for row in controls)


@pytest.mark.parametrize("path", HISTORIC, ids=lambda path: path.name)
@pytest.mark.parametrize("name", FORMATS)
def test_old_results_load_and_render(path, name):
    result = load_result(path)
    text = table_text(lay_out(result), name)
    assert all(row.signature in text for row in result.rows if row.kind == "metric")
