"""The grid: what is printed, marked and noted, before any format."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.report.result import Column, Interval
from metaeval.report.result_tables import lay_out
from metaeval.report.table import Cell, format_value, plain, share
from metaeval.stats.estimate import Estimate


def _cells(grid):
    return {line.name: line.cells for line in grid.lines}


def _note(notes, label):
    return next(note for note in notes if note.label == label)


def _with_values(result, key, values):
    """The result with one column's values replaced, row by row from the top."""
    new = [
        row.model_copy(update={"values": {**row.values, key: value}})
        for row, value in zip(result.rows, values, strict=False)
    ]
    return result.model_copy(update={"rows": new + result.rows[len(new) :]})


@given(value=st.floats(-1, 1), scale=st.sampled_from([1.0, 100.0]), digits=st.integers(0, 6))
def test_a_printed_number_is_within_half_a_unit_of_its_last_digit(value, scale, digits):
    text = format_value(value, Column(key="k", label="K", scale=scale, digits=digits))
    assert abs(Decimal(text) - Decimal(value * scale)) <= Decimal("0.5") * Decimal(10) ** -digits
    assert len(text.partition(".")[2]) == digits
    assert not (text.startswith("-") and float(text) == 0)


@pytest.mark.parametrize("value", [None, float("nan"), float("-nan")])
def test_an_undefined_number_is_a_dash(value):
    assert format_value(value, Column(key="k", label="K", scale=100.0, digits=1)) == "–"


def test_metrics_stand_above_controls_whatever_the_order_in_the_result(result):
    grid = lay_out(result.model_copy(update={"rows": result.rows[::-1]}))
    assert [line.name for line in grid.blocks[0].lines] == ["judge[bold]_3|x%", "minilm-bertscore"]
    assert [line.name for line in grid.blocks[1].lines] == ["oracle", "random", "constant"]


def test_best_and_second_are_metrics_only_and_ties_in_print_share_the_mark(same_rows):
    cells = _cells(lay_out(same_rows))
    # NDCG@5 0.7125 v. 0.7398; AUC 0.91554 and 0.9155449 both print 91.55; the oracle's 1.000 is no metric's.
    assert [cell.rank for cell in cells["minilm-bertscore"]] == ["second", "best", "second"]
    assert [cell.rank for cell in cells["judge[bold]_3|x%"]] == ["best", "best", "best"]
    assert {cell.rank for name in ("constant", "random", "oracle") for cell in cells[name]} == {""}


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ([Estimate(-0.5), Estimate(-0.25)], ["second", "best"]),  # by value, not by text
        ([Estimate(None, note="no pool")], ["", ""]),  # a metric alone in its column is not called best
    ],
)
def test_ranks_of_negative_and_undefined_values(same_rows, values, ranks):
    grid = lay_out(_with_values(same_rows, "ndcg5", values))
    assert [line.cells[0].rank for line in grid.blocks[0].lines] == ranks


def test_marks_follow_from_the_row(result):
    cells = _cells(lay_out(result))
    assert cells["judge[bold]_3|x%"][0].marks == ("†", "‡", "§")
    # It scored fewer rows than the other: marked at each number, also where that does not move it.
    assert [cell.marks[-1:] for cell in cells["judge[bold]_3|x%"]] == [("§",)] * 3
    assert cells["constant"][0].marks == ("‡",)
    assert cells["constant"][2] == Cell("–", marks=("1",))
    # Its tie span (0.04211, 0.04209) is 0.042 in print, and so says nothing.
    assert cells["minilm-bertscore"][2].marks == ("†",)


def test_a_control_is_not_flagged_against_controls(result):
    rows = [row.model_copy(update={"not_above": {"auc": ["random"]}}) for row in result.rows]
    grid = lay_out(result.model_copy(update={"rows": rows}))
    assert {"†" in line.cells[1].marks for line in grid.blocks[0].lines} == {True}
    assert {"†" in line.cells[1].marks for line in grid.blocks[1].lines} == {False}
    assert [note.label for note in grid.footnotes] == ["†", "‡", "§", "1"]


def test_each_value_of_a_metric_without_some_scores_is_marked(same_rows):
    grid = lay_out(same_rows)
    assert ["§" in cell.marks for cell in _cells(grid)["judge[bold]_3|x%"]] == [True, True, True]
    note = _note(grid.footnotes, "§")
    spans = "NDCG@5 [0.730..0.740], AUC full/none [91.00..92.00]"
    assert f"judge[bold]_3|x% 40 of 3,837 (31 unparsed, 9 timeout), {spans}" in note.text
    ties = _note(grid.footnotes, "‡").items
    assert ties == (("judge[bold]_3|x%", "NDCG@5 [0.587..0.922]"), ("constant", "NDCG@5 [0.000..1.000]"))


def test_the_same_reason_shares_a_number_and_a_new_one_gets_the_next(result):
    undefined = [Estimate(None, note=note) for note in ("all tied", "the score is constant", "all tied")]
    grid = lay_out(_with_values(result, "ndcg5", undefined))
    numbers = {note.text: note.label for note in grid.footnotes if note.label.isascii()}
    assert numbers == {"all tied": "1", "the score is constant": "2"}
    assert [line.cells[0].marks[-1] for line in grid.lines[:3]] == ["1", "2", "1"]


def test_a_value_that_the_result_does_not_hold_is_called_not_computed(result):
    grid = lay_out(result.model_copy(update={"columns": [Column(key="mrr", label="MRR")]}))
    assert {line.cells[0].number for line in grid.lines} == {"–"}
    assert [note.text for note in grid.footnotes if note.label == "1"] == ["not computed"]


def test_without_resampling_there_are_no_intervals(result):
    footer = lay_out(result.model_copy(update={"interval": Interval(resamples=0, seed=0, level=0.95)})).footer
    assert _note(footer, "uncertainty").text.startswith("no intervals")


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (0, 0, "0.0 %"),
        (1, 100_000, "under 0.1 %"),
        (12, 1000, "1.2 %"),
        (99_999, 100_000, "over 99.9 %"),
        (7, 7, "100.0 %"),
    ],
)
def test_a_share_never_rounds_to_nothing_or_all(part, whole, expected):
    assert share(part, whole) == expected


def test_control_characters_never_reach_a_table():
    assert plain("a\x1b[31mb\r\nc\u2028d\u202ee  f ") == "a [31mb c d e f"
