"""The systems behind a meta-evaluation: agreement with people within each of them, and over them as wholes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.citeeval.human_agreement import correlations
from metaeval.citation.measures import Interval, interval_of, means, replicates
from metaeval.config import RunConfig
from metaeval.experiment.citing.meta.model import Level
from metaeval.stats.agreement import rank_agreement
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.resampling import Draws, bootstrap


@dataclass(frozen=True)
class Within:
    """One measure against people's ratings among the rows of one system. rows: those that it has a value of."""

    system: str
    measure: str
    rows: int
    total: int
    found: dict[str, Interval]


@dataclass(frozen=True)
class Over:
    """Mean values of the systems under one measure, and Kendall's tau-b with people's means of the same rows.

    means: of each system, in the order of their names; None where undefined.
    """

    measure: str
    means: tuple[float | None, ...]
    tau: Interval | None


def systems_of(level: Level) -> list[str]:
    """The systems of a level's rows, sorted; none where some row names none."""
    names = {row.system for row in level.ratings.rows}
    return sorted(names) if all(names) else []


def within_systems(level: Level, config: RunConfig) -> list[Within]:
    """Every measure within every system; intervals draw groups, and a system of one group has none."""
    rows = level.ratings.rows
    interval = config.interval
    found: list[Within] = []
    for system in systems_of(level):
        own = [number for number, row in enumerate(rows) if row.system == system]
        for column in level.columns:
            known = [number for number in own if not np.isnan(column.score[number])]
            gold = np.array([rows[number].gold for number in known], dtype=np.float64)
            group, n_groups = _codes([rows[number].group for number in known])
            resamples = interval.resamples if n_groups > 1 else 0
            how = resamples, interval.seed, interval.level
            values = correlations(column.score[known], gold, group, *how)
            found.append(
                Within(system, column.name, len(known), len(own), {str(key): one for key, one in values.items()})
            )
    return found


def over_systems(level: Level, config: RunConfig) -> tuple[tuple[float | None, ...], list[Over]]:
    """People's mean rating of each system over all its rows, and every measure beside it.

    tau is over the rows that have both a rating and a value; None with fewer than two systems.
    """
    systems, rows = systems_of(level), level.ratings.rows
    group, n_groups = _codes([row.group for row in rows])
    draws = bootstrap(n_groups, config.interval.resamples if n_groups > 1 else 0, config.interval.seed)
    system = np.array([systems.index(row.system) for row in rows], dtype=np.int64) if systems else np.empty(0, np.int64)
    gold = [row.gold for row in rows]
    people = _means(gold, system, len(systems), group, draws)
    found = []
    for column in level.columns:
        values = [None if np.isnan(score) else float(score) for score in column.score]
        both = [None if score is None else rating for score, rating in zip(values, gold, strict=True)]
        own = _means(values, system, len(systems), group, draws)
        theirs = _means(both, system, len(systems), group, draws)
        tau = interval_of(rank_agreement(own, theirs)[0], config.interval.level) if len(systems) > 1 else None
        found.append(Over(column.name, _first(own), tau))
    return _first(people), found


def _means(values: Sequence[float | None], system: Ints, n_systems: int, group: Ints, draws: Draws) -> Floats:
    """Means of the systems under each weighting, (n_systems, R)."""
    mean = means(values)
    own = [replicates(mean, np.flatnonzero(system == code), group, draws) for code in range(n_systems)]
    return np.array(own, dtype=np.float64).reshape(n_systems, draws.n)


def _first(means: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(own[0]) else float(own[0]) for own in means)


def _codes(names: Sequence[str]) -> tuple[Ints, int]:
    # Numbered in the order of the names: a resample draws the same groups in any row order.
    unique, codes = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
    return codes.astype(np.int64), int(unique.size)
