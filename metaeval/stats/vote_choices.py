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
"""Choices that are tried at each end where votes take more than two values."""


@dataclass(frozen=True, eq=False)
class GoldVotes:
    """The votes that a gold is made of, (n, A), NaN where an annotator gave none. of: votes -> gold, (n,)."""

    values: Floats
    of: Callable[[Floats], Floats]

    def is_gold(self, gold: Floats) -> bool:
        """Return whether the gold, (n,), follows from the votes wherever there are any."""
        voted = ~np.isnan(self.values).all(axis=1)
        return bool(voted.any() and np.allclose(self.of(self.values[voted]), gold[voted]))

    def without(self, annotator: int, gold: Floats) -> Floats:
        """Return the gold, (n,), without the votes of one annotator; NaN where nobody else voted."""
        changed, voted = gold.copy(), ~np.isnan(self.values[:, annotator])
        others = np.delete(self.values[voted], annotator, axis=1)
        known = ~np.isnan(others).all(axis=1)
        changed[voted] = np.nan
        changed[np.flatnonzero(voted)[known]] = self.of(others[known])
        return changed

    def rows(self, keep: NDArray[np.bool_ | np.int64]) -> GoldVotes:
        """Return the votes on some rows."""
        return replace(self, values=self.values[keep])


def votes_of_gold(votes: Floats, gold: Floats, cut: float | None) -> GoldVotes | None:
    """Return the votes, (n, A), with the mean or the median, whichever gives the gold.

    None where neither does, or for a single annotator. cut: the gold is 1 where the average is at least `cut`, else 0;
    None: it is the average.
    """
    for average in (np.nanmean, np.nanmedian):
        gold_votes = GoldVotes(votes, lambda some, of=average: _cut(of(some, axis=1), cut))  # type: ignore[misc]
        if votes.shape[1] > 1 and gold_votes.is_gold(gold):
            return gold_votes
    return None


def _cut(values: Floats, cut: float | None) -> Floats:
    return values if cut is None else np.asarray((values >= cut).astype(np.float64))


class Range(NamedTuple):
    """The smallest and the largest value of a measure over choices of votes. exact: over all, else over some."""

    low: float
    high: float
    exact: bool


def measured(measure: Measure, score: Floats, label: Floats) -> float:
    """Return a measure of scores on labels, (n,) each; NaN where undefined.

    area: the probability that of two items the one with the higher label scores higher (ROC-AUC for two labels).
    """
    alone = np.zeros(score.size, dtype=np.int64)
    if measure == "area":
        return value(concordance(score, label, alone, 1), 1)
    return float(rank_correlations(score, label, alone, 1).evaluate(np.ones((1, 1), dtype=np.uint8))[0, 0])


def identified(measure: Measure, votes: Floats, first: Floats, other: Floats | None = None) -> Range:
    """Return the range over the votes of a measure of the scores `first` (n,), minus that of `other` if there is one.

    votes: (n, A), NaN where an annotator gave none, with one or more in each row. Exact where they take two values;
    else choices are tried that take the higher votes of the items above a cut, and the lower ones of the others, and
    the range reaches at least as far. NaN where no choice defines the measure.
    """
    low, high = np.nanmin(votes, axis=1), np.nanmax(votes, axis=1)
    weight = _weight(measure, first) - (0.0 if other is None else _weight(measure, other))
    if is_binary(votes):
        offset = 0.5 if measure == "area" and other is None else 0.0
        ends = [_largest(measure, sign * weight, low, high) for sign in (1.0, -1.0)]
        return Range(offset - ends[1], offset + ends[0], True)
    tried = [
        measured(measure, first, labels) - (0.0 if other is None else measured(measure, other, labels))
        for sign in (1.0, -1.0)
        for labels in _choices(sign * weight, low, high)
    ]
    defined = [value for value in tried if not np.isnan(value)]
    return Range(min(defined, default=np.nan), max(defined, default=np.nan), False)


def drawn(measure: Measure, votes: Floats, scores: Floats, draws: int, seed: int) -> Floats:
    """Return a measure of M metrics under random choices of one vote for each item: (M, draws).

    scores: (M, n) without gaps; votes as in `identified`. The same choices for every metric.
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
            values[:, draw] = [measured(measure, score, labels) for score in scores]
    return values + (0.5 if measure == "area" and is_binary(votes) else 0.0)


def is_binary(votes: Floats) -> bool:
    """Return whether the votes take two values, or one."""
    return bool(np.unique(votes[~np.isnan(votes)]).size <= 2)


def _weight(measure: Measure, score: Floats) -> Floats:
    """Return how much an item adds to the measure's numerator if it takes the higher vote."""
    centred = midranks(score) - (score.size + 1) / 2
    if measure == "area":
        return np.asarray(centred)
    spread = float(centred.std())
    return np.asarray(centred / spread) if spread > 0 else np.full(score.size, np.nan)


def _norm(measure: Measure, positive: Floats, n: int) -> Floats:
    pairs = positive * (n - positive)
    return pairs if measure == "area" else np.sqrt(pairs)


def _largest(measure: Measure, weight: Floats, low: Floats, high: Floats) -> float:
    """Return the largest value of the measure over the numbers of open items that take the higher vote."""
    sure, free = low == high.max(), low < high
    gains = np.sort(weight[free])[::-1]
    total = weight[sure].sum() + np.append(0.0, np.cumsum(gains))
    values = ratio(total, _norm(measure, np.count_nonzero(sure) + np.arange(gains.size + 1.0), low.size))
    return float(np.nanmax(values)) if (~np.isnan(values)).any() else np.nan


def _choices(weight: Floats, low: Floats, high: Floats) -> Iterator[Floats]:
    order = np.argsort(-weight, kind="stable")
    for cut in np.unique(np.linspace(0, order.size, CUTS + 1).astype(np.int64)):
        labels = low.copy()
        labels[order[:cut]] = high[order[:cut]]
        yield labels
