"""Systems side by side: values with intervals, ranks under several backends, pairs that change order, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from metaeval.citation import measures
from metaeval.citation.model import Answer
from metaeval.stats.agreement import pair_signs, rank_agreement
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import Draws, bootstrap


@dataclass(frozen=True, eq=False)
class Panel:
    """Answers of one or more systems, as resampling sees them.

    systems: names, sorted. system, group: (n,) codes of each answer. n_groups: that are there, or may be.
    """

    answers: Sequence[Answer]
    systems: Sequence[str]
    system: Ints
    group: Ints
    n_groups: int
    resampling: Resampling

    @property
    def draws(self) -> Draws:
        """Resamples of the groups, the same for every system and backend."""
        return bootstrap(self.n_groups, self.resampling.n, self.resampling.seed)

    def rows(self, system: int) -> Ints:
        """The numbers of a system's answers."""
        return np.flatnonzero(self.system == system)

    def values(self, statistic: measures.Statistic, system: int) -> Floats:
        """A statistic of one system under each weighting, (R,), the input itself first."""
        return measures.replicates(statistic, self.rows(system), self.group, self.draws)

    def interval(self, statistic: measures.Statistic, system: int) -> measures.Interval:
        """A statistic of one system, with its interval; none from a single group that has a value."""
        return self.interval_over(statistic, self.rows(system))

    def ends(
        self, statistics: Mapping[str, measures.Statistic], system: int
    ) -> dict[str, tuple[float | None, float | None, float | None]]:
        """Statistics of one system, each with the ends of its interval, by their names."""
        return {name: self.interval(statistic, system).ends for name, statistic in statistics.items()}

    def interval_over(self, statistic: measures.Statistic, rows: Ints) -> measures.Interval:
        """A statistic of some answers, with its interval; without one where fewer than two groups have a value."""
        return measures.interval_over(statistic, rows, self.group, self.n_groups, self.resampling)


def panel_of(answers: Sequence[Answer], resampling: Resampling) -> Panel:
    """The answers with their systems and groups."""
    return Panel(answers, *measures.system_codes(answers), *measures.group_codes(answers), resampling)


def values_of(panel: Panel, statistics: Sequence[measures.Statistic], alone: bool = True) -> Floats:
    """Statistics of every system under each weighting, (statistics, systems, R).

    alone: keep the resamples where one group alone has a value, which they only repeat; else they are NaN.
    """
    found = np.array([[panel.values(one, system) for system in range(len(panel.systems))] for one in statistics])
    for number, system in () if alone else np.ndindex(found.shape[:2]):
        if measures.groups_with_value(statistics[number], panel.rows(system), panel.group) < 2:
            found[number, system, 1:] = np.nan
    return found


@dataclass(frozen=True, eq=False)
class Rankings:
    """Values of systems under several backends.

    values: of every backend, system and weighting by measure, (backends, systems, R). labels: of the measures. shares:
    of measures that are means over answers, the share of each answer under each backend. by_pair: how far the rankings
    agree is told backends by backends, not measure by measure.
    """

    panel: Panel
    backends: Sequence[str]
    values: Mapping[str, Floats]
    labels: Mapping[str, str]
    shares: Mapping[str, Sequence[Sequence[measures.Share]]] = field(default_factory=dict)
    by_pair: bool = False

    @property
    def comparable(self) -> bool:
        """Whether there are two backends, two systems and a value."""
        return len(self.backends) > 1 and len(self.panel.systems) > 1 and bool(self.values)


@dataclass(frozen=True)
class Agreement:
    """Two backends' rankings of the systems under one measure: Kendall's tau-b, and pairs of systems in other order."""

    measure: str
    one: str
    other: str
    tau: measures.Interval
    flips: measures.Interval
    pairs: int


@dataclass(frozen=True)
class Cause:
    """What an answer adds to a reversal, in the measure's units; `value_one`, `value_other` are its own values."""

    answer: str
    system: str
    value_one: float | None
    value_other: float | None
    adds: float


@dataclass(frozen=True)
class Flip:
    """Two systems, `ahead` better than `behind` under the backend `one`, and worse under `other`.

    lead, reversed_lead: ahead's value less behind's under the one and the other. share_of_resamples: those that order
    the two in opposite ways (None: there are none). causes: the five answers that add most to lead - reversed_lead,
    which is the sum over all answers; none for a measure that is no mean over answers.
    """

    measure: str
    one: str
    other: str
    ahead: str
    behind: str
    lead: float
    reversed_lead: float
    share_of_resamples: float | None
    causes: tuple[Cause, ...]


def agreements(found: Rankings) -> list[Agreement]:
    """Every two backends' rankings under each measure; nothing with one backend or one system."""
    if not found.comparable:
        return []
    systems = len(found.panel.systems)
    # One group alone is drawn again and again: no interval.
    shown = slice(None) if found.panel.n_groups > 1 else slice(1)
    made = []
    pairs = list(product(found.values.items(), combinations(range(len(found.backends)), 2)))
    for (measure, values), (i, j) in sorted(pairs, key=lambda each: each[1]) if found.by_pair else pairs:
        tau, count = (
            measures.interval_of(each[shown], found.panel.resampling.level)
            for each in rank_agreement(values[i], values[j])
        )
        names = found.backends[i], found.backends[j]
        made.append(Agreement(measure, *names, tau, count, systems * (systems - 1) // 2))
    return made


def flips(found: Rankings) -> list[Flip]:
    """The pairs of systems that two backends order in opposite ways; nothing with one backend or one system."""
    if not found.comparable:
        return []
    made = []
    systems, backends = found.panel.systems, found.backends
    for (measure, values), (i, j) in product(found.values.items(), combinations(range(len(backends)), 2)):
        signs, others = pair_signs(values[i]), pair_signs(values[j])
        for pair, (a, b) in enumerate(combinations(range(len(systems)), 2)):
            if not signs[pair, 0] * others[pair, 0] < 0:
                continue
            ahead, behind = (a, b) if signs[pair, 0] > 0 else (b, a)
            lead, turned = (float(values[one, ahead, 0] - values[one, behind, 0]) for one in (i, j))
            resampled = signs[pair, 1:] * others[pair, 1:]
            share = float(np.mean(resampled < 0)) if resampled.size else None
            causes = tuple(one for one in parts(found, measure, (i, j), (ahead, behind))[:5] if one.adds > 0)
            named = (measure, backends[i], backends[j], systems[ahead], systems[behind])
            made.append(Flip(*named, lead, turned, share, causes))
    return made


def parts(found: Rankings, measure: str, backends: tuple[int, int], systems: tuple[int, int]) -> list[Cause]:
    """What each answer adds, most first: the change of its part in its system's mean; none without shares."""
    if measure not in found.shares:
        return []
    before, after = (found.shares[measure][backend] for backend in backends)
    causes = []
    for system, sign in zip(systems, (1.0, -1.0), strict=True):
        rows = found.panel.rows(system).tolist()
        counted = [sum(shares[row].value is not None for row in rows) for shares in (before, after)]
        for row in rows:
            values, answer = (before[row].value, after[row].value), found.panel.answers[row]
            own = [0.0 if value is None else value / count for value, count in zip(values, counted, strict=True)]
            causes.append(Cause(answer.id, answer.system, *values, sign * (own[0] - own[1])))
    return sorted(causes, key=lambda cause: (-cause.adds, cause.answer))


def ranks(values: Floats) -> list[int | None]:
    """Rank of each system, 1 the best, from values (m,); equal ones share the better rank, undefined have none."""
    better = np.zeros(values.size, dtype=np.int64)
    signs = pair_signs(values[:, None])
    for (one, other), (sign,) in zip(combinations(range(values.size), 2), signs, strict=True):
        better[other] += sign > 0
        better[one] += sign < 0
    return [None if np.isnan(value) else 1 + int(above) for value, above in zip(values, better, strict=True)]
