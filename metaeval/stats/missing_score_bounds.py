"""Scores put in the place of missing ones so that a measure comes out as low, or as high, as it can."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Bools, Floats
from metaeval.stats.ties import tie_blocks


def extreme_ranks(score: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Replace scores by ranks, and missing ones (NaN) by ranks beyond all others; returns (worst, best), (n,) each.

    Worst: missing positives below every observed score, missing negatives above; best the other way round. No two
    missing rows are tied. For measures of two classes that read ranks only (ROC-AUC, average precision, reciprocal
    rank, recall) no other refill is lower or higher: swapping a negative with a positive below it never helps.
    """
    missing = np.isnan(score)
    ranks = np.zeros(score.size)
    block, n_blocks = tie_blocks(score[~missing])
    ranks[~missing] = block
    beyond = np.arange(1, int(missing.sum()) + 1)
    low, high = -beyond, n_blocks + beyond
    worst, best = ranks.copy(), ranks
    worst[missing] = np.where(positive[missing], low, high)
    best[missing] = np.where(positive[missing], high, low)
    return worst, best


def extreme_scores(score: Floats, gold: Floats) -> tuple[Floats, Floats]:
    """Replace missing scores (NaN) by the lowest or highest observed one; returns (worst, best), (n,) each.

    Worst: rows with gold above the mean gold get the lowest, the others the highest; best the other way round. This is
    a bound by assignment of observed extremes, not a proof: a correlation can go further with scores not yet seen,
    and with three levels another assignment can go slightly further. Needs one observed score.
    """
    missing = np.isnan(score)
    lowest, highest = np.nanmin(score), np.nanmax(score)
    supported = gold > gold.mean()
    worst = np.where(missing, np.where(supported, lowest, highest), score)
    best = np.where(missing, np.where(supported, highest, lowest), score)
    return worst, best
