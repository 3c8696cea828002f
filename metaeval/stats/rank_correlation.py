"""Spearman's rho, Kendall's tau-b and concordance under group weights, exactly as if rows were repeated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metaeval.stats.concordance_counts import Orders, count_orders
from metaeval.stats.level_wins import MAX_LEVELS, count_wins
from metaeval.stats.resample_sums import Floats, Ints
from metaeval.stats.resampling import Prepared, Tile


def rank_correlations(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Spearman's rho and Kendall's tau-b of score and gold, (n,) each; evaluates to (2, R).

    Undefined where the score or the gold is constant. Agrees with scipy's `spearmanr` and `kendalltau` on repeated
    rows. Base paper, section 3.2.1. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    orders = _orders(score, gold, group, n_groups)

    def evaluate(tile: Tile) -> Floats:
        counted = orders(tile)
        return np.stack((counted.spearman(), counted.kendall()))

    return Prepared(evaluate, np.unique(group).size)


def concordance(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Of the pairs of rows with unlike gold, the share in which the higher gold has the higher score, ties one half.

    score, gold, group: (n,). With two gold values it is ROC-AUC, for survival times without censoring Harrell's C.
    Undefined where the gold is constant. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    orders = _orders(score, gold, group, n_groups)
    return Prepared(lambda tile: orders(tile).concordance(), np.unique(group).size)


def _orders(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Orders]:
    if np.unique(gold).size > MAX_LEVELS:
        return count_orders(score, gold, group, n_groups)
    wins = count_wins(score, gold, group, n_groups)
    return lambda tile: wins(tile).orders()
