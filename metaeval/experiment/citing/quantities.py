"""Quantities of a set of answers that are functions of sums over answers, so that a resample only weighs groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.measures import Share, macro, means, micro
from metaeval.report.result import Column
from metaeval.stats.arrays import group_totals, ratio, weighted_sums
from metaeval.stats.resampling import Draws, Prepared, Tile, percentile_interval, replicate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Quantity:
    """moments: (n, K), what each answer adds to K sums. of: sums (K, R) to values (R,), NaN where undefined.

    column: key, heading, and how it is printed.
    """

    column: Column
    moments: Floats
    of: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its percentile interval; None where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


def mean_of(column: Column, values: Sequence[float | None]) -> Quantity:
    """The mean over the answers that have a value."""
    return _ratio(column, means(values))


def macro_of(column: Column, shares: Sequence[Share]) -> Quantity:
    """The mean over answers of each answer's share."""
    return _ratio(column, macro(shares))


def micro_of(column: Column, shares: Sequence[Share]) -> Quantity:
    """The share over all answers together."""
    return _ratio(column, micro(shares))


def f1_of(column: Column, recall: Quantity, precision: Quantity) -> Quantity:
    """The harmonic mean of two ratios; 0 where both are 0."""

    def of(sums: Floats) -> Floats:
        one, other = ratio(sums[0], sums[1]), ratio(sums[2], sums[3])
        # Both 0 is a known failure, and no missing value.
        return np.where(one + other == 0, 0.0, ratio(2 * one * other, one + other))

    return Quantity(column, np.concatenate((recall.moments, precision.moments), axis=1), of)


def variation_of(column: Column, offsets: Sequence[Sequence[float]]) -> Quantity:
    """Population standard deviation over mean of numbers pooled over answers; offsets: each answer's numbers."""
    moments = np.array([[len(own), sum(own), sum(x * x for x in own)] for own in offsets], dtype=np.float64)

    def of(sums: Floats) -> Floats:
        mean, square = ratio(sums[1], sums[0]), ratio(sums[2], sums[0])
        return ratio(np.sqrt(np.maximum(square - mean**2, 0)), mean)

    return Quantity(column, moments.reshape(len(offsets), 3), of)


def replicates(quantity: Quantity, rows: Ints, group: Ints, draws: Draws) -> Floats:
    """The quantity of some answers under each weighting of the groups, (R,), the input itself first.

    rows: numbers of the answers. group: (n,) codes of all answers.
    """
    sums = _by_group(quantity, rows, group, draws.n_groups)

    def evaluate(tile: Tile) -> Floats:
        return quantity.of(weighted_sums(sums, tile))

    return replicate(Prepared(evaluate, int(np.unique(group[rows]).size)), draws)


def groups_with_value(quantity: Quantity, rows: Ints, group: Ints) -> int:
    """How many groups have the quantity by themselves; of one alone, resampling only repeats the value."""
    codes = np.unique(group[rows])
    if not codes.size:
        return 0
    alone = _by_group(quantity, rows, group, int(codes[-1]) + 1)[codes]
    return int((~np.isnan(quantity.of(alone.T))).sum())


def interval_over(quantity: Quantity, rows: Ints, group: Ints, draws: Draws, level: float) -> Interval:
    """The quantity of some answers, with its interval; without one where fewer than two groups have a value."""
    values = replicates(quantity, rows, group, draws)
    return interval_of(values if groups_with_value(quantity, rows, group) > 1 else values[:1], level)


def interval_of(values: Floats, level: float) -> Interval:
    """The value on the input, and the interval of the resamples behind it."""
    if np.isnan(values[0]):
        return Interval(None)
    ends = percentile_interval(values[1:], level) if values.size > 1 else None
    return Interval(float(values[0]), *(ends or (None, None)))


def _by_group(quantity: Quantity, rows: Ints, group: Ints, n_groups: int) -> Floats:
    """The sums of some answers in each group, (n_groups, K)."""
    return np.stack([group_totals(moment[rows], group[rows], n_groups) for moment in quantity.moments.T], axis=1)


def _ratio(column: Column, parts: tuple[Floats, Floats]) -> Quantity:
    return Quantity(column, np.stack(parts, axis=1), lambda sums: ratio(sums[0], sums[1]))
