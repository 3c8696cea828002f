"""GitHub Markdown: expected text, and the same text again through a Markdown parser."""

import html
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from metaeval.report.result import load_result, save_result
from metaeval.report.result_tables import lay_out
from metaeval.report.table import plain
from metaeval.report.table_files import table_text

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _table_rows(text):
    """The cells of the rendered page's table as a reader sees them."""
    rows = re.findall(r"<tr>(.*?)</tr>", _PARSER.render(text), flags=re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, flags=re.DOTALL) for row in rows]
    return [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in cells]


def test_a_signature_with_backticks_cannot_close_its_block(result):
    signatures = ["````", "a\n# b"]
    rows = [row.model_copy(update={"signature": s}) for row, s in zip(result.rows[:2], signatures, strict=True)]
    page = _PARSER.render(table_text(lay_out(result.model_copy(update={"rows": rows})), "markdown"))
    assert page.endswith('<pre><code class="language-text">````\na # b\n</code></pre>\n')


@pytest.mark.parametrize("name", ["1. x", "2) x", "- x", "+ x", "= x", "# x"])
def test_a_name_that_begins_a_list_item_starts_no_list_of_its_own(result, name):
    rows = [result.rows[0].model_copy(update={"metric": name, "warnings": ["Look."]}), *result.rows[1:]]
    page = _PARSER.render(table_text(lay_out(result.model_copy(update={"rows": rows})), "markdown"))
    assert f"{name}: Look." in page
    assert page.count("<li>") == page.count("</li>")


@given(st.text(max_size=20))
@example("a|b")
@example("\\|")
@example("**x**")
@example("<script>x</script>")
@example("&amp; `c` ~~d~~ [l](u) ![i](u)")
@example("- 1. # > =")
def test_a_reader_sees_the_name_that_the_result_has(result, name):
    rows = [result.rows[0].model_copy(update={"metric": name}), *result.rows[1:]]
    table = _table_rows(table_text(lay_out(result.model_copy(update={"rows": rows})), "markdown"))
    assert len(table) == 7
    assert {len(row) for row in table} == {4}
    assert table[1][0] == plain(name)


@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=2, max_size=2))
def test_every_printed_number_reads_back_to_the_saved_value(tmp_path_factory, result, numbers):
    path = tmp_path_factory.mktemp("numbers") / "result.json"
    rows = []
    for row, (value, low, high) in zip(result.rows[:2], numbers, strict=True):
        new = replace(row.values["ndcg5"], value=value, low=low, high=high)
        rows.append(row.model_copy(update={"values": dict.fromkeys(row.values, new)}))
    save_result(result.model_copy(update={"rows": rows}), path)
    saved = load_result(path)
    printed = _table_rows(table_text(lay_out(saved), "markdown"))[1:]
    for row, cells in zip(saved.rows, printed, strict=True):
        for column, cell in zip(saved.columns, cells[1:], strict=True):
            value = row.values[column.key]
            read = re.fullmatch(r"([-\d.]+)[†‡§]* \(([-\d.]+)(?:–| to )([-\d.]+)\)", cell)
            assert read, cell
            for text, raw in zip(read.groups(), (value.value, value.low, value.high), strict=True):
                assert abs(float(text) - raw * column.scale) <= 0.5 * 10**-column.digits + 1e-12
