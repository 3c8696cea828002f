"""Pairs of metrics: raised letters, the significance note, and the table of pairs."""

import pytest

from metaeval.core.errors import UserError
from metaeval.report.result import Comparison
from metaeval.report.result_tables import comparison_grid, lay_out, order_sign
from metaeval.report.table import format_p


def _standing(result):
    return next(note for note in lay_out(result).footer if note.label == "significance")


def test_two_metrics_get_their_p_and_raised_letters_before_the_other_marks(full):
    note = _standing(full)
    assert "share a letter in a column are not significantly different (paired cluster t, " in note.text
    assert note.text.endswith("p Holm-adjusted, alpha 0.05)")
    assert note.items == (
        ("NDCG@5", "p 0.0504"),
        ("AUC full/none", "1 of 1 pairs not decided: no pair of both levels"),
        ("Pearson r", "p 0.0010"),
    )
    assert [cell.marks for cell in lay_out(full).lines[0].cells] == [("a",), (), ("b", "†")]


@pytest.mark.parametrize(
    ("p", "expected"), [(1 / 1001, "0.0010"), (0.0504, "0.0504"), (1.0, "1.0000"), (0.00002, "<0.0001"), (None, "–")]
)
def test_p_is_never_nothing(p, expected):
    assert format_p(p) == expected


def test_the_grid_has_a_row_for_each_pair_and_measure(full):
    grid = comparison_grid(full)
    assert [block.title for block in grid.blocks] == ["NDCG@5", "AUC full/none", "Pearson r"]
    assert [line.name for line in grid.lines] == [
        "minilm-bertscore ≈ judge[bold]_3|x%",
        "minilm-bertscore ? judge[bold]_3|x%",
        "minilm-bertscore < judge[bold]_3|x%",
    ]
    assert [(cell.number, cell.interval) for cell in grid.lines[0].cells] == [
        ("-0.027", "-0.060 to +0.010"),
        ("0.0504", ""),
        ("0.0504", ""),
    ]
    assert [cell.number for cell in grid.lines[1].cells] == ["–", "–", "–"]
    assert [(note.label, note.text) for note in grid.footnotes] == [("1", "no pair of both levels")]
    assert grid.signatures == tuple(row.signature for row in full.rows[:2])


def test_a_difference_that_missing_scores_could_reverse_has_no_sign():
    pair = Comparison(measure="auc", one="a", other="b", rows=9, difference=0.1, p=0.001)
    assert [order_sign(pair.model_copy(update={"holm": p}), 0.05) for p in (None, 0.05, 0.051)] == ["?", ">", "≈"]


def test_a_result_of_one_metric_has_no_pairs(result):
    with pytest.raises(UserError, match="'x_y%\\[wice\\]' compares no pairs of metrics"):
        comparison_grid(result)
