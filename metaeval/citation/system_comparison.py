"""Compare systems: values with intervals, ranks under several backends, flips (rank reversals) and their causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from metaeval.citation import measures
from metaeval.citation.data_model import Answer
from metaeval.stats.agreement import pair_signs, rank_agreement
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import Draws, bootstrap


@dataclass(frozen=True, eq=False)
class SystemPanel:
    """Answers of one or more systems, with what is needed to resample statistics of them; it holds no statistics.

    systems: names, sorted. system: (n,) index of each answer's system in systems. group: (n,) code of each answer's
    group. n_groups: number of groups, which resampling draws. resampling: settings of resamples and intervals.
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
        """Return a statistic of one system on the input and in each resample, (R,), in this order."""
        return measures.replicates(statistic, self.rows(system), self.group, self.draws)

    def ends(
        self, statistics: Mapping[str, measures.Statistic], system: int
    ) -> dict[str, tuple[float | None, float | None, float | None]]:
        """Return (value, low, high) of each statistic of one system, by name."""
        rows = self.rows(system)
        return {name: self.interval_over(statistic, rows).ends for name, statistic in statistics.items()}

    def interval_over(self, statistic: measures.Statistic, rows: Ints) -> Estimate:
        """Return a statistic of the answers at these indices; see `measures.interval_over`."""
        return measures.interval_over(statistic, rows, self.group, self.n_groups, self.resampling)

    def of_samples(self, rows: Ints, value: Callable[[Ints], float | None]) -> list[float]:
        """Return the value of each sample (`Answer.sample`) of the answers at `rows` that has one.

        Empty for fewer than two samples. value: computes the value of the answers at some indices; None: undefined.
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
    """Return statistics of every system on the input and in each resample, (statistics, systems, R), the input first.

    alone: where fewer than two groups have a value, keep the resamples, which then all equal the value; else set them
    to NaN.
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

    values: by measure, (backends, systems, R) on the input and in each resample. labels: by measure, its name in
    tables. shares: by measure, under each backend the share of each answer, for measures that are means over answers.
    by_pair: list the agreement of rankings by pairs of backends, not by measure.
    """

    panel: SystemPanel
    backends: Sequence[str]
    values: Mapping[str, Floats]
    labels: Mapping[str, str]
    shares: Mapping[str, Sequence[Sequence[measures.AnswerShare]]] = field(default_factory=dict)
    by_pair: bool = False

    @property
    def comparable(self) -> bool:
        """Whether there are at least two backends, two systems and one measure."""
        return len(self.backends) > 1 and len(self.panel.systems) > 1 and bool(self.values)


@dataclass(frozen=True)
class BackendAgreement:
    """Agreement of the rankings of systems by one measure under two backends, `first` and `second`.

    tau: Kendall's tau-b. flips: number of pairs of systems that flip. pairs: number of pairs of systems.
    """

    measure: str
    first: str
    second: str
    tau: Estimate
    flips: Estimate
    pairs: int


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


def ranks(values: Floats) -> list[int | None]:
    """Return the rank of each system, 1 the best, from values (m,); ties share the better rank, NaN has none."""
    better = np.zeros(values.size, dtype=np.int64)
    signs = pair_signs(values[:, None])
    for (first, second), (sign,) in zip(combinations(range(values.size), 2), signs, strict=True):
        better[second] += sign > 0
        better[first] += sign < 0
    return [None if np.isnan(value) else 1 + int(above) for value, above in zip(values, better, strict=True)]
