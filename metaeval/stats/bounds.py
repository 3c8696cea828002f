"""The best and the worst that a measure could be: given the ties of gold and score, or whatever missing scores are.

With three levels and thousands of rows no score without ties can reach a rank correlation of 1. A coefficient says
more beside its ceiling. A measure with missing scores says more beside its lowest and highest possible values.
"""

from __future__ import annotations

import numpy as np

from metaeval.stats.arrays import Bools, Floats, Ints, check_finite, check_lengths, scaled
from metaeval.stats.ties import run_starts, tie_blocks


def attainable(score: Floats, gold: Floats) -> dict[str, float]:
    """Return the highest coefficients that any reordering of the scores (n,) could reach with gold (n,).

    Keys: "pearson", "spearman", "kendall" (tau-b). They are reached by sorting both. All three are a sum of products of
    terms that rise with score and gold (for Spearman the midranks, for Kendall the signs of the differences over pairs)
    above a denominator that no rearrangement changes; giving the higher of two scores to the higher of two gold levels
    never lowers such a sum, and exchanges of that kind lead from any arrangement to the sorted one. NaN where the score
    or the gold is constant. Raises ValueError for NaN, infinity or columns of different lengths.
    """
    check_lengths(score=score, gold=gold)
    check_finite("score", score)
    check_finite("gold", gold)
    if score.size < 2 or score.min() == score.max() or gold.min() == gold.max():
        return {"pearson": np.nan, "spearman": np.nan, "kendall": np.nan}
    x, y = np.sort(score), np.sort(gold)
    pairs = _pairs(np.array([x.size]))
    score_ties, gold_ties = _pairs(_runs(run_starts(x))), _pairs(_runs(run_starts(y)))
    both = _pairs(_runs(run_starts(x) | run_starts(y)))
    # Nothing is discordant in sorted columns: a pair tied in neither is concordant.
    concordant = pairs - score_ties - gold_ties + both
    return {
        "pearson": _pearson(x, y, np.ones(x.size)),
        "spearman": _pearson(_sorted_midranks(x), _sorted_midranks(y), np.ones(x.size)),
        "kendall": float(concordant / np.sqrt(pairs - score_ties) / np.sqrt(pairs - gold_ties)),
    }


def perfect(gold: Floats) -> dict[str, dict[str, float]]:
    """Return the coefficients of three perfect metrics on this gold (n,).

    The result holds "pearson", "spearman" and "kendall" (tau-b) of each. "continuous": every score distinct, in the
    order of the gold, evenly spaced (which only Pearson sees); "levels": the gold's own levels, with three of them a
    perfect three-way judge; "binary": the top level v. the rest. All are NaN with fewer than two levels. Raises
    ValueError for NaN or infinity.
    """
    check_finite("gold", gold)
    level, count = np.unique(gold, return_counts=True)
    if level.size < 2:
        undefined = {"pearson": np.nan, "spearman": np.nan, "kendall": np.nan}
        return {"continuous": undefined, "levels": undefined, "binary": undefined}
    weight = count.astype(np.float64)
    n = weight.sum()
    midrank = np.cumsum(weight) - weight / 2  # less one half
    # The midrank of a level is the mean rank of its rows, so a covariance with ranks is one with midranks; only the
    # spread of 1 .. n, (n**2 - 1) / 12, is larger.
    variance = np.average((midrank - np.average(midrank, weights=weight)) ** 2, weights=weight)
    shrink = float(np.sqrt(variance)) / np.sqrt((n * n - 1) / 12)
    untied = _pairs(n) - _pairs(weight)
    top = (level == level[-1]).astype(np.float64)
    return {
        "continuous": {
            "pearson": float(_pearson(midrank, level, weight) * shrink),
            "spearman": float(shrink),
            "kendall": float(np.sqrt(untied / _pairs(n))),
        },
        "levels": {"pearson": 1.0, "spearman": 1.0, "kendall": 1.0},
        "binary": {
            "pearson": _pearson(top, level, weight),
            "spearman": _pearson(top, midrank, weight),
            "kendall": float(np.sqrt(weight[-1] * (n - weight[-1]) / untied)),
        },
    }


def _pairs(sizes: Floats | Ints) -> float:
    """Return the number of pairs of rows within blocks of these sizes."""
    sizes = np.asarray(sizes, dtype=np.float64)
    return float(np.sum(sizes * (sizes - 1) / 2))


def _sorted_midranks(values: Floats) -> Floats:
    sizes = _runs(run_starts(values))
    return np.repeat(np.cumsum(sizes) - (sizes - 1) / 2, sizes)


def _runs(starts: Bools) -> Ints:
    return np.diff(np.append(np.flatnonzero(starts), starts.size))


def _pearson(x: Floats, y: Floats, weight: Floats) -> float:
    """Return the weighted Pearson correlation of two columns (n,), neither of which is constant."""
    x, y = scaled(x), scaled(y)
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    r = np.sum(weight * x * y) / np.sqrt(np.sum(weight * x * x)) / np.sqrt(np.sum(weight * y * y))
    return float(np.clip(r, -1, 1))


def extreme_ranks(score: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Return scores (n,) as ranks, (worst, best), (n,) each, with missing ones (NaN) at ranks beyond all others.

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


def extreme_scores(score: Floats, gold: Floats) -> list[Floats]:
    """Return scores with missing ones (NaN) replaced by observed ones in four ways, (n,) each.

    Rows with gold above the mean gold get the lowest, the others the highest, or the other way round; or each row gets
    the quantile at its gold's place among all gold, from the top or from the bottom, since rows of a middle level are
    best in the middle. The lowest and the highest correlation of these are bounds by assignment of observed scores, not
    a proof: a correlation can go further with scores not yet seen, and slightly further with another assignment. All
    NaN without an observed score.
    """
    missing = np.isnan(score)
    lowest, highest = np.nanmin(score), np.nanmax(score)
    supported = gold > gold.mean()
    ascending = np.sort(gold)
    place = (np.searchsorted(ascending, gold) + np.searchsorted(ascending, gold, "right")) / 2 / gold.size
    refills = (
        *(np.where(supported, *ends) for ends in ((lowest, highest), (highest, lowest))),
        *(np.nanquantile(score, at) for at in (1 - place, place)),
    )
    return [np.where(missing, refill, score) for refill in refills]
