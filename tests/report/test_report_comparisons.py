"""Pairs of metrics: raised letters, the significance note, and the table of pairs."""

import pytest

from metaeval.core.errors import UserError
from metaeval.report.result import Comparison
from metaeval.report.result_tables import comparison_grid, order_sign
from metaeval.report.table import format_p


@pytest.mark.parametrize(
    ("p", "expected"), [(1 / 1001, "0.0010"), (0.0504, "0.0504"), (1e-4, "0.0001"), (0.00002, "<0.0001"), (None, "–")]
)
def test_p_is_never_nothing(p, expected):
    assert format_p(p) == expected


def test_a_difference_that_missing_scores_could_reverse_has_no_sign():
    pair = Comparison(measure="auc", one="a", other="b", rows=9, difference=0.1, p=0.001)
    assert [order_sign(pair.model_copy(update={"holm": p}), 0.05) for p in (None, 0.05, 0.051)] == ["?", ">", "≈"]


def test_a_result_of_one_metric_has_no_pairs(result):
    with pytest.raises(UserError, match="'x_y%\\[wice\\]' compares no pairs of metrics"):
        comparison_grid(result)
