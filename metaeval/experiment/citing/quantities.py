"""Statistics of a set of answers under the heading of their column; what they compute is in `citation.measures`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation import measures
from metaeval.citation.measures import (
    Interval,
    Share,
    Statistic,
    groups_with_value,
    interval_of,
    interval_over,
    replicates,
)
from metaeval.report.result import Column

__all__ = [
    "Interval",
    "Quantity",
    "f1_of",
    "groups_with_value",
    "interval_of",
    "interval_over",
    "macro_of",
    "mean_of",
    "micro_of",
    "replicates",
    "variation_of",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantity(Statistic):
    """A statistic with its column: key, heading, and how it is printed."""

    column: Column


def mean_of(column: Column, values: Sequence[float | None]) -> Quantity:
    """The mean over the answers that have a value."""
    return _under(column, measures.means(values))


def macro_of(column: Column, shares: Sequence[Share]) -> Quantity:
    """The mean over answers of each answer's share."""
    return _under(column, measures.macro(shares))


def micro_of(column: Column, shares: Sequence[Share]) -> Quantity:
    """The share over all answers together."""
    return _under(column, measures.micro(shares))


def f1_of(column: Column, recall: Quantity, precision: Quantity) -> Quantity:
    """The harmonic mean of two ratios."""
    return _under(column, measures.harmonic(recall, precision))


def variation_of(column: Column, numbers: Sequence[Sequence[float]]) -> Quantity:
    """The coefficient of variation of numbers pooled over answers."""
    return _under(column, measures.variation(numbers))


def _under(column: Column, statistic: Statistic) -> Quantity:
    return Quantity(column=column, moments=statistic.moments, of=statistic.of)
