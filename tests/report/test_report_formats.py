"""Formats by name."""

import pytest

from metaeval.errors import UserError
from metaeval.report.result import save_result
from metaeval.report.result_tables import lay_out
from metaeval.report.table_files import FORMATS, check_format, format_texts, table_text


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
