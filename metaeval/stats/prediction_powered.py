"""Prediction-powered inference: a share of items, from a score of every item and people's labels of some of them.

`ppi_mean` is the mean of Angelopoulos et al., "PPI++" (arXiv 2311.01453), with its Wald interval, which takes the items
as independent. `share` is what commands print. It has the same estimator, with a lambda that no item's own unit had a
part in (cross-fitting), for any sampling design of known probabilities, and an interval of Wilson's form: with few
labels on one side Wald's covers far less than it says.

Items to label are drawn with the probability of each: simple, stratified, or in proportion to a size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from metaeval.stats.arrays import Floats, Ints, check_codes, check_finite, check_lengths

Estimand = Literal["set", "process"]
"""The population of a share: this set of items, or the source of such items, of which the set is a sample."""

NEEDED_F = 3.0
"""Lambda is shrunk by 1 - NEEDED_F / F, F that of the regression of labels on scores: what is not seen is not used."""


def draw_simple(n_items: int, n: int, seed: int) -> Ints:
    """Return n of n_items item numbers, drawn without replacement in random order.

    Raises ValueError unless 0 <= n <= n_items.
    """
    if not 0 <= n <= n_items:
        raise ValueError(f"the number of items to draw must lie in 0 .. {n_items}, got {n}")
    return np.random.default_rng(seed).permutation(n_items)[:n].astype(np.int64)


def draw_stratified(stratum: Ints, n: int, seed: int) -> tuple[Ints, Floats]:
    """Return n item numbers, (n,), drawn in proportion to the strata's sizes, and each item's probability, (N,).

    stratum: (N,) codes; at least two items (or the only one) of each are drawn. Remainders go to the largest fractions.
    Raises ValueError if n is too small for that, or more than N.
    """
    codes, stratum_of_unit, size = np.unique(stratum, return_inverse=True, return_counts=True)
    least = np.minimum(2, size)
    if not least.sum() <= n <= stratum.size:
        raise ValueError(f"the number of items to draw must lie in {least.sum()} .. {stratum.size}, got {n}")
    wanted = np.maximum(size * n / stratum.size, least)
    count = np.maximum(np.floor(wanted).astype(np.int64), least)
    while step := int(np.sign(n - count.sum())):
        gain = np.where(count + step >= least, step * (wanted - count), -np.inf)
        count[np.argmax(gain)] += step
    random = np.random.default_rng(seed)
    rows = np.concatenate(
        [
            random.permutation(np.flatnonzero(stratum_of_unit == code))[:k]
            for code, k in zip(range(codes.size), count, strict=True)
        ]
    )
    return random.permutation(rows).astype(np.int64), (count / size)[stratum_of_unit]


def draw_in_proportion(size: Floats, n: int, seed: int) -> tuple[Ints, Floats]:
    """Return n item numbers, (n,), drawn in proportion to size (N,), and each item's probability, (N,), at most 1.

    Systematic sampling (Madow 1949) in random order: the number drawn is n and the probabilities are exact. Raises
    ValueError for a size that is not positive, or n above N.
    """
    if not 0 < n <= size.size or not (size > 0).all():
        raise ValueError(f"the number of items to draw must lie in 1 .. {size.size}, got {n}, and all sizes be above 0")
    falling = np.sort(size)[::-1]
    rest = np.cumsum(falling[::-1])[::-1]
    certain = np.count_nonzero(falling * (n - np.arange(size.size)) > rest)  # the largest, each above its proportion
    chance = np.minimum(1, (n - certain) * size / rest[certain])
    random = np.random.default_rng(seed)
    order = random.permutation(size.size)
    ends = np.concatenate([[0.0], np.cumsum(chance[order])])
    ends[-1] = n
    hits = np.floor(ends[1:] - (start := random.random())) > np.floor(ends[:-1] - start)
    return order[hits].astype(np.int64), chance


def ppi_mean(
    label: Floats,
    prediction: Floats,
    unlabelled: Floats,
    weight: Floats | None = None,
    lam: float | None = None,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Return the PPI++ mean with its Wald interval, (value, low, high).

    label, prediction, weight: (n,) of the labelled items; unlabelled: (N,) predictions of others. lam: None for the
    lambda of least variance, clipped to 0 .. 1. Raises ValueError for columns of different lengths.
    """
    weight = np.ones(label.size) if weight is None else weight
    check_lengths(label=label, prediction=prediction, weight=weight)
    n, others = label.size, unlabelled.size
    weight = weight / weight.sum() * n
    if lam is None:
        centre = unlabelled.mean() + np.mean(weight * (label - prediction))
        labelled, guessed = weight * (label - centre), weight * (prediction - centre)
        covariance = np.mean((labelled - labelled.mean()) * (guessed - guessed.mean()))
        variance = np.var(np.concatenate([guessed, unlabelled - centre]), ddof=1)
        lam = float(np.clip(covariance / ((1 + n / others) * variance), 0, 1)) if variance > 0 else 0.0
    rest = weight * (label - lam * prediction)
    value = float(lam * unlabelled.mean() + rest.mean())
    half = ndtri((1 + level) / 2) * np.sqrt(np.var(lam * unlabelled) / others + np.var(rest) / n)
    return value, value - half, value + half


@dataclass(frozen=True, eq=False)
class Sample:
    """The sample of labelled items among N items, and how it was drawn.

    rows: (n,) numbers of the items. probability: (n,) of being drawn, in (0, 1]. unit: (n,) codes of the sampling
    units: the item itself, or its answer where whole answers were drawn. stratum: (n,) codes, the same within a unit.
    """

    rows: Ints
    probability: Floats
    unit: Ints
    stratum: Ints

    @property
    def size(self) -> int:
        """Return the number of labelled items."""
        return int(self.rows.size)


@dataclass(frozen=True, eq=False)
class Share:
    """An estimated share, its interval, and quantities from which intervals of differences are computed.

    variance: of the value. lam: mean lambda, for scores of standard deviation 1. df: of the t quantile. parts: (K,)
    contribution to the error of each sampling unit (set) or cluster (process), by its code. unseen: variance beyond the
    sum of their squares, for errors that do not occur among the labels.
    """

    value: float
    low: float
    high: float
    variance: float
    lam: float
    df: float
    parts: Floats
    unseen: float = 0.0


def share(
    label: Floats,
    score: Floats,
    sample: Sample,
    cluster: Ints,
    estimand: Estimand = "set",
    level: float = 0.95,
    use_scores: bool = True,
    size: Floats | None = None,
) -> Share:
    """Return the mean of labels in 0 .. 1 over N items: label (n,), in the order of `sample.rows`; score, cluster (N,).

    cluster: codes of the answers, whose items are not independent (only read for estimand "process"). use_scores:
    False, like constant scores, gives the interval of the same family from labels alone. size: (N,) weight of each item
    in the mean; None: equal weights. The variance is a jackknife over units (strata kept), or over clusters. A set of
    which all items are labelled with probability 1 has the value as both ends. Raises ValueError for fewer than two
    units, or clusters, with a label.

    For the set, the value is sum(w (y - lam (f - mean f))) / sum(w), w = size / probability, lam without the item's
    unit.
    """
    size = np.ones(score.size) if size is None else size / size.mean()
    check_lengths(score=score, cluster=cluster, size=size)
    check_lengths(
        label=label, rows=sample.rows, probability=sample.probability, unit=sample.unit, stratum=sample.stratum
    )
    check_finite("score", score)
    check_codes("rows", sample.rows, score.size)
    units, unit = np.unique(sample.unit, return_inverse=True)
    weight = size[sample.rows] / sample.probability
    centre = np.average(score, weights=size)
    spread = np.sqrt(np.average((score - centre) ** 2, weights=size))
    census = estimand == "set" and bool((sample.probability >= 1).all())
    known = (score - centre) / spread if use_scores and spread > 0 and not census else np.zeros(score.size)
    predictor = known[sample.rows]
    lam = _lambdas(label, predictor, weight, unit, units.size) if known.any() else np.zeros(units.size)
    rest = label - lam[unit] * predictor
    value = float(np.sum(weight * rest) / weight.sum())
    if estimand == "set":
        parts, df = _design_parts(rest, value, weight, sample, unit, units)
    else:
        in_mean = np.mean(lam) * np.bincount(cluster, size * known) / score.size
        parts, df = _cluster_parts(rest, value, weight, cluster[sample.rows], in_mean)
    if df < 1:
        raise ValueError("an interval takes labels of two sampling units (or clusters) at least")
    variance = float(np.sum(parts**2))
    kish = float(weight.sum() ** 2 / np.sum(weight**2))
    drawn = 1 - float(sample.probability.mean()) if estimand == "set" else 1.0
    # Scores that err on no label may err on others: half an error counts as seen, as `wilson` counts half a label.
    least = 0.5 / kish * (1 - 0.5 / kish) / kish * drawn
    unseen = max(0.0, least - variance) if known.any() and variance > 0 else 0.0
    variance += unseen
    low, high = (value, value) if census else wilson(value, variance, kish, df, level, drawn)
    return Share(value, low, high, variance, float(lam.mean()), df, parts, unseen)


def with_zeros(share: Share, size: Floats, zeros: Floats, estimand: Estimand, level: float) -> Share:
    """Return an estimated share extended to further items whose labels are known to be 0.

    size: (K,) total weight of the items of `share` by cluster; zeros: (K,) that of the further items. level: of the
    interval, as in `share`. A set's share is only scaled; for a process the proportion of zeros is itself estimated
    from the sample of clusters.
    """
    total = size + zeros
    factor = float(size.sum() / total.sum())
    value, parts = share.value * factor, share.parts * factor
    added = 0.0
    if estimand == "process":
        all_parts = np.pad(parts, (0, total.size - parts.size)) + share.value * (size - factor * total) / total.sum()
        added, parts = float(np.sum(all_parts**2) - np.sum(parts**2)), all_parts
    beyond = added * float(stdtrit(share.df, (1 + level) / 2)) ** 2
    centre = min(max(share.value, 0.0), 1.0)
    down, up = (
        float(np.sqrt(max(0.0, (factor * reach) ** 2 + beyond))) for reach in (centre - share.low, share.high - centre)
    )
    return replace(
        share,
        value=value,
        low=max(0.0, centre * factor - down),
        high=min(1.0, centre * factor + up),
        variance=share.variance * factor**2 + added,
        parts=parts,
        unseen=share.unseen * factor**2,
    )


def labels_saved(labels: int, powered: Share, alone: Share, items: int | None = None) -> float:
    """Return how many labels more than `labels` would give the precision of `powered` without scores; 0 if none.

    powered, alone: the estimates with and without scores. items: number of items in the estimated set, which labels
    cannot exceed; None for a process.
    """
    if not 0 < powered.variance < alone.variance:
        return 0.0
    beyond = 1 / items if items else 0.0
    return max(0.0, 1 / (beyond + (1 / labels - beyond) * powered.variance / alone.variance) - labels)


def wilson(value: float, variance: float, n: float, df: float, level: float, drawn: float = 1.0) -> tuple[float, float]:
    """Return Wilson's interval of a share with the number of independent labels that would give this variance.

    n: the number of labels; a share of 0 or 1 is replaced by one that is half a label away. df: of the t quantile in
    place of the normal one. drawn: finite-population factor of the variance used where it is 0 (all labels equal).
    """
    share = min(max(value, 0.0), 1.0)
    inner = min(max(share, 0.5 / n), 1 - 0.5 / n)
    if variance <= 0:
        variance = inner * (1 - inner) / n * drawn
    if variance <= 0:
        return share, share
    alike = inner * (1 - inner) / variance / stdtrit(df, (1 + level) / 2) ** 2
    centre = (share + 0.5 / alike) / (1 + 1 / alike)
    half = np.sqrt(share * (1 - share) / alike + 0.25 / alike**2) / (1 + 1 / alike)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _lambdas(label: Floats, predictor: Floats, weight: Floats, unit: Ints, n_units: int) -> Floats:
    """Return each unit's lambda, (U,), from the other units' labels: slope on standardised scores, shrunk by its F."""

    def others(values: Floats) -> Floats:
        return np.asarray(values.sum() - np.bincount(unit, values, n_units))

    total, squared = others(weight), others(weight**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, base = others(weight * label) / total, others(weight * predictor) / total
        covariance = others(weight * label * predictor) / total - mean * base
        spread = others(weight * predictor**2) / total - base**2
        varied = others(weight * label**2) / total - mean**2
        explained = np.clip(covariance**2 / (spread * varied), 0, 1 - 1e-9)
        f = explained / (1 - explained) * np.maximum(total**2 / squared - 2, 0)
        lam = covariance * np.clip(1 - NEEDED_F / f, 0, 1)
    return np.where(np.minimum(spread, varied) > 1e-12, lam, 0.0)


def _design_parts(
    rest: Floats, value: float, weight: Floats, sample: Sample, unit: Ints, units: Ints
) -> tuple[Floats, float]:
    """Return each sampling unit's contribution to the error, (K,) by its code, and the degrees of freedom, or 0."""
    n_units = units.size
    stratum = np.zeros(n_units, dtype=np.int64)
    stratum[unit] = np.unique(sample.stratum, return_inverse=True)[1]
    counts = np.bincount(stratum)
    if (counts == 1).any():  # a stratum of one unit shows no variance: such strata stand together
        stratum = np.where(counts[stratum] == 1, counts.size, stratum)
        stratum = np.unique(stratum, return_inverse=True)[1]
        counts = np.bincount(stratum)
        if (counts == 1).any():
            stratum[:] = 0
            counts = np.bincount(stratum)
    heavy, summed = np.bincount(unit, weight, n_units), np.bincount(unit, weight * rest, n_units)
    here, sums = np.bincount(stratum, heavy), np.bincount(stratum, summed)
    k = counts[stratum]
    scale = k / np.maximum(k - 1, 1)
    left = weight.sum() - here[stratum] + scale * (here[stratum] - heavy)
    without = (np.sum(weight * rest) - sums[stratum] + scale * (sums[stratum] - summed)) / np.where(left > 0, left, 1)
    chance = np.zeros(n_units)
    chance[unit] = sample.probability
    parts = np.zeros(int(units[-1]) + 1)
    parts[units] = np.sqrt((k - 1) / k * (1 - chance)) * (value - without)
    return parts, _freedom(heavy, counts.size) if n_units > counts.size else 0


def _freedom(heavy: NDArray[Any], strata: int = 1) -> float:
    """Return the degrees of freedom (Satterthwaite) of a variance over units of these weights.

    A unit's part has a variance that grows with its weight where its labels are independent, and with the square of it
    where they are all equal; half way between is taken. Units of small weight add little.
    """
    spread = heavy**1.5
    return max(1.0, float(spread.sum() ** 2 / np.sum(spread**2)) - strata)


def _cluster_parts(rest: Floats, value: float, weight: Floats, cluster: Ints, in_mean: Floats) -> tuple[Floats, float]:
    """Return each cluster's contribution to the error, (K,), and the degrees of freedom, 0 below two labelled clusters.

    cluster: that of each labelled row. in_mean: (K,) contributions of the mean score of all items.
    """
    heavy = np.bincount(cluster, weight, in_mean.size)
    labelled = heavy > 0
    k = int(labelled.sum())
    if k < 2:
        return in_mean, 0
    error = np.bincount(cluster, weight * (rest - value), in_mean.size)
    parts = np.sqrt((k - 1) / k) * (error / (weight.sum() - heavy) + in_mean)
    return parts, _freedom(heavy[labelled])


def difference(left: Share, other: Share) -> tuple[float, float, float]:
    """Return `left` minus `other` with its interval, (value, low, high); `parts` of one index are of the same unit.

    The interval is computed from the ends of the two intervals and the correlation of the units' contributions
    (Newcombe 1998, method 10; MOVER, Zou and Donner 2008), so that errors that no label shows count as there.
    """
    size = max(left.parts.size, other.parts.size)
    both = [np.pad(each.parts, (0, size - each.parts.size)) for each in (left, other)]
    scale = np.sqrt(left.variance * other.variance)
    alike = float(np.clip(both[0] @ both[1] / scale, -1, 1)) if scale > 0 else 0.0
    first, second = (min(max(each.value, 0.0), 1.0) for each in (left, other))

    def reach(mine: float, others: float) -> float:
        return float(np.sqrt(max(0.0, mine**2 - 2 * alike * mine * others + others**2)))

    value = first - second
    low = value - reach(first - left.low, other.high - second)
    return value, low, value + reach(left.high - first, second - other.low)
