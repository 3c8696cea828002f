"""Means of runs over topics, and correlations of two rankings of the same runs, as TREC's evaluations compute them.

Scores are compared as they are: values that differ in the last bit are not tied, as in the official programs.
`metaeval.stats.agreement.rank_agreement` ties values that differ by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import stdtrit

from metaeval.stats.arrays import Floats, Ints, check_finite, column_sum
from metaeval.stats.resampling import Draws, percentile_interval
from metaeval.stats.systems import soft_pairwise_accuracy


def topic_means(cells: Floats, denominator: int | None = None) -> Floats:
    """Return each run's sum over topics divided by the number of topics, (S,); cells: (S, N), NaN (missing) counts 0.

    denominator: the number to divide by in place of N; None or 0: N. Topics are added in order. As castorini/RAGDoll
    baa7fc6, tools/plot_support_kendall.py. Raises ValueError unless cells are (S, N), or for a negative denominator.
    """
    if cells.ndim != 2 or (denominator or 0) < 0:
        raise ValueError(
            f"cells must be runs by topics and the denominator not negative, got {cells.shape} and {denominator}"
        )
    divisor = denominator or cells.shape[1]
    sums = column_sum(np.nan_to_num(cells, nan=0.0).T)
    return sums / divisor if divisor else np.full(cells.shape[0], np.nan)


def kendall(truth: Floats, scores: Floats) -> float:
    """Return Kendall's tau-b (without a p-value) of truth and scores, (S,) each; NaN where all of either are tied.

    Raises ValueError for different lengths, NaN or infinity.
    """
    first, other = _signs(truth, scores)
    pairs = np.triu_indices(truth.size, 1)
    norm = np.sqrt(float(np.abs(first[pairs]).sum()) * float(np.abs(other[pairs]).sum()))
    return float((first * other)[pairs].sum() / norm) if norm else float("nan")


def topic_kendalls(truth: Floats, scores: Floats) -> Floats:
    """Return Kendall's tau-b of the runs on each topic, (N,); truth, scores: (S, N), NaN where a run is missing.

    Only runs with both scores count; NaN for a topic where fewer than two have them, or where a side is all tied. The
    mean over the topics that have a value, and the tau-b of all cells, are castorini/RAGDoll baa7fc6's.
    """
    there = np.isfinite(truth) & np.isfinite(scores)
    of_topics = ((truth[:, topic][kept], scores[:, topic][kept]) for topic, kept in enumerate(there.T))
    return np.array([kendall(*both) for both in of_topics])


def tau_ap(walked: Floats, other: Floats) -> float:
    """Return tau_AP with ties: the ranking by `walked` is walked down, and each run compared with those above it.

    walked, other: (S,) of the same runs. It is the mean over pivots, the runs outside of the top tie group of `walked`:
    the share of the runs strictly above the pivot that `other` puts strictly above it too, minus the share that it does
    not. 0 where all of `walked` are tied. Yilmaz, Aslam and Robertson, "A new rank correlation coefficient for
    information retrieval" (2008); ties as in trec-auto-judge/auto-judge-evaluate 0ab65c1. Raises ValueError for
    different lengths, NaN or infinity.
    """
    first, second = _signs(walked, other)
    above = first > 0  # column: the pivot; row: a run above it
    number = above.sum(axis=0)
    pivots = number > 0
    agreed = (above & (second > 0)).sum(axis=0)
    return float(np.mean(2 * agreed[pivots] / number[pivots] - 1)) if pivots.any() else 0.0


def tau_ap_b(truth: Floats, scores: Floats) -> float:
    """Return the mean of `tau_ap(scores, truth)` and `tau_ap(truth, scores)`, which is symmetric in its arguments."""
    return (tau_ap(scores, truth) + tau_ap(truth, scores)) / 2


def spearman(truth: Floats, scores: Floats) -> float:
    """Return Spearman's rho of truth and scores, (S,) each, with mean ranks for ties; NaN where all of either are tied.

    Raises ValueError for different lengths, NaN or infinity.
    """
    # A value's rank less the mean rank is half of the number of runs it is above, less those it is below.
    ranks, others = (signs.sum(axis=1) for signs in _signs(truth, scores))
    norm = np.sqrt(float(ranks @ ranks) * float(others @ others))
    return float(ranks @ others / norm) if norm else float("nan")


def pairwise_accuracy(truth: Floats, scores: Floats) -> float:
    """Return the share of pairs not tied in truth (S,) that scores (S,) order in the same way; NaN without such a pair.

    A pair that is tied in scores counts as wrong. Kocmi, Federmann, Grundkiewicz, Junczys-Dowmunt, Matsushita,
    Menezes, "To Ship or Not to Ship" (2021). Raises ValueError for different lengths, NaN or infinity.
    """
    first, other = _signs(truth, scores)
    apart = first > 0
    return float((other[apart] > 0).mean()) if apart.any() else float("nan")


COEFFICIENTS: Mapping[str, Callable[[Floats, Floats], float]] = {
    "kendall": kendall,
    "tau_ap": tau_ap_b,
    "tau_ap_truth": tau_ap,
    "spearman": spearman,
    "pairwise_accuracy": pairwise_accuracy,
}
"""Functions of (truth, scores), (S,) each. tau_ap is the mean of both directions; tau_ap_truth walks down truth."""


def resampled(truth: Floats, scores: Floats, draws: Draws) -> dict[str, Floats]:
    """Return each of `COEFFICIENTS`, by its name, of the runs' means under each weighting of topics, (1 + R,) each.

    The first value is that of the input. truth, scores: runs by topics (S, N), NaN (missing) counts 0. draws:
    weightings of the N topics. Means are tied where they agree to 12 decimals.
    """
    sides = [np.nan_to_num(cells, nan=0.0) for cells in (truth, scores)]
    values: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for tile in draws:
        means = [np.round(cells @ tile.astype(np.float64) / tile.sum(axis=0), 12) for cells in sides]
        for column in range(tile.shape[1]):
            for name, coefficient in COEFFICIENTS.items():
                values[name].append(coefficient(means[0][:, column], means[1][:, column]))
    return {name: np.array(column[: draws.n]) for name, column in values.items()}


def shifted_interval(values: Floats, level: float) -> tuple[float, float] | None:
    """Return the percentile interval of a coefficient, shifted by the median bias of its resamples; high at most 1.

    values: (1 + R,), the input's first; None if that is NaN, or over half of the resamples' are. Resamples add the
    noise of topics once more, so that their coefficients are too low. Of 200 simulated boards of 20 runs and 22 topics,
    94.5 to 96.5 % of the intervals at .95 held the expected value.
    """
    ends = percentile_interval(values[1:], level)
    if ends is None or np.isnan(values[0]):
        return None
    bias = float(np.nanmedian(values[1:]) - values[0])
    return ends[0] - bias, min(ends[1] - bias, 1.0)


def soft_accuracy(truth: Floats, scores: Floats, level: float) -> tuple[float, tuple[float, float] | None]:
    """Return the soft pairwise accuracy of two leaderboards, and its jackknife t interval (low, high) over topics.

    truth, scores: runs by topics (S, N), NaN (missing) counts 0. level: of the interval, such as 0.95. See
    `metaeval.stats.systems.soft_pairwise_accuracy`. None in place of the interval for fewer than two topics.
    """
    topics = truth.shape[1]
    cells = [np.nan_to_num(side, nan=0.0) for side in (scores, truth)]
    prepared = soft_pairwise_accuracy(cells[0], cells[1], np.arange(topics), topics)
    value = float(prepared.evaluate(np.ones((topics, 1), dtype=np.uint8))[0])
    if topics < 2 or prepared.left_out is None:
        return value, None
    error = float(np.sqrt((topics - 1) * np.var(prepared.left_out())))
    reach = error * float(stdtrit(topics - 1, (1 + level) / 2))
    return value, (max(value - reach, 0.0), min(value + reach, 1.0))


def first_runs(truth: Floats, k: int) -> Ints:
    """Return the indices of the k best runs by truth, from the best; ties are cut in the order of the runs."""
    return np.argsort(-truth, kind="stable")[:k].astype(np.int64)


def _signs(first: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return the matrices of the sign of value[i] - value[j], (S, S), for both arguments (S,)."""
    if first.shape != other.shape or first.ndim != 1:
        raise ValueError(f"both rankings must be of the same runs, got shapes {first.shape} and {other.shape}")
    check_finite("truth", first)
    check_finite("scores", other)
    return np.sign(first[:, None] - first[None]), np.sign(other[:, None] - other[None])
