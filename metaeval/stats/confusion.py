"""Measures of three-way decisions, from counts of (gold level, predicted level).

counts: (..., K, K), gold levels down, predicted levels across; values: (...). NaN where a gold level has no rows, since
a mean over the levels that happen to be there is another measure. With every gold level present they agree with
scikit-learn's functions with `labels=range(K), zero_division=0`. Counts add up over groups, so a resample is a
weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metaeval.stats.resample_sums import Floats, Ints, ratio
from metaeval.stats.resampling import Prepared, Tile
from metaeval.stats.rows import check_codes, check_lengths


def decision_counts(predicted: Ints, gold: Ints, group: Ints, n_groups: int, n_levels: int = 3) -> Floats:
    """Count rows by group, gold level and predicted level: (n_groups, K, K) from predicted, gold, group (n,).

    Raises ValueError if a level leaves 0 .. n_levels - 1, or a group its range, or columns differ in length.
    """
    check_lengths(predicted=predicted, gold=gold, group=group)
    check_codes("predicted level", predicted, n_levels)
    check_codes("gold level", gold, n_levels)
    check_codes("group", group, n_groups)
    cell = (group * n_levels + gold) * n_levels + predicted
    counts = np.bincount(cell, minlength=n_groups * n_levels * n_levels)
    return counts.reshape(n_groups, n_levels, n_levels).astype(np.float64)


def resampled(counts: Floats, measure: Callable[[Floats], Floats]) -> Prepared:
    """A measure of counts (G, K, K) under group weights, for `replicate`."""
    flat = counts.reshape(counts.shape[0], -1)

    def evaluate(tile: Tile) -> Floats:
        # Counts are whole numbers, so their sums are exact in whatever order a matrix product takes them.
        return measure((tile.T.astype(np.float64) @ flat).reshape(-1, *counts.shape[1:]))

    return Prepared(evaluate, int(np.count_nonzero(counts.sum(axis=(1, 2)))))


def level_recall(counts: Floats) -> Floats:
    """Share of each gold level's rows that are predicted to be it, (..., K); NaN for a level without rows."""
    return ratio(_diagonal(counts), counts.sum(axis=-1))


def level_f1(counts: Floats) -> Floats:
    """F1 of each level, (..., K): 2 hits / (rows + predictions); NaN for a level without rows."""
    rows = counts.sum(axis=-1)
    return ratio(2 * _diagonal(counts), np.where(rows > 0, rows + counts.sum(axis=-2), 0))


def accuracy(counts: Floats) -> Floats:
    """Share of rows predicted right; NaN where a gold level has no rows."""
    return _if_complete(counts, ratio(_diagonal(counts).sum(axis=-1), counts.sum(axis=(-2, -1))))


def balanced_accuracy(counts: Floats) -> Floats:
    """Unweighted mean of the levels' recalls; NaN where a gold level has no rows."""
    return np.asarray(level_recall(counts).mean(axis=-1))


def macro_f1(counts: Floats) -> Floats:
    """Unweighted mean of the levels' F1; NaN where a gold level has no rows."""
    return np.asarray(level_f1(counts).mean(axis=-1))


def quadratic_kappa(counts: Floats) -> Floats:
    """Cohen's kappa with squared level distances: 1 - observed / expected distance; NaN where a gold level has no rows.

    Cohen, "Weighted kappa" (1968).
    """
    levels = np.arange(counts.shape[-1])
    distance = (levels[:, None] - levels[None, :]) ** 2.0
    rows, predictions = counts.sum(axis=-1), counts.sum(axis=-2)
    chance = rows[..., :, None] * predictions[..., None, :]
    observed = (distance * counts).sum(axis=(-2, -1)) * rows.sum(axis=-1)
    expected = (distance * chance).sum(axis=(-2, -1))
    return _if_complete(counts, 1 - ratio(observed, expected))


def _diagonal(counts: Floats) -> Floats:
    return np.diagonal(counts, axis1=-2, axis2=-1)


def _if_complete(counts: Floats, value: Floats) -> Floats:
    return np.where((counts.sum(axis=-1) > 0).all(axis=-1), value, np.nan)
