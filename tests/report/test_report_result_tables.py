"""The grid: what is printed, marked and noted, before any format."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.report.result import Column, Interval
from metaeval.report.result_tables import comparison_grid, lay_out
from metaeval.report.table import format_value, plain, share
from metaeval.stats.estimate import Estimate


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


def test_marks_ranks_and_notes_are_those_of_the_record(result, same_rows, full, recorded):
    notes = ("all tied", "the score is constant", "all tied")
    change = {"not_above": {"auc": ["random"]}}
    flagged = [row.model_copy(update=change | {"scored": n or 4}) for n, row in enumerate(result.rows)]
    levels = {"1": 4, "0.5": 3, "odd": 5, "0": 2, "10": 1}
    counts = dict.fromkeys(("documents", "citations"), 0) | {"groups": 1, "levels": levels}
    shown = {
        "metrics above controls": result.model_copy(update={"rows": result.rows[::-1]}),
        "ties in print share a rank": same_rows,
        "by value, not by text": _with_values(same_rows, "ndcg5", [Estimate(-0.5), Estimate(-0.25)]),
        "alone it is not the best": _with_values(same_rows, "ndcg5", [Estimate(None, note="no pool")]),
        "no control is flagged": result.model_copy(update={"rows": flagged}),
        "a reason has one number": _with_values(result, "ndcg5", [Estimate(None, note=note) for note in notes]),
        "not computed": result.model_copy(update={"columns": [Column(key="mrr", label="MRR")]}),
        "no intervals": result.model_copy(update={"interval": Interval(resamples=0, seed=0, level=0.95)}),
        "ratings": result.model_copy(update={"unit": "rating", "data": result.data.model_copy(update=counts)}),
        "ceilings": full,
    }
    found = {name: recorded.sheet(lay_out(one)) for name, one in shown.items()}
    pairs = recorded.sheet(comparison_grid(full))
    recorded.held("report-grids", {name: one[:-1][:5] for name, one in found.items()} | {"pairs": pairs[:5]})


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
