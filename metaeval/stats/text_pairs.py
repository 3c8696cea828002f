"""Pairs of texts of one input: how often the better one scores higher, and pairwise accuracy with calibrated ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metaeval.stats.arrays import Floats, Ints, ratio

MOST_PAIRS = 20_000_000
"""Pairs of rows that are held in memory at once: some gigabytes."""

_NOISE = 1e-12
"""Score differences closer than this share of the largest score are equal but for rounding."""


class TextPairs(NamedTuple):
    """All pairs of rows that share a pool. one, other: (P,) row numbers; pool: (P,) rank of the pool's code, from 0."""

    one: Ints
    other: Ints
    pool: Ints


def number_of_pairs(pool: Ints) -> int:
    """Return how many pairs of rows share a pool; pool: (n,) codes."""
    sizes = np.unique(pool, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())


def text_pairs(pool: Ints) -> TextPairs:
    """Return every pair of rows of one pool, pools ascending by their codes (n,); pools of one row have none."""
    order = np.argsort(pool, kind="stable")
    _, starts, sizes = np.unique(pool[order], return_index=True, return_counts=True)
    pairs = [(np.empty(0, dtype=np.int64),) * 3]
    for size in np.unique(sizes[sizes > 1]).tolist():
        numbers = np.flatnonzero(sizes == size)
        rows = order[starts[numbers][:, None] + np.arange(size)]
        first, second = np.triu_indices(size, 1)
        pairs.append((rows[:, first].ravel(), rows[:, second].ravel(), np.repeat(numbers, first.size)))
    left, other, of = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return TextPairs(left, other, of)


def pair_consistency(score: Floats, gold: Floats, pairs: TextPairs, tied: float = 0.0) -> Floats:
    """Return for each pair, (P,), 1 if the higher gold scores higher, 0 if lower, `tied` if equal; NaN for equal gold.

    Their mean is the consistency of minimal pairs (Ma, Cao, Saxon, Sap, Hearst, "BUMP: A Benchmark of Unfaithful
    Minimal Pairs for Meta-Evaluation of Faithfulness Metrics", 2023), where a tie is not a success.
    """
    better = np.sign(gold[pairs.one] - gold[pairs.other])
    agreement = np.sign(score[pairs.one] - score[pairs.other]) * better
    return np.where(better == 0, np.nan, np.where(agreement > 0, 1.0, np.where(agreement == 0, tied, 0.0)))


def accuracy_of_pools(score: Floats, gold: Floats, pairs: TextPairs, tie: float) -> Floats:
    """Return for each pool with pairs, ascending, the share that scores order as the gold does, ties included; (K,).

    tie: two scores less than this apart are tied; equal ones always are. Deutsch, Foster, Freitag, "Ties Matter:
    Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie Calibration" (2023), grouped by item.
    """
    apart = score[pairs.one] - score[pairs.other]
    order = np.where(np.abs(apart) < tie, 0.0, np.sign(apart))
    hits = order == np.sign(gold[pairs.one] - gold[pairs.other])
    sizes = np.bincount(pairs.pool)
    correct = np.bincount(pairs.pool, weights=hits.astype(np.float64), minlength=sizes.size)
    return ratio(correct, sizes)[sizes > 0]


def calibrated_tie(score: Floats, gold: Floats, pairs: TextPairs) -> float:
    """Return the tie threshold with the highest mean `accuracy_of_pools` (its `tie`); 1 without pairs.

    The candidates lie between neighbouring differences (closer ones than rounding makes are one); of equally good ones
    the smallest is taken. Deutsch et al. (2023), section 5.
    """
    if not pairs.one.size:
        return 1.0
    difference, better = score[pairs.one] - score[pairs.other], np.sign(gold[pairs.one] - gold[pairs.other])
    # A tied pair adds this to the sum of the pools' accuracies.
    gain = ((better == 0).astype(np.int64) - (np.sign(difference) == better)) / np.bincount(pairs.pool)[pairs.pool]
    order = np.argsort(np.abs(difference), kind="stable")
    apart, step = np.abs(difference)[order], _NOISE * float(np.abs(score).max())
    last = np.flatnonzero(np.append(np.diff(apart) > step, True))
    # The first candidate ties nothing beyond equal scores, each other one all up to a run of equal differences.
    ends, totals = np.append(0.0, apart[last]), np.append(0.0, np.cumsum(gain[order])[last])
    low = float(ends[np.flatnonzero(totals >= totals.max() - 1e-9)[0]])
    above = apart[apart > low + step]
    if above.size:
        return low + (float(above[0]) - low) / 2
    return 2 * low if low > 0 else 1.0
