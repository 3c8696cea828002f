"""The effect of disagreeing annotators: the range of a metric's value over their votes, and of its rank.

A choice takes one of the votes for each item. The values under all choices are what the votes identify of a measure
(Manski, "Partial Identification of Probability Distributions", 2003).

With two values of the votes, ROC-AUC and Spearman's rho are, for a given number P of the n items that take the higher
one, linear in which these are: the sum of their centred ranks over P (n - P), and of their standardised ranks over the
square root of P (n - P). So is the difference of two metrics. The best choice for each P therefore takes the open items
with the largest weights, and the best of these choices is the best of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Floats, ratio
from metaeval.stats.correlations import concordance, rank_correlations
from metaeval.stats.resampling import value
from metaeval.stats.ties import midranks

Measure = Literal["area", "spearman"]

CUTS = 100
"""Cuts at which choices are tried, for each end of the range, where votes take more than two values."""


@dataclass(frozen=True, eq=False)
class GoldVotes:
    """Votes of A annotators on n items, (n, A), NaN for none, and `of`, a function from votes (m, A) to gold (m,)."""

    values: Floats
    of: Callable[[Floats], Floats]

    def is_gold(self, gold: Floats) -> bool:
        """Return whether the gold, (n,), follows from the votes of every item that has any; False if none has."""
        voted = ~np.isnan(self.values).all(axis=1)
        return bool(voted.any() and np.allclose(self.of(self.values[voted]), gold[voted]))

    def without(self, annotator: int, gold: Floats) -> Floats:
        """Return the gold, (n,), made without annotator number `annotator`'s votes; NaN where nobody else voted."""
        changed, voted = gold.copy(), ~np.isnan(self.values[:, annotator])
        others = np.delete(self.values[voted], annotator, axis=1)
        known = ~np.isnan(others).all(axis=1)
        changed[voted] = np.nan
        changed[np.flatnonzero(voted)[known]] = self.of(others[known])
        return changed

    def rows(self, keep: NDArray[np.bool_ | np.int64]) -> GoldVotes:
        """Return the votes on some items. keep: a mask (n,), or item numbers."""
        return replace(self, values=self.values[keep])


def votes_of_gold(votes: Floats, gold: Floats, cut: float | None) -> GoldVotes | None:
    """Return the votes, (n, A), with the function that makes the gold, (n,), of them: the mean or else the median.

    None where neither gives the gold, or for a single annotator. cut: the gold is 1 where the average is at least
    `cut`, else 0; None: it is the average.
    """
    for average in (np.nanmean, np.nanmedian):
        gold_votes = GoldVotes(votes, lambda some, of=average: _cut(of(some, axis=1), cut))  # type: ignore[misc]
        if votes.shape[1] > 1 and gold_votes.is_gold(gold):
            return gold_votes
    return None


def _cut(values: Floats, cut: float | None) -> Floats:
    return values if cut is None else np.asarray((values >= cut).astype(np.float64))


class Range(NamedTuple):
    """The smallest and the largest value of a measure over all choices of votes (exact), or over some (not exact)."""

    low: float
    high: float
    exact: bool


def measure_value(measure: Measure, score: Floats, label: Floats) -> float:
    """Return a measure of scores on labels, (n,) each; NaN for constant labels, and for spearman constant scores.

    area: the probability that of two items the one with the higher label scores higher (ROC-AUC for two labels).
    """
    alone = np.zeros(score.size, dtype=np.int64)
    if measure == "area":
        return value(concordance(score, label, alone, 1), 1)
    return float(rank_correlations(score, label, alone, 1).evaluate(np.ones((1, 1), dtype=np.uint8))[0, 0])


def range_over_votes(measure: Measure, votes: Floats, first: Floats, other: Floats | None = None) -> Range:
    """Return the range of a measure over all choices of one vote per item: of `first`, or of `first` minus `other`.

    first, other: (n,) scores. votes: (n, A), NaN where an annotator gave none, with one or more in each row. The range
    is exact where votes take two values. Else choices are tried that take the highest vote of the items above a cut and
    the lowest of those below, and the true range may be wider. NaN where no choice defines the measure.
    """
    low, high = np.nanmin(votes, axis=1), np.nanmax(votes, axis=1)
    weight = _weight(measure, first) - (0.0 if other is None else _weight(measure, other))
    if is_binary(votes):
        offset = 0.5 if measure == "area" and other is None else 0.0
        ends = [_largest(measure, sign * weight, low, high) for sign in (1.0, -1.0)]
        return Range(offset - ends[1], offset + ends[0], True)
    tried = [
        measure_value(measure, first, labels) - (0.0 if other is None else measure_value(measure, other, labels))
        for sign in (1.0, -1.0)
        for labels in _choices(sign * weight, low, high)
    ]
    defined = [value for value in tried if not np.isnan(value)]
    return Range(min(defined, default=np.nan), max(defined, default=np.nan), False)


def values_of_random_votes(measure: Measure, votes: Floats, scores: Floats, draws: int, seed: int) -> Floats:
    """Return a measure of M metrics under random choices of one vote for each item: (M, draws).

    scores: (M, n) without NaN. votes: (n, A), NaN where an annotator gave none. All metrics see the same choices.
    """
    generator = np.random.default_rng([seed, 3])
    there = ~np.isnan(votes)
    # The votes of each item first, then nothing.
    packed = np.take_along_axis(votes, np.argsort(~there, axis=1, kind="stable"), axis=1)
    number, rows = there.sum(axis=1), np.arange(len(votes))
    weights = np.stack([_weight(measure, score) for score in scores])
    values = np.empty((len(scores), draws))
    for draw in range(draws):
        labels = packed[rows, (generator.random(number.size) * number).astype(np.int64)]
        if is_binary(votes):
            top = labels == np.nanmax(votes)
            norm = _norm(measure, np.array([float(top.sum())]), number.size)
            values[:, draw] = ratio((weights * top).sum(axis=1), np.repeat(norm, len(scores)))
        else:
            values[:, draw] = [measure_value(measure, score, labels) for score in scores]
    return values + (0.5 if measure == "area" and is_binary(votes) else 0.0)


def is_binary(votes: Floats) -> bool:
    """Return whether the votes take at most two distinct values; NaN does not count."""
    return bool(np.unique(votes[~np.isnan(votes)]).size <= 2)


def _weight(measure: Measure, score: Floats) -> Floats:
    """Return how much each item adds to the measure's numerator if it takes the higher vote, (n,); NaN if undefined."""
    centred = midranks(score) - (score.size + 1) / 2
    if measure == "area":
        return np.asarray(centred)
    spread = float(centred.std())
    return np.asarray(centred / spread) if spread > 0 else np.full(score.size, np.nan)


def _norm(measure: Measure, positive: Floats, n: int) -> Floats:
    pairs = positive * (n - positive)
    return pairs if measure == "area" else np.sqrt(pairs)


def _largest(measure: Measure, weight: Floats, low: Floats, high: Floats) -> float:
    """Return the measure's largest value over choices between low and high, (n,) each, of two vote values; or NaN."""
    sure, free = low == high.max(), low < high
    gains = np.sort(weight[free])[::-1]
    total = weight[sure].sum() + np.append(0.0, np.cumsum(gains))
    values = ratio(total, _norm(measure, np.count_nonzero(sure) + np.arange(gains.size + 1.0), low.size))
    return float(np.nanmax(values)) if (~np.isnan(values)).any() else np.nan


def _choices(weight: Floats, low: Floats, high: Floats) -> Iterator[Floats]:
    """Yield labels, (n,), that are high for the items of largest weight and low for all others, at up to 101 cuts."""
    order = np.argsort(-weight, kind="stable")
    for cut in np.unique(np.linspace(0, order.size, CUTS + 1).astype(np.int64)):
        labels = low.copy()
        labels[order[:cut]] = high[order[:cut]]
        yield labels
