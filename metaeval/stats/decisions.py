"""From scores to decided levels and to probabilities, fitted on other groups than those they are evaluated on.

Decided levels need cut points; probabilities need calibration, and are compared with observed rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from metaeval.stats.arrays import Bools, Floats, Ints, check_codes, check_finite, check_lengths, ratio
from metaeval.stats.classification import level_f1, level_recall
from metaeval.stats.ties import tie_blocks

Objective = Literal["macro-f1", "balanced-accuracy"]

CUT_POINTS = 200
"""Largest number of finite cut points that are tried; more are thinned to quantiles of the rows."""


def best_thresholds(
    score: Floats, gold: Ints, objective: Objective = "macro-f1", n_levels: Literal[2, 3] = 3
) -> Floats:
    """Return the n_levels - 1 ascending thresholds with the highest objective: (t_low, t_high) for three levels.

    score, gold: (n,). A score below t_low means level 0, from t_high on the top level, else the
    middle one. All pairs of cut points half-way between distinct scores are tried (thinned to `CUT_POINTS`), and a cut
    below all scores (-inf) or above (inf), with which a level is never predicted. The objective is a mean over the
    levels that have rows. Of equally good thresholds those with the widest gap between scores are taken, measured at
    the narrower of the two, then the lower ones. Raises ValueError without rows, on NaN, infinity or
    levels out of range.
    """
    check_lengths(score=score, gold=gold)
    check_finite("score", score)
    check_codes("gold level", gold, n_levels)
    if not score.size:
        raise ValueError("thresholds need at least one row, got none")
    cuts, gap, below, total = _cut_points(score, gold, n_levels)
    low, high = np.arange(cuts.size), np.arange(cuts.size)
    if n_levels == 3:
        low, high = np.triu_indices(cuts.size)
    edges = np.stack([below[low], below[high]] if n_levels == 3 else [below[low]], axis=1)
    edges = np.concatenate((np.zeros_like(edges[:, :1]), edges, np.broadcast_to(total, edges[:, :1].shape)), axis=1)
    counts = np.swapaxes(np.diff(edges, axis=1), 1, 2)  # (candidates, gold level, predicted level)
    present = total > 0
    value = (level_f1 if objective == "macro-f1" else level_recall)(counts)[:, present].mean(axis=1)
    # Equal objectives can differ in the last bit.
    tied = np.flatnonzero(value >= value.max() - 1e-12)
    widest = tied[np.argmax(np.minimum(gap[low], gap[high])[tied])]
    return cuts[[low[widest], high[widest]] if n_levels == 3 else [low[widest]]]


def decide(score: Floats, thresholds: Floats) -> Ints:
    """Return the level of each score, (n,): how many of the ascending thresholds (K - 1,) it equals or exceeds."""
    return np.searchsorted(thresholds, score, side="right").astype(np.int64)


def group_folds(group: Ints, n_folds: int, seed: int) -> Ints:
    """Return the fold of each row, (n,) from 0 to n_folds - 1; no group (n,) is split, and folds are of similar size.

    Groups are shuffled, then go to the smallest fold, from the largest group down. Raises ValueError unless 2 <=
    n_folds <= number of groups, or on a negative seed.
    """
    codes, index, size = np.unique(group, return_inverse=True, return_counts=True)
    if not 2 <= n_folds <= codes.size:
        raise ValueError(f"the number of folds must lie in 2 .. {codes.size} (the groups), got {n_folds}")
    if seed < 0:
        raise ValueError(f"the seed must not be negative, got {seed}")
    order = np.random.default_rng(seed).permutation(codes.size)
    order = order[np.argsort(-size[order], kind="stable")]
    rows = np.zeros(n_folds, dtype=np.int64)
    fold = np.empty(codes.size, dtype=np.int64)
    for member in order:
        fold[member] = rows.argmin()
        rows[fold[member]] += size[member]
    return fold[index]


def level_count(levels: Floats | Ints) -> Literal[2, 3]:
    """Return 2 for an array of two levels, else 3, as `best_thresholds` takes it."""
    return 2 if levels.size == 2 else 3


def nested_decisions(
    score: Floats,
    gold: Ints,
    group: Ints,
    folds: int,
    seed: int,
    objective: Objective = "macro-f1",
    n_levels: Literal[2, 3] = 3,
) -> tuple[Ints, Floats]:
    """Return out-of-fold predicted levels, (n,), and the thresholds used in each fold, (folds, n_levels - 1).

    score, gold, group: (n,). The thresholds of a fold are the best ones on the rows of all other folds (see
    `best_thresholds`). seed: of the folds. Raises ValueError as `best_thresholds` and `group_folds` do.
    """
    check_lengths(score=score, gold=gold, group=group)
    fold = group_folds(group, folds, seed)
    predicted = np.empty(score.size, dtype=np.int64)
    thresholds = np.empty((folds, n_levels - 1))
    for held_out in range(folds):
        test = fold == held_out
        thresholds[held_out] = best_thresholds(score[~test], gold[~test], objective, n_levels)
        predicted[test] = decide(score[test], thresholds[held_out])
    return predicted, thresholds


def _cut_points(score: Floats, gold: Ints, n_levels: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return cut points and the gap of scores around each, (m,), each level's rows below each, (m, K), and in all."""
    block, n_blocks = tie_blocks(score)
    by_level = np.bincount(block * n_levels + gold, minlength=n_blocks * n_levels)
    below = np.zeros((n_blocks + 1, n_levels))
    np.cumsum(by_level.reshape(n_blocks, n_levels), axis=0, out=below[1:])
    distinct = np.unique(score)
    lower, upper = distinct[:-1], distinct[1:]
    middle = lower / 2 + upper / 2
    with np.errstate(over="ignore"):
        between = upper - lower
    # Between neighbouring floats there is no middle: a score from the threshold on counts as above.
    cuts = np.concatenate(([-np.inf], np.where(middle > lower, middle, upper), [np.inf]))
    gap = np.concatenate(([0.0], between, [0.0]))
    if cuts.size - 2 > CUT_POINTS:
        rows = np.bincount(block, minlength=n_blocks).cumsum()[:-1]
        wanted = np.arange(1, CUT_POINTS + 1) / (CUT_POINTS + 1) * score.size
        kept = np.unique(
            np.concatenate(([0], 1 + np.minimum(np.searchsorted(rows, wanted), rows.size - 1), [n_blocks]))
        )
        return cuts[kept], gap[kept], below[kept], below[-1]
    return cuts, gap, below, below[-1]


def calibrated(score: Floats, positive: Bools, group: Ints, folds: int, seed: int) -> Floats:
    """Return the out-of-fold probability that each row is positive, (n,), by `fit_isotonic` on the other folds' groups.

    score, positive, group: (n,). Raises ValueError on NaN, infinity, unlike lengths, or as `group_folds` does.
    """
    check_lengths(score=score, positive=positive.astype(np.int64), group=group)
    check_finite("score", score)
    fold = group_folds(group, folds, seed)
    probability = np.empty(score.size)
    for held_out in range(folds):
        test = fold == held_out
        probability[test] = fit_isotonic(score[~test], positive[~test], score[test])
    return probability


def fit_isotonic(score: Floats, positive: Bools, new: Floats) -> Floats:
    """Return P(positive) at the scores `new` (m,) by isotonic regression on score, positive (n,); (m,).

    Pool-adjacent-violators on the distinct scores, linear in between, flat beyond the ends, as scikit-learn's
    `IsotonicRegression(out_of_bounds="clip")`. A constant score gives the rate of positives everywhere.
    """
    from scipy.optimize import isotonic_regression  # a third of a second that only calibrations need

    block, n_blocks = tie_blocks(score)
    rows = np.bincount(block, minlength=n_blocks).astype(np.float64)
    rate = np.bincount(block, weights=positive, minlength=n_blocks) / rows
    return np.interp(new, np.unique(score), isotonic_regression(rate, weights=rows).x)


def reliability(probability: Floats, positive: Bools | Floats, bins: int = 10) -> tuple[Floats, Floats, Ints]:
    """Return mean probability, rate of positives and number of rows of `bins` equal bins of 0 .. 1, (bins,) each.

    probability, positive: (n,); outcomes between 0 and 1 have a mean in place of a rate. A bin includes its upper end,
    the first one also 0, as in scikit-learn's `calibration_curve`, which gives rates first and no empty bins (here
    NaN). Raises ValueError if bins < 1, a probability is outside 0 .. 1, or lengths differ.
    """
    _check_probability(probability, positive)
    if bins < 1:
        raise ValueError(f"the number of bins must be at least 1, got {bins}")
    number = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], probability)
    rows = np.bincount(number, minlength=bins)
    stated, observed = (
        np.asarray(np.bincount(number, weights=values, minlength=bins), dtype=np.float64)
        for values in (probability, positive)
    )
    held = rows.astype(np.float64)
    return ratio(stated, held), ratio(observed, held), rows


def brier(probability: Floats, positive: Bools) -> float:
    """Return the Brier score, the mean squared difference of probability (n,) and outcome (n,); NaN without rows.

    Brier, "Verification of forecasts expressed in terms of probability" (1950), in its half form of 0 .. 1. Raises
    ValueError as `reliability` does.
    """
    _check_probability(probability, positive)
    return float(np.mean((probability - positive) ** 2)) if probability.size else float("nan")


def expected_calibration_error(probability: Floats, positive: Bools, bins: int = 10) -> float:
    """Return the expected calibration error: the mean over rows of |rate - mean probability| of the row's bin.

    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning" (2015). NaN without
    rows.
    """
    stated, observed, rows = reliability(probability, positive, bins)
    held = rows > 0
    if not held.any():
        return float("nan")
    return float(np.average(np.abs(observed[held] - stated[held]), weights=rows[held]))


@dataclass(frozen=True)
class Calibration:
    """The quality of out-of-fold probabilities.

    brier: Brier score; brier_of_rate: that of the rate of positives as a constant probability. error: expected
    calibration error. stated, found, rows: mean probability, rate of positives and rows of each bin.
    """

    brier: float
    brier_of_rate: float
    error: float
    stated: Floats
    found: Floats
    rows: Ints


def calibration(score: Floats, positive: Bools, group: Ints, folds: int, seed: int) -> Calibration:
    """Return the quality of isotonic probabilities, each fitted on the groups of the other folds as by `calibrated`."""
    probability = calibrated(score, positive, group, folds, seed)
    return Calibration(
        brier(probability, positive),
        brier(np.full(positive.size, positive.mean()), positive),
        expected_calibration_error(probability, positive),
        *reliability(probability, positive),
    )


def _check_probability(probability: Floats, positive: Bools | Floats) -> None:
    check_lengths(probability=probability, positive=positive.astype(np.int64))
    outside = probability[~((probability >= 0) & (probability <= 1))]
    if outside.size:
        raise ValueError(f"a probability must lie in 0 .. 1, got {outside[0]}")
