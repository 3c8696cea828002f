"""Compare systems: values with intervals, ranks under several backends, rank reversals and their causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from metaeval.citation import measures
from metaeval.citation.data_model import Answer
from metaeval.stats.agreement import pair_signs, rank_agreement
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import Draws, bootstrap


@dataclass(frozen=True, eq=False)
class SystemPanel:
    """Answers of one or more systems, with what is needed to resample statistics of them; it holds no statistics.

    systems: names, sorted. system, group: (n,) codes of each answer. n_groups: number of groups, which resampling
    draws. resampling: number of resamples, seed, and level of the intervals.
    """

    answers: Sequence[Answer]
    systems: Sequence[str]
    system: Ints
    group: Ints
    n_groups: int
    resampling: Resampling

    @property
    def draws(self) -> Draws:
        """The resamples of the groups, the same for every system and backend."""
        return bootstrap(self.n_groups, self.resampling.n, self.resampling.seed)

    def rows(self, system: int) -> Ints:
        """Return the indices of a system's answers."""
        return np.flatnonzero(self.system == system)

    def values(self, statistic: measures.Statistic, system: int) -> Floats:
        """Return a statistic of one system under each weighting, (R,), the input itself first."""
        return measures.replicates(statistic, self.rows(system), self.group, self.draws)

    def ends(
        self, statistics: Mapping[str, measures.Statistic], system: int
    ) -> dict[str, tuple[float | None, float | None, float | None]]:
        """Return statistics of one system, each with the ends of its interval, by name."""
        rows = self.rows(system)
        return {name: self.interval_over(statistic, rows).ends for name, statistic in statistics.items()}

    def interval_over(self, statistic: measures.Statistic, rows: Ints) -> measures.ValueInterval:
        """Return a statistic of some answers; without an interval where fewer than two groups have a value."""
        return measures.interval_over(statistic, rows, self.group, self.n_groups, self.resampling)

    def of_samples(self, rows: Ints, value: Callable[[Ints], float | None]) -> list[float]:
        """Return the value of these answers in each sample that has one; empty for fewer than two samples.

        value: returns that of some of the answers, by their indices.
        """
        by_sample: dict[int | None, list[int]] = {}
        for row in rows.tolist():
            by_sample.setdefault(self.answers[row].sample, []).append(row)
        values = [value(np.array(sample)) for sample in by_sample.values()] if len(by_sample) > 1 else []
        return [known for known in values if known is not None]


def panel_of(answers: Sequence[Answer], resampling: Resampling) -> SystemPanel:
    """Return the answers prepared for resampling, with the codes of their systems and groups."""
    return SystemPanel(answers, *measures.system_codes(answers), *measures.group_codes(answers), resampling)


def values_of(panel: SystemPanel, statistics: Sequence[measures.Statistic], alone: bool = True) -> Floats:
    """Return statistics of every system under each weighting, (statistics, systems, R).

    alone: keep the resamples where only one group has a value, all of which equal that value; otherwise they are NaN.
    """
    systems = range(len(panel.systems))
    values = np.array([[panel.values(statistic, system) for system in systems] for statistic in statistics])
    for number, system in () if alone else np.ndindex(values.shape[:2]):
        if measures.groups_with_value(statistics[number], panel.rows(system), panel.group) < 2:
            values[number, system, 1:] = np.nan
    return values


@dataclass(frozen=True, eq=False)
class Rankings:
    """Values of systems under several backends.

    values: (backends, systems, R) under each weighting, by measure. labels: of the measures. shares: each answer's
    share under each backend, for measures that are means over answers. by_pair: list the agreement of rankings by
    pairs of backends, not by measure.
    """

    panel: SystemPanel
    backends: Sequence[str]
    values: Mapping[str, Floats]
    labels: Mapping[str, str]
    shares: Mapping[str, Sequence[Sequence[measures.AnswerShare]]] = field(default_factory=dict)
    by_pair: bool = False

    @property
    def comparable(self) -> bool:
        """Whether there are two backends, two systems and a value."""
        return len(self.backends) > 1 and len(self.panel.systems) > 1 and bool(self.values)


@dataclass(frozen=True)
class BackendAgreement:
    """Agreement of two backends' rankings under one measure. tau: Kendall's tau-b. flips: number of pairs that flip.

    pairs: number of pairs of systems.
    """

    measure: str
    first: str
    second: str
    tau: measures.ValueInterval
    flips: measures.ValueInterval
    pairs: int


@dataclass(frozen=True)
class FlipCause:
    """An answer's contribution to a flip (adds), in the measure's units, and its values under the two backends."""

    answer: str
    system: str
    value_one: float | None
    value_other: float | None
    adds: float


@dataclass(frozen=True)
class Flip:
    """Two systems, `ahead` better than `behind` under the first backend, and worse under the second.

    lead, reversed_lead: ahead's value minus behind's under the first and the second backend. share_of_resamples: share
    of resamples in which the two flip (None without resamples). causes: the five answers that add most to
    lead - reversed_lead, which is the sum over all answers; empty for a measure that is not a mean over answers.
    """

    measure: str
    first: str
    second: str
    ahead: str
    behind: str
    lead: float
    reversed_lead: float
    share_of_resamples: float | None
    causes: tuple[FlipCause, ...]

    @property
    def pair(self) -> dict[str, str]:
        """The measure, the two backends and the two systems, under their names in files."""
        backends = {"one": self.first, "other": self.second}
        return {"measure": self.measure, **backends, "ahead": self.ahead, "behind": self.behind}


def agreements(rankings: Rankings) -> list[BackendAgreement]:
    """Return the agreement of each pair of backends under each measure; empty for one backend or one system."""
    if not rankings.comparable:
        return []
    systems = len(rankings.panel.systems)
    # All resamples of a single group are equal: no interval.
    shown = slice(None) if rankings.panel.n_groups > 1 else slice(1)
    level = rankings.panel.resampling.level
    rows = []
    pairs = list(product(rankings.values.items(), combinations(range(len(rankings.backends)), 2)))
    for (measure, values), (i, j) in sorted(pairs, key=lambda each: each[1]) if rankings.by_pair else pairs:
        tau, count = (measures.interval_of(each[shown], level) for each in rank_agreement(values[i], values[j]))
        names = rankings.backends[i], rankings.backends[j]
        rows.append(BackendAgreement(measure, *names, tau, count, systems * (systems - 1) // 2))
    return rows


def flips(rankings: Rankings) -> list[Flip]:
    """Return the pairs of systems that two backends order in opposite ways; empty for one backend or one system."""
    if not rankings.comparable:
        return []
    reversals = []
    systems, backends = rankings.panel.systems, rankings.backends
    for (measure, values), (i, j) in product(rankings.values.items(), combinations(range(len(backends)), 2)):
        signs, others = pair_signs(values[i]), pair_signs(values[j])
        for pair, (a, b) in enumerate(combinations(range(len(systems)), 2)):
            if not signs[pair, 0] * others[pair, 0] < 0:
                continue
            ahead, behind = (a, b) if signs[pair, 0] > 0 else (b, a)
            lead, turned = (float(values[backend, ahead, 0] - values[backend, behind, 0]) for backend in (i, j))
            resampled = signs[pair, 1:] * others[pair, 1:]
            share = float(np.mean(resampled < 0)) if resampled.size else None
            causes = tuple(cause for cause in parts(rankings, measure, (i, j), (ahead, behind))[:5] if cause.adds > 0)
            named = (measure, backends[i], backends[j], systems[ahead], systems[behind])
            reversals.append(Flip(*named, lead, turned, share, causes))
    return reversals


def parts(rankings: Rankings, measure: str, backends: tuple[int, int], systems: tuple[int, int]) -> list[FlipCause]:
    """Return each answer's contribution to a flip, largest first: the change of its term in its system's mean.

    backends, systems: numbers of the two of each. Empty for a measure without shares.
    """
    if measure not in rankings.shares:
        return []
    before, after = (rankings.shares[measure][backend] for backend in backends)
    causes = []
    for system, sign in zip(systems, (1.0, -1.0), strict=True):
        rows = rankings.panel.rows(system).tolist()
        counted = [sum(shares[row].value is not None for row in rows) for shares in (before, after)]
        for row in rows:
            values, answer = (before[row].value, after[row].value), rankings.panel.answers[row]
            terms = [0.0 if value is None else value / count for value, count in zip(values, counted, strict=True)]
            causes.append(FlipCause(answer.id, answer.system, *values, sign * (terms[0] - terms[1])))
    return sorted(causes, key=lambda cause: (-cause.adds, cause.answer))


def ranks(values: Floats) -> list[int | None]:
    """Return the rank of each system, 1 the best, from values (m,); ties share the better rank, NaN has none."""
    better = np.zeros(values.size, dtype=np.int64)
    signs = pair_signs(values[:, None])
    for (first, second), (sign,) in zip(combinations(range(values.size), 2), signs, strict=True):
        better[second] += sign > 0
        better[first] += sign < 0
    return [None if np.isnan(value) else 1 + int(above) for value, above in zip(values, better, strict=True)]
