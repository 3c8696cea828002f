"""Measures under every choice that a number in a paper leaves open: which levels are positive, and how ties count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

from metaeval.stats.arrays import Bools, Floats

BINARISATIONS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "full v. rest": ((2,), (0, 1)),
    "full or partial v. none": ((1, 2), (0,)),
    "full v. none": ((2,), (0,)),
    "full v. partial": ((2,), (1,)),
    "partial v. none": ((1,), (0,)),
}
"""Levels that count as positive, and as negative; rows of other levels are left out."""

PAIRS_OF_TABLE = ("full v. none", "full v. partial", "partial v. none")
"""The columns FS-NS, FS-PS and PS-NS of the classification protocol, whose mean is its headline."""

MEAN = "mean of the three pairs"
GRADES = "none 0, partial 1, full 2"


def _auc(score: Floats, positive: Bools, ties: str) -> float:
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return float("nan")
    if ties == "half":
        rank = rankdata(score)
    else:  # equal scores of both kinds count as right (optimistic), or as wrong
        better = positive if ties == "optimistic" else ~positive
        rank = np.empty(score.size)
        rank[np.lexsort((better, score))] = np.arange(1, score.size + 1)
    return float((rank[positive].sum() - n * (n + 1) / 2) / (n * m))


def _precision(score: Floats, positive: Bools, ties: str) -> float:
    """Average precision; ties in the order that is worst or best, or shared by all of one score."""
    total = int(positive.sum())
    if not total or total == positive.size:
        return float("nan")
    better = positive if ties == "optimistic" else ~positive
    order = np.lexsort((~better, -score))
    hits, seen = np.cumsum(positive[order]), np.arange(1, score.size + 1)
    if ties == "half":
        last = np.append(np.diff(score[order]) != 0, True)
        gained = np.diff(np.concatenate([[0], hits[last]]))
        return float(np.sum(gained * hits[last] / seen[last]) / total)
    return float(np.sum((hits / seen)[positive[order]]) / total)


def _best(measure: Callable[[Floats, Floats, int, int], Floats]) -> Callable[[Floats, Bools, str], float]:
    """A measure of decisions at its best threshold, chosen on these very labels.

    measure: of the positives that are said to be positive and of all rows that are, (k,) by threshold, and of the
    numbers of positives and rows.
    """

    def value(score: Floats, positive: Bools, ties: str) -> float:
        if positive.all() or not positive.any():
            return float("nan")
        order = np.argsort(-score)
        ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
        hits = np.cumsum(positive[order], dtype=np.float64)[ends]
        return float(measure(hits, (ends + 1).astype(np.float64), int(positive.sum()), score.size).max())

    return value


def _accuracy(hits: Floats, said: Floats, positives: int, rows: int) -> Floats:
    return (rows - positives - said + 2 * hits) / rows


def _balanced(hits: Floats, said: Floats, positives: int, rows: int) -> Floats:
    return (hits / positives + 1 - (said - hits) / (rows - positives)) / 2


def _f1(hits: Floats, said: Floats, positives: int, rows: int) -> Floats:
    return 2 * hits / (said + positives)


BINARY: Mapping[str, Callable[[Floats, Bools, str], float]] = {
    "auc": _auc,
    "average precision": _precision,
    "accuracy": _best(_accuracy),
    "balanced accuracy": _best(_balanced),
    "f1": _best(_f1),
}
"""Measures of two classes, of scores (n,), positives (n,) and a tie policy."""

GRADED: Mapping[str, Callable[..., Any]] = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def values_under_choices(measure: str, score: Floats, level: Floats) -> Iterator[tuple[str, str, float, int]]:
    """Of each rule for labels and ties: its names, the value, and the rows that it is of.

    measure: a key of `BINARY` or `GRADED`. score, level: (n,), levels 0, 1 and 2. Undefined values are left out.
    """
    if measure in GRADED:
        made = {GRADES: (level, np.ones(level.size, dtype=bool))}
        for name, (positive, negative) in BINARISATIONS.items():
            made[name] = np.isin(level, positive).astype(np.float64), np.isin(level, positive + negative)
        for name, (graded, keep) in made.items():
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
            value = compute(score[keep], np.isin(level[keep], positive), ties) if keep.any() else np.nan
            if name in PAIRS_OF_TABLE:
                pairs.append(value)
            if value == value:
                yield name, ties, value, int(keep.sum())
        if not np.isnan(pairs).any():
            yield MEAN, ties, float(np.mean(pairs)), int(level.size)
