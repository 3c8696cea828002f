"""Complementarity of metrics: the gain of a stack of them over the best single one, on held-out groups.

Everything is chosen inside the training folds: the best single metric, the best pair, the weights, and the ranks that
put the metrics on one scale. The held-out fold only gives the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from metaeval.stats.arrays import Floats, Ints, check_finite, check_lengths
from metaeval.stats.decisions import group_folds
from metaeval.stats.resampling import bootstrap
from metaeval.stats.ties import midranks

Objective = Literal["spearman", "auc"]
Kind = Literal["pair", "everything"]
"""The stack of the best pair of metrics ("pair"), or that of all metrics ("everything")."""


@dataclass(frozen=True)
class StackGain:
    """The held-out objective (Spearman or ROC-AUC) of a single metric and of two stacks, and the gains of these.

    single: of the best metric; pair: of the stack of the best pair; everything: of the stack of all metrics. They are
    means over the folds in which all three are defined, NaN without such a fold. pair_gain: pair minus single;
    everything_gain: everything minus single. singles, pairs: the rows of `scores` that each fold chose.
    """

    single: float
    pair: float
    everything: float
    pair_gain: float
    everything_gain: float
    singles: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    def of(self, kind: Kind) -> tuple[float, float]:
        """Return (objective, gain) of a stack: that of the best pair ("pair"), or of all metrics ("everything")."""
        return (self.pair, self.pair_gain) if kind == "pair" else (self.everything, self.everything_gain)


def stack_gain(
    scores: Floats, gold: Floats, group: Ints, folds: int = 5, seed: int = 0, objective: Objective = "spearman"
) -> StackGain:
    """Return the gain of least-squares stacks over the best single metric; scores (m, n), gold, group (n,).

    objective: "spearman" with the gold, or "auc" of the gold's highest value v. the rest. A stack predicts this target
    from the metrics' ranks among the training rows. Values of folds are averaged, not predictions pooled, since the
    scales of two folds' stacks differ. Choices are by the training rows' own objective.
    Raises ValueError with fewer than two metrics, on NaN, infinity or unlike lengths, or as `group_folds` does.
    """
    if scores.ndim != 2 or scores.shape[0] < 2:
        raise ValueError(f"a stack needs scores of at least two metrics (metrics, rows), got shape {scores.shape}")
    check_lengths(scores=scores[0], gold=gold, group=group)
    check_finite("score", scores.ravel())
    check_finite("gold", gold)
    fold = group_folds(group, folds, seed)
    measure = _spearman if objective == "spearman" else _auc
    target = gold if objective == "spearman" else (gold == gold.max(initial=-np.inf)).astype(np.float64)
    every = tuple(range(scores.shape[0]))
    singles: list[int] = []
    pairs: list[tuple[int, int]] = []
    values = np.empty((folds, 3))
    for held_out in range(folds):
        test = fold == held_out
        training = _positions(scores[:, ~test], scores[:, ~test])
        unseen = _positions(scores[:, ~test], scores[:, test])
        known = target[~test]
        alone = [measure(row, known) for row in training]
        singles.append(_first_best(alone))
        together = list(combinations(every, 2))
        fitted = [measure(_stack(training, known, pair, training), known) for pair in together]
        pairs.append(together[_first_best(fitted)])
        values[held_out] = (
            measure(unseen[singles[-1]], target[test]),
            measure(_stack(training, known, pairs[-1], unseen), target[test]),
            measure(_stack(training, known, every, unseen), target[test]),
        )
    defined = values[~np.isnan(values).any(axis=1)]
    single, pair, everything = defined.mean(axis=0).tolist() if defined.size else [float("nan")] * 3
    return StackGain(single, pair, everything, pair - single, everything - single, tuple(singles), tuple(pairs))


def resampled_gains(
    scores: Floats, gold: Floats, group: Ints, folds: int, resamples: int, seed: int, objective: Objective
) -> list[StackGain]:
    """Return the gains on resamples of whole groups, at most `resamples`; scores (m, n), gold, group (n,).

    Everything is chosen and fitted again in each. A group drawn twice stays in one fold, so that no row is predicted by
    a stack that was fitted on it. Resamples with fewer distinct groups than folds are left out of the list.
    """
    codes, compact = np.unique(group, return_inverse=True)
    gains: list[StackGain] = []
    columns = [column for tile in bootstrap(codes.size, resamples, seed) for column in tile.T]
    for column in columns[1:]:
        rows = np.repeat(np.arange(group.size), column[compact].astype(np.int64))
        if np.count_nonzero(column) >= folds:
            gains.append(stack_gain(scores[:, rows], gold[rows], group[rows], folds, seed, objective))
    return gains


def _positions(training: Floats, scores: Floats) -> Floats:
    """Return where each of scores (m, n) lies among its metric's training scores (m, N), from -1/2 to 1/2; (m, n)."""
    ordered = np.sort(training, axis=1)
    sides = [
        [np.searchsorted(row, new, side=side) for row, new in zip(ordered, scores, strict=True)]
        for side in ("left", "right")
    ]
    return np.asarray(np.mean(sides, axis=0) / training.shape[1] - 0.5)


def _stack(training: Floats, known: Floats, chosen: tuple[int, ...], rows: Floats) -> Floats:
    """Return predictions, (n,), for rows (m, n) from the chosen metrics by least squares of known (N,) on training."""
    centred = training[list(chosen)] - training[list(chosen)].mean(axis=1, keepdims=True)
    weights = np.linalg.lstsq(centred.T, known - known.mean(), rcond=None)[0]
    # Two sums that are equal but for rounding are one prediction.
    return np.asarray(np.round(weights @ rows[list(chosen)], 12))


def _spearman(score: Floats, target: Floats) -> float:
    """Return the Spearman correlation of score and target, (n,) each; NaN where one is constant."""
    if score.size < 2 or score.min() == score.max() or target.min() == target.max():
        return float("nan")
    return float(np.corrcoef(midranks(score), midranks(target))[0, 1])


def _auc(score: Floats, target: Floats) -> float:
    """Return the ROC-AUC of score (n,) for target (n,) 1 v. 0; NaN without one of each."""
    n_positive = np.count_nonzero(target)
    n_negative = target.size - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    ranks = midranks(score)[target > 0].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def _first_best(values: list[float]) -> int:
    """Return the index of the highest value, the first of equals; 0 if none is defined."""
    return int(np.argmax(np.nan_to_num(np.array(values), nan=-np.inf)))
