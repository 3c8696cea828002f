"""Measures under every choice that a number in a paper leaves open: which levels are positive, and how ties count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.classification import accuracy, average_precision, balanced_accuracy, level_f1, roc_auc
from metaeval.stats.resampling import Prepared, value

BINARISATIONS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "full v. rest": ((2,), (0, 1)),
    "full or partial v. none": ((1, 2), (0,)),
    "full v. none": ((2,), (0,)),
    "full v. partial": ((2,), (1,)),
    "partial v. none": ((1,), (0,)),
}
"""Levels that count as positive, and as negative; rows of other levels are left out."""

PAIRS_OF_TABLE = ("full v. none", "full v. partial", "partial v. none")
"""The columns FS-NS, FS-PS and PS-NS of the classification protocol, whose mean is its headline measure."""

MEAN = "mean of the three pairs"
GRADES = "none 0, partial 1, full 2"


Binary = Callable[[Floats, Bools, str], float]
"""A measure of two classes, from scores (n,), positives (n,) and a tie rule (half, optimistic or pessimistic)."""


def _of_order(measure: Callable[[Floats, Bools, Ints, int], Prepared]) -> Binary:
    """Return a measure of the order of scores as a function of scores, positives and tie rule.

    Rule "half": ties count as `measure` counts them; "optimistic", "pessimistic": of two tied rows the positive, or
    negative, is higher.
    """

    def found(score: Floats, positive: Bools, ties: str) -> float:
        if ties != "half":
            better = positive if ties == "optimistic" else ~positive
            order = np.lexsort((better, score))
            score = np.empty(score.size)
            score[order] = np.arange(score.size)
        return float(value(measure(score, positive, np.zeros(score.size, dtype=np.int64), 1), 1))

    return found


def _best(measure: Callable[[Floats], Floats]) -> Binary:
    """Return a function of scores: the highest value of a measure of decisions over the thresholds "score >= s".

    s: each distinct score. measure: from counts (k, 2, 2) by true and predicted class to (k,). The function gives NaN
    where one class has no row, and ignores its tie rule.
    """

    def found(score: Floats, positive: Bools, ties: str) -> float:
        if positive.all() or not positive.any():
            return float("nan")
        order = np.argsort(-score)
        ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
        called = np.stack([np.cumsum(~positive[order])[ends], np.cumsum(positive[order])[ends]], axis=-1)
        counts = np.stack([called[-1] - called, called], axis=-1)
        return float(measure(counts.astype(np.float64)).max())

    return found


BINARY: Mapping[str, Binary] = {
    "auc": _of_order(roc_auc),
    "average precision": _of_order(average_precision),
    "accuracy": _best(accuracy),
    "balanced accuracy": _best(balanced_accuracy),
    "f1": _best(lambda counts: level_f1(counts)[..., 1]),
}

GRADED: Mapping[str, Callable[..., Any]] = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def values_under_choices(measure: str, score: Floats, level: Floats) -> Iterator[tuple[str, str, float, int]]:
    """Yield a measure's value under each choice: (name of the labels' rule, tie rule, value, number of rows).

    measure: a key of `BINARY` or `GRADED`. score, level: (n,), levels 0, 1 and 2. Labels are those of `BINARISATIONS`
    and, by kind of measure, `MEAN` or `GRADES`; the tie rule is "half", for "auc" and "average precision" each of
    three. Undefined values are left out.
    """
    if measure in GRADED:
        golds = {GRADES: (level, np.ones(level.size, dtype=bool))}
        for name, (positive, negative) in BINARISATIONS.items():
            golds[name] = np.isin(level, positive).astype(np.float64), np.isin(level, positive + negative)
        for name, (graded, keep) in golds.items():
            x, y = score[keep], graded[keep]
            if x.size > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
                yield name, "half", float(GRADED[measure](x, y).statistic), int(keep.sum())
        return
    compute = BINARY[measure]
    policies = ("half", "optimistic", "pessimistic") if measure in ("auc", "average precision") else ("half",)
    for ties in policies:
        pairs = []
        for name, (positive, negative) in BINARISATIONS.items():
            keep = np.isin(level, positive + negative)
            area = compute(score[keep], np.isin(level[keep], positive), ties)
            if name in PAIRS_OF_TABLE:
                pairs.append(area)
            if not np.isnan(area):
                yield name, ties, area, int(keep.sum())
        if not np.isnan(pairs).any():
            yield MEAN, ties, float(np.mean(pairs)), int(level.size)
