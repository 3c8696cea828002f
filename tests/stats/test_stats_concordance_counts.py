"""What each level outranks: against a look at every pair of repeated rows."""

import numpy as np
import pytest

from metaeval.stats.rank_counts import count_orders
from metaeval.stats.resampling import bootstrap

FIELDS = ("rows", "over", "upward", "squares", "cubes")


def sample(levels, distinct, n=250):
    rng = np.random.default_rng([levels, distinct])
    gold = rng.integers(0, levels, n) / 4 - 1
    return np.round(gold + rng.normal(size=n) * distinct) / distinct, gold, rng.integers(0, 30, n)


def counted(score, gold, levels):
    """Every pair of rows, a row with itself too: 2 for above, 1 for level with."""
    points = 1 + np.sign(score[:, None] - score[None, :])
    _, ties = np.unique(score, return_counts=True)
    own = [gold == level for level in levels]
    return {
        "rows": [int(rows.sum()) for rows in own],
        "over": [int(points[rows].sum()) for rows in own],
        "upward": [int(points[gold[:, None] > gold[None, :]].sum())],
        "squares": [int((ties**2).sum())],
        "cubes": [int((ties**3).sum())],
    }


@pytest.mark.parametrize("levels", [1, 2, 9, 40, 10**6])
@pytest.mark.parametrize("distinct", [1, 10**9], ids=["ties", "no ties"])
def test_counts_are_those_of_repeated_rows(levels, distinct):
    score, gold, group = sample(levels, distinct)
    (tile,) = bootstrap(30, 6, seed=1)
    orders = count_orders(score, gold, group, 30)(tile)
    for column, weights in enumerate(tile.T):
        rows = np.repeat(np.arange(score.size), weights[group])
        expected = counted(score[rows], gold[rows], np.unique(gold))
        found = {name: np.atleast_2d(getattr(orders, name).T)[column].tolist() for name in ("rows", "over")}
        found |= {name: [getattr(orders, name)[column]] for name in ("upward", "squares", "cubes")}
        assert found == expected


def test_by_hand():
    # Scores 3 1 2 2 of levels 0 0 1 2. Over (2 above, 1 tied, itself 1): 3 -> 2*3+1 = 7; 1 -> 1; 2 -> 2+1+1 = 4 each.
    # Upward: the level-1 row against 3 and 1: 0 + 2; the level-2 row against 3, 1 and the tied 2: 0 + 2 + 1. In all 5.
    columns = np.array([3.0, 1, 2, 2]), np.array([0.0, 0, 1, 2]), np.arange(4), 4
    orders = count_orders(*columns)(np.ones((4, 1), dtype=np.uint8))
    assert [getattr(orders, name).ravel().tolist() for name in FIELDS] == [[2, 1, 1], [8, 4, 4], [5], [6], [10.0]]
    # 5 pairs of unlike level, of which 2 are won, 1 tied and 2 lost: concordance 2.5 / 5, and nothing is left of tau.
    assert orders.concordance().tolist() == [0.5]
    assert orders.kendall().tolist() == [0.0]


def test_more_rows_than_an_int32_counts():
    # Every group drawn 10**7 times: 250 rows stand for 2.5 * 10**9, of which the lower level has more than 2**31.
    # Pairs of two groups count 10**14, those of one group 10**7.
    score, gold, group = sample(40, 1)
    two_levels = (gold > 8).astype(float)
    points = (1 + np.sign(score[:, None] - score)) * (two_levels[:, None] > two_levels)
    inside = int(points[group[:, None] == group].sum())
    tile = np.ones((30, 2), dtype=np.uint32)
    tile[:, 1] = 10_000_000
    orders = count_orders(score, two_levels, group, 30)(tile)
    assert orders.rows[:, 1].sum() == 2_500_000_000
    assert orders.rows[0, 1] > 2**31
    assert orders.upward.tolist() == [points.sum(), points.sum() * 10**14]
    assert orders.copies[0].tolist() == [0, inside * (10**14 - 10**7)]


def test_constant_columns_and_no_rows_are_undefined():
    group = np.arange(4)
    tile = np.ones((4, 1), dtype=np.uint8)
    varied, flat = np.array([0.0, 1, 2, 3]), np.full(4, 0.1)
    of_flat_score, of_flat_gold = count_orders(flat, varied, group, 4)(tile), count_orders(varied, flat, group, 4)(tile)
    assert of_flat_score.concordance().tolist() == [0.5]  # all pairs tied
    for undefined in (of_flat_score.spearman(), of_flat_score.kendall(), of_flat_gold.concordance()):
        assert np.isnan(undefined).all()
    nothing = count_orders(np.array([]), np.array([]), np.array([], dtype=np.int64), 4)(tile)
    assert nothing.rows.shape == (0, 1)
    assert np.isnan(nothing.concordance()).all()
    with pytest.raises(ValueError, match="gold must be finite, got nan at row 1"):
        count_orders(np.zeros(2), np.array([0.0, np.nan]), np.zeros(2, dtype=int), 1)
