"""Thresholds with a promise that survives their choice: Learn then Test (Angelopoulos et al. 2021, arXiv 2110.01052).

A citation is flagged where its score is below a threshold. The promise is on the *missed share*, of the unsupported
citations those that are not flagged: with chance 1 - alpha over labels it is at most `rate`. Thresholds are tested in
an order that is fixed beforehand, from flagging nearly all to flagging few; the last one before the first failure is
taken.

A promise on the mean says less (conformal risk control, Angelopoulos et al. 2022, arXiv 2208.02814): over the labels
that could have been drawn, and the answer that comes next, the missed share is at most `rate` on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaincc, betaincinv, kolmogorov, ndtri, stdtrit

from metaeval.stats.arrays import Floats, Ints, check_lengths, ratio
from metaeval.stats.ties import midranks

Promise = Literal["confidence", "mean"]
"""The kind of bound on the missed share: with a confidence over the labels, or on average."""


def tail(misses: float, labels: float, rate: float) -> float:
    """Return the binomial probability of at most `misses` misses among `labels` labels with a missed share of `rate`.

    It is the p-value of "the share is `rate` or more"; 1 if all are missed. The numbers need not be whole (effective
    numbers): the beta distribution interpolates.
    """
    if misses >= labels:
        return 1.0
    return float(betaincc(misses + 1, labels - misses, rate))


def upper_bound(misses: float, labels: float, alpha: float) -> float:
    """Return the one-sided upper Clopper-Pearson bound of the missed share at confidence 1 - alpha; 1 if all missed."""
    return 1.0 if misses >= labels else float(betaincinv(misses + 1, labels - misses, 1 - alpha))


def labels_for(rate: float, alpha: float, misses: int = 0) -> int:
    """Return the least number of independent labels with which `misses` misses reject a missed share of `rate` or more.

    29 for a rate of .1, alpha .05 and no miss: .9 ** 29 is .047.
    """
    short, enough = misses, misses + 1
    while tail(misses, enough, rate) > alpha:
        short, enough = enough, 2 * enough
    while enough - short > 1:
        n = (short + enough) // 2
        short, enough = (n, enough) if tail(misses, n, rate) > alpha else (short, n)
    return enough


def answers_for_mean(rate: float, missed: float = 0.0) -> int | None:
    """Return the least number of answers with unsupported labels with which `mean_bounds` is at most `rate`.

    missed: their mean missed share; None is returned if it is not below `rate`. 9 for a rate of .1 and no miss: (9 * 0
    + 1) / (9 + 1) is .1.
    """
    return int(np.ceil((1 - rate) / (rate - missed) - 1e-9)) if missed < rate else None


def labels_for_power(true: float, rate: float, alpha: float) -> int | None:
    """Return about how many labels show, at level alpha, a missed share of `true` to be below `rate` with power 0.8.

    None: `true` is not below `rate`, or over 100,000 labels are needed.
    """
    if true >= rate:
        return None
    n, allowed = labels_for(rate, alpha), 0
    while n <= 100_000:
        while tail(allowed + 1, n, rate) <= alpha:
            allowed += 1
        if tail(allowed, n, true) >= 0.8:
            return n
        n += max(1, n // 50)
    return None


def design_effect(score: Floats, cluster: Ints, weight: Floats) -> float:
    """Return how many labels of these clusters and weights count as one independent label, at least 1; (n,) each.

    It is Kish's: 1 + icc (size - 1), times that of the weights, with the intraclass correlation of the scores' ranks
    (one-way analysis of variance) and the mean size of a label's cluster. The labels of a single cluster count as one.
    """
    check_lengths(score=score, cluster=cluster, weight=weight)
    rank = midranks(score)
    code, size = _clusters(cluster)
    total = np.bincount(code, rank).astype(np.float64)[:, None]
    icc = _intraclass_correlation(total, np.sum(rank**2, keepdims=True), size)
    return _weight_effect(weight) * (1 + float(icc[0]) * (float(np.sum(size**2)) / score.size - 1))


def effective_labels(
    score: Floats, cluster: Ints, weight: Floats, thresholds: Floats, answers: float | None = None
) -> Floats:
    """Return how many independent labels these are worth, for the share of scores at or above each threshold; (T,).

    score, cluster, weight: (n,). thresholds: (T,) from the highest down. answers: how many the clusters count as, where
    one fails as a whole (None: each is one; see `answers_of_one_size`). 0 without labels. When a metric fails on whole
    answers, what it misses correlates more within answers than ranks do. The design effect is therefore the larger of
    that of the ranks and that of being at or above the threshold. Where no score is, or every score is, that
    correlation is unknown, and k answers count as k labels: if a share r of answers fails, none of k does with chance
    (1 - r) ** k.
    """
    if not score.size:
        return np.zeros(thresholds.size)
    n = score.size
    code, size = _clusters(cluster)
    usual = n / (answers or size.size)
    first, ends = np.searchsorted(-thresholds, -score), thresholds.size + 1  # the highest threshold not above a score
    cells = np.bincount(code * ends + first, minlength=size.size * ends).reshape(size.size, ends)
    count = np.cumsum(cells[:, :-1], axis=1).astype(np.float64)
    total = count.sum(axis=0)
    icc = _intraclass_correlation(count, total, size)
    mixed = (total > 0) & (total < n)
    whole = max(float(np.sum(size**2)) / n, usual)
    effect = np.where(mixed, 1 + icc * (whole - 1), usual) * _weight_effect(weight)
    return np.asarray(n / np.maximum(effect, design_effect(score, cluster, weight)))


def answers_of_one_size(cluster: Ints, weight: Floats, size: Floats, rate: float) -> float:
    """Return how many answers of one size would show a missed share of `rate` as surely as these of unequal sizes do.

    cluster, weight, size: (n,) of unsupported labels; size is the number of citations in the label's answer. The worst
    case is a metric that fails on the largest answers alone. If those that hold `rate` of the weight are a share q of
    the k answers, none of k fails with chance (1 - q) ** k; for answers of one size it is (1 - rate) ** k. Answers of
    the same size share their weight equally, since which of them fails is chance.
    """
    first, code = np.unique(cluster, return_index=True, return_inverse=True)[1:]
    place, number = np.unique(-size[first], return_inverse=True, return_counts=True)[1:]
    held = np.cumsum(np.bincount(place, np.bincount(code, weight))) / weight.sum()
    q = float(np.interp(rate, np.append(0.0, held), np.append(0.0, np.cumsum(number)) / first.size))
    return float(np.log1p(-min(q, rate)) / np.log1p(-rate)) * first.size


def _clusters(cluster: Ints) -> tuple[Ints, Floats]:
    """Return the codes 0 .. k - 1 of clusters, (n,), and the number of labels in each, (k,)."""
    code = np.unique(cluster, return_inverse=True)[1]
    return code, np.bincount(code).astype(np.float64)


def _weight_effect(weight: Floats) -> float:
    """Return Kish's design effect of unequal weights (n,): 1 for equal ones."""
    return weight.size * float(np.sum(weight**2)) / float(weight.sum() ** 2)


def _intraclass_correlation(total: Floats, squares: Floats, size: Floats) -> Floats:
    """Return the correlation of two values of one cluster (icc), in 0 .. 1, for each of T variables; (T,).

    total: (k, T) sums of the values of each of k clusters. squares: (T,) sums of the squared values. size: (k,) values
    of each. Without a second value in any cluster it is 0; with one cluster, or values without spread, it is unknown
    and set to 1.
    """
    n, k = float(size.sum()), size.size
    if k == n:
        return np.zeros(squares.size)
    if k == 1:
        return np.ones(squares.size)
    size = size[:, None]
    between = np.sum((total / size - total.sum(axis=0) / n) ** 2 * size, axis=0) / (k - 1)
    within = (squares - np.sum(total**2 / size, axis=0)) / (n - k)
    spread = between + ((n - np.sum(size**2) / n) / (k - 1) - 1) * within
    estimate = np.divide(between - within, spread, out=np.ones(squares.size), where=spread > 0)
    return np.asarray(np.maximum(estimate, 0.0))


@dataclass(frozen=True, slots=True)
class TestedThreshold:
    """A threshold and its errors on the labels. labels: effective number of unsupported labels, for this threshold.

    missed: weighted share of them at or above the threshold. bound: the upper bound of that share, or of its mean.
    flagged: weighted share of supported labels below it, flagged wrongly (NaN: none is labelled).
    """

    threshold: float
    labels: float
    missed: float
    bound: float
    flagged: float


STEPS = 100
"""Thresholds that are tested at most: quantiles of all items' scores, labelled or not."""


def threshold_order(score: Floats) -> Floats:
    """Return the thresholds to test, inf (flags all) and up to `STEPS` quantiles of the finite scores, descending."""
    known = score[np.isfinite(score)]
    return np.unique(np.concatenate([np.quantile(known, np.linspace(0, 1, STEPS)), [np.inf]]))[::-1]


def choose_threshold(
    score: Floats,
    unsupported: Floats,
    weight: Floats,
    cluster: Ints,
    thresholds: Floats,
    rate: float,
    alpha: float,
    promise: Promise = "confidence",
    size: Floats | None = None,
) -> tuple[list[TestedThreshold], int]:
    """Return each threshold's errors on the labels, and how many thresholds, from the first, keep the promise.

    The last of these is to be taken; 0: none. score, unsupported (0 or 1), weight (inverse probabilities), cluster:
    (n,) of the labelled items. thresholds: from the highest down. rate: the promised missed share, for "confidence"
    with probability 1 - alpha over the labels, for "mean" on average (alpha is not read). size: (n,) citations of each
    item's answer; None: those that are labelled.
    """
    code = np.unique(cluster, return_inverse=True)[1]
    size = np.bincount(code)[code].astype(np.float64) if size is None else size
    check_lengths(score=score, unsupported=unsupported, weight=weight, cluster=cluster, size=size)
    bad = unsupported > 0.5
    bad_scores, heavy = score[bad], weight[bad]
    answers = answers_of_one_size(cluster[bad], heavy, size[bad], rate) if bad.any() else None
    effective = effective_labels(bad_scores, cluster[bad], heavy, thresholds, answers)
    fine = weight[~bad].sum()
    order = np.argsort(bad_scores, kind="stable")
    above = np.concatenate([[0.0], np.cumsum(heavy[order][::-1])])[::-1]  # weight from each place on
    place = np.searchsorted(bad_scores[order], thresholds, side="left")
    missed = above[place] / heavy.sum() if bad_scores.size else 1.0
    missed = np.broadcast_to(np.asarray(missed, dtype=np.float64), thresholds.shape)
    order = np.argsort(score[~bad], kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weight[~bad][order])])
    place = np.searchsorted(score[~bad][order], thresholds, side="left")
    flagged = ratio(below[place], np.full(thresholds.shape, fine))
    if promise == "mean":
        bounds = mean_bounds(bad_scores, heavy, cluster[bad], thresholds).tolist()
        failed = [bound > rate + 1e-12 for bound in bounds]
    else:
        pairs = list(zip((missed * effective).tolist(), effective.tolist(), strict=True))
        bounds = [upper_bound(misses, labels, alpha) for misses, labels in pairs]
        failed = [tail(misses, labels, rate) > alpha for misses, labels in pairs]
    columns = thresholds, effective, missed, np.array(bounds), flagged
    tested = [TestedThreshold(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    return tested, [*failed, True].index(True)


def mean_bounds(score: Floats, weight: Floats, cluster: Ints, thresholds: Floats) -> Floats:
    """Return for each threshold (T,) the upper bound of the next answer's mean missed share; (T,).

    score, weight, cluster: (n,) of the unsupported labels, cluster the answer's code. The bound is (sum w L + max w) /
    (sum w + max w) over answers, L the share of an answer's unsupported labels that is missed and w its mean weight: as
    if the next answer, of the largest weight, were missed whole. 1 without a label.
    """
    if not score.size:
        return np.ones(thresholds.size)
    code = np.unique(cluster, return_inverse=True)[1]
    size = np.bincount(code)
    each, heavy = weight / np.bincount(code, weight)[code], np.bincount(code, weight) / size
    order = np.argsort(score, kind="stable")
    above = np.concatenate([np.cumsum((heavy[code] * each)[order][::-1])[::-1], [0.0]])
    lost = above[np.searchsorted(score[order], thresholds, side="left")]
    return np.asarray((lost + heavy.max()) / (heavy.sum() + heavy.max()))


def corrected_share(
    flagged: float, variance: float, detected: tuple[float, float], false: tuple[float, float], alpha: float, df: float
) -> tuple[float, float, float]:
    """Return the unsupported share behind a flagged share (Rogan and Gladen 1978), with bounds: (value, low, high).

    variance, df: of the flagged share (df: inf for a normal quantile). detected, false: the flagged shares of the
    unsupported and of the supported, each with the effective number of labels that it is known from. low, high: the
    ends of the shares that a one-sided test at `alpha` does not reject (or the one rejected least), which takes no
    division: where the metric hardly discriminates, they are wide. value is NaN if detected is not above false, or low
    if the test rejects every share too.
    """
    d, n_d = detected
    f, n_f = false
    spread_d = (d * n_d + 0.5) * ((1 - d) * n_d + 0.5) / (n_d + 1) ** 3
    spread_f = (f * n_f + 0.5) * ((1 - f) * n_f + 0.5) / (n_f + 1) ** 3
    value = float(np.clip((flagged - f) / (d - f), 0, 1)) if d > f else np.nan
    share = np.linspace(0, 1, 10_001)
    error = np.sqrt(variance + share**2 * spread_d + (1 - share) ** 2 * spread_f)
    z = (flagged - (share * d + (1 - share) * f)) / np.maximum(error, 1e-12)
    most = float(stdtrit(df, 1 - alpha)) if np.isfinite(df) else float(ndtri(1 - alpha))
    kept = share[np.abs(z) <= most]
    if not kept.size:
        end = float(share[np.argmin(np.abs(z))])
        return (value if np.isfinite(value) else end), end, end
    return value, float(kept.min()), float(kept.max())


def kolmogorov_smirnov_p(first: Floats, one_effective: float, other: Floats, other_effective: float) -> float:
    """Return the asymptotic two-sided p of the Kolmogorov-Smirnov test of two samples with these effective sizes."""
    every = np.concatenate([first, other])
    gap = [np.searchsorted(np.sort(sample), every, side="right") / sample.size for sample in (first, other)]
    d = float(np.max(np.abs(gap[0] - gap[1])))
    return float(kolmogorov(d * np.sqrt(one_effective * other_effective / (one_effective + other_effective))))
