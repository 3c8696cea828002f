"""Statistics of answers under the headings of their columns, by system; what they compute is in `citation.measures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation import measures
from metaeval.citation.measures import Interval, Share, Statistic, group_codes, interval_over, replicates, system_codes
from metaeval.citation.model import Answer
from metaeval.config import IntervalConfig
from metaeval.report.citation.layout import Ends, Entry
from metaeval.report.result import Column
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.resampling import Draws, bootstrap


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantity(Statistic):
    """A statistic with its column: key, heading, and how it is printed."""

    column: Column


@dataclass(frozen=True, eq=False)
class Panel:
    """Answers of one or more systems, as resampling sees them.

    systems: names, sorted. system, group: (n,) codes of each answer. draws: weightings of the groups, the same for
    every system and backend.
    """

    answers: Sequence[Answer]
    systems: Sequence[str]
    system: Ints
    group: Ints
    draws: Draws
    level: float

    def rows(self, system: int) -> Ints:
        """The numbers of a system's answers."""
        return np.flatnonzero(self.system == system)

    def values(self, quantity: Quantity, system: int) -> Floats:
        """A quantity of one system under each weighting, (R,), the input itself first."""
        return replicates(quantity, self.rows(system), self.group, self.draws)

    def interval(self, quantity: Quantity, system: int) -> Interval:
        """A quantity of one system, with its interval; none from a single group that has a value."""
        return self.interval_over(quantity, self.rows(system))

    def ends(self, quantities: Sequence[Quantity], system: int) -> dict[str, Ends]:
        """Quantities of one system with their intervals, by the key of their column."""
        return {quantity.column.key: self.interval(quantity, system).ends for quantity in quantities}

    def entries(self, backend: str, quantities: Sequence[Quantity]) -> list[Entry]:
        """The quantities of every system under a backend (empty: no verdict is needed)."""
        return [Entry(name, backend, self.ends(quantities, system)) for system, name in enumerate(self.systems)]

    def interval_over(self, quantity: Quantity, rows: Ints) -> Interval:
        """A quantity of some answers, with its interval; without one where fewer than two groups have a value."""
        return interval_over(quantity, rows, self.group, self.draws, self.level)


def panel_of(answers: Sequence[Answer], interval: IntervalConfig) -> Panel:
    """The answers with their systems, groups and draws."""
    systems, system = system_codes(answers)
    group, n_groups = group_codes(answers)
    draws = bootstrap(n_groups, interval.resamples, interval.seed)
    return Panel(answers, systems, system, group, draws, interval.level)


def mean_of(column: Column, values: Sequence[float | None]) -> Quantity:
    """The mean over the answers that have a value."""
    return under(column, measures.means(values))


def macro_of(column: Column, shares: Sequence[Share]) -> Quantity:
    """The mean over answers of each answer's share."""
    return under(column, measures.macro(shares))


def micro_of(column: Column, shares: Sequence[Share]) -> Quantity:
    """The share over all answers together."""
    return under(column, measures.micro(shares))


def by_key(quantities: Sequence[Quantity]) -> Mapping[str, Quantity]:
    """Quantities by the key of their column."""
    return {quantity.column.key: quantity for quantity in quantities}


def under(column: Column, statistic: Statistic) -> Quantity:
    """A statistic under the heading of a column."""
    return Quantity(column=column, moments=statistic.moments, of=statistic.of)
