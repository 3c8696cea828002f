"""From scores to decided levels: cut points that are chosen on other groups than those they are judged on."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metaeval.stats.arrays import Floats, Ints, check_codes, check_finite, check_lengths
from metaeval.stats.classification import level_f1, level_recall
from metaeval.stats.ties import tie_blocks

Objective = Literal["macro-f1", "balanced-accuracy"]

CUT_POINTS = 200
"""Cut points that are tried at most; more distinct scores are thinned to quantiles of the rows."""


def best_thresholds(
    score: Floats,
    gold: Ints,
    weight: Floats | None = None,
    objective: Objective = "macro-f1",
    n_levels: Literal[2, 3] = 3,
) -> Floats:
    """The n_levels - 1 ascending thresholds, (t_low, t_high) for three levels, with the highest objective; (K - 1,).

    score, gold, weight (1 if None): (n,). A score below t_low means level 0, from t_high on the top level, else the
    middle one. All pairs of cut points half-way between distinct scores are tried (thinned to 200), and a cut below
    all scores (-inf) or above (inf), with which a level is never predicted. The objective is a mean over the levels
    that have rows. Of equally good ones the cuts with the widest gap win, measured at the narrower of the two, then
    the lower ones. Raises ValueError without rows, on NaN, infinity, negative weights or levels out of range.
    """
    weight = np.ones(score.size) if weight is None else weight
    _check(score, gold, weight, n_levels)
    cuts, gap, below, total = _cut_points(score, gold, weight, n_levels)
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
    """Level of each score (n,): the number of ascending thresholds (K - 1,) that it reaches; (n,)."""
    return np.searchsorted(thresholds, score, side="right").astype(np.int64)


def group_folds(group: Ints, n_folds: int, seed: int) -> Ints:
    """Fold 0 .. n_folds - 1 of each row, (n,), such that no group (n,) is split and folds have much the same size.

    Groups are shuffled, then go to the smallest fold, from the largest group down. Raises ValueError unless
    2 <= n_folds <= number of groups, or on a negative seed.
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
    for one in order:
        fold[one] = rows.argmin()
        rows[fold[one]] += size[one]
    return fold[index]


def nested_decisions(
    score: Floats,
    gold: Ints,
    group: Ints,
    folds: int = 5,
    seed: int = 0,
    objective: Objective = "macro-f1",
    n_levels: Literal[2, 3] = 3,
) -> tuple[Ints, Floats]:
    """Out-of-fold predicted levels (n,), and the thresholds that each fold's rows were decided with, (folds, K - 1).

    score, gold, group: (n,). The thresholds of a fold are the best ones of all other folds. Raises ValueError as
    `best_thresholds` and `group_folds` do.
    """
    check_lengths(score=score, gold=gold, group=group)
    fold = group_folds(group, folds, seed)
    predicted = np.empty(score.size, dtype=np.int64)
    thresholds = np.empty((folds, n_levels - 1))
    for held_out in range(folds):
        test = fold == held_out
        thresholds[held_out] = best_thresholds(score[~test], gold[~test], None, objective, n_levels)
        predicted[test] = decide(score[test], thresholds[held_out])
    return predicted, thresholds


def _cut_points(score: Floats, gold: Ints, weight: Floats, n_levels: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Cut points (m,), gap of scores around each (0 at the ends), weight of each level below each (m, K) and in all."""
    block, n_blocks = tie_blocks(score)
    by_level = np.bincount(block * n_levels + gold, weights=weight, minlength=n_blocks * n_levels)
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


def _check(score: Floats, gold: Ints, weight: Floats, n_levels: int) -> None:
    check_lengths(score=score, gold=gold, weight=weight)
    check_finite("score", score)
    check_finite("weight", weight)
    check_codes("gold level", gold, n_levels)
    if weight.size and weight.min() < 0:
        raise ValueError(f"weights must not be negative, got {weight.min()}")
    if not weight.any():
        raise ValueError("thresholds need at least one row with a positive weight, got none")
