"""The terminal table at the widths that people have."""

import io
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from metaeval.report import terminal
from metaeval.report.result_tables import comparison_grid, lay_out
from metaeval.report.table import Table
from metaeval.report.terminal import GAP, broken, packed


def _styled(result):
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard", _environ={})
    with console.capture() as capture:
        terminal.show_grid(lay_out(result), console)
    return capture.get()


def test_at_no_width_does_a_cell_break_in_two(result, full, recorded):
    tables, shapes = {"result": lay_out(result), "full": lay_out(full), "pairs": comparison_grid(full)}, {}
    tables["no line"] = Table(title="T", headings=("value", "other"))
    for name, width in product(tables, (40, 45, 46, 62, 63, 70, 71, 86, 87, 88, 89)):  # where another layout begins
        blocks = terminal.text_of(tables[name], width).split("\n ─")
        shapes[f"{name}-{width}"] = [[len(block.partition("\n")[0]), block.count("\n")] for block in blocks[1:-1]]
    recorded.held("report-widths", shapes)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_signature_is_one_unbroken_line_and_no_other_is_wider_than_the_terminal(result, width):
    *lines, one, other = terminal.text_of(lay_out(result), width).splitlines()
    assert [one, other] == [row.signature for row in result.rows if row.kind == "metric"]
    assert max(cell_len(line) for line in lines if "proto:" not in line) <= width


def test_best_is_bold_and_second_underlined_and_the_legend_says_so(same_rows):
    text = _styled(same_rows)
    assert "\x1b[1m0.740\x1b[0m" in text
    assert "\x1b[4m0.713\x1b[0m" in text
    assert "Bold: highest value of a metric in the column; underlined: second highest." in text


@pytest.mark.parametrize("name", ["[red]x[/red]", ":smile:", "[/]", "a\\[b]", "x[link=http://a.b]c"])
def test_names_are_never_read_as_markup_or_emoji(result, name):
    rows = [result.rows[0].model_copy(update={"metric": name, "signature": f"metric={name}"}), *result.rows[1:]]
    text = _styled(result.model_copy(update={"rows": rows, "title": name}))
    lines = text.splitlines()
    assert name in lines[0]
    assert any(line.startswith(f" {name} ") for line in lines)
    assert f"metric={name}" in lines


@given(st.text(st.sampled_from("ab-_/. 中"), max_size=30), st.integers(2, 12))
def test_breaking_a_name_loses_nothing_and_keeps_the_width(name, width):
    lines = broken(name, width)
    assert "".join(lines) == name
    assert all(cell_len(line.rstrip()) <= width for line in lines)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5), st.integers(3, 40))
def test_packing_keeps_every_column_in_order_and_whole_groups_together(groups, room):
    widths = [width for group in groups for width in group]
    parts = packed(widths, [len(group) for group in groups], room)
    assert [position for part in parts for position in part] == list(range(len(widths)))
    assert all(parts)
    start = 0
    for group in groups:
        if sum(GAP + width for width in group) <= room:
            assert sum(start in part for part in parts) == 1
            assert any(set(range(start, start + len(group))) <= set(part) for part in parts)
        start += len(group)
