"""How two backends rank the systems by citation entailment and by coverage, and how far the rankings agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.measures import Interval, groups_with_value, interval_of
from metaeval.experiment.citing.quantities import Quantity
from metaeval.experiment.citing.scifi.notes import frame_of, sheet_of
from metaeval.experiment.citing.scifi.run import Assessed, averages, coverage_column, entailment_column
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.citation.layout import interval_cell, lines_grid, ranks_grid
from metaeval.report.grid import Cell, plain
from metaeval.report.result import Column, Data
from metaeval.stats.agreement import pair_signs, rank_agreement

Floats = NDArray[np.float64]

_TAU = Column(key="tau", label="Kendall tau-b", digits=2)
_FLIPS = Column(key="flips", label="flips", digits=0)


def ranking_sheets(assessed: Assessed, data: Data) -> list[Sheet]:
    """Ranks under each backend, and agreement of every two; none with one backend, one system, or no value at all."""
    if len(assessed.scored) < 2 or len(assessed.systems) < 2:
        return []
    values = _by_measure(assessed)
    return [_ranks(assessed, data, values), _agreement(assessed, data, values)] if values else []


def _by_measure(assessed: Assessed) -> dict[str, Floats]:
    """Headline values of every backend, system and weighting by measure, (backends, systems, R); known ones alone."""
    average = averages(assessed.prepared)[0]
    wanted = {"entailment": entailment_column(average).key, "coverage": coverage_column(average).key}
    found = {}
    for name, key in wanted.items():
        own = [
            [_values(assessed, quantity, system) for system in range(len(assessed.systems))]
            for one in assessed.scored
            for quantity in one.quantities
            if quantity.column.key == key
        ]
        values = np.array(own, dtype=np.float64)
        if not np.isnan(values[:, :, 0]).all():
            found[name] = values
    return found


def _values(assessed: Assessed, quantity: Quantity, system: int) -> Floats:
    """A system's values, (R,); resampled ones are NaN where one group alone has a value, which they only repeat."""
    values = assessed.values(quantity, system)
    if groups_with_value(quantity, np.flatnonzero(assessed.system == system), assessed.group) < 2:
        values[1:] = np.nan
    return values


def _ranks(assessed: Assessed, data: Data, values: Mapping[str, Floats]) -> Sheet:
    backends = [one.backend.name for one in assessed.scored]
    ranks = {
        measure: {backend: _rank(found[number, :, :1]) for number, backend in enumerate(backends)}
        for measure, found in values.items()
    }
    records: list[Record] = [
        {"system": system, "backend": backend, "measure": measure, "rank": ranks[measure][backend][number]}
        for measure in values
        for backend in backends
        for number, system in enumerate(assessed.systems)
    ]
    frame = frame_of(assessed, data, "scifi-rankings", "Ranks of the systems under each backend")
    return sheet_of(assessed, data, "scifi-rankings", records, ranks_grid(frame, assessed.systems, ranks))


def _rank(values: Floats) -> list[int | None]:
    """Rank of each system, 1 the best, from values (m, 1); equal ones share the better rank, undefined have none."""
    number = values.shape[0]
    better = np.zeros(number, dtype=np.int64)
    for (one, other), (sign,) in zip(combinations(range(number), 2), pair_signs(values), strict=True):
        better[other] += sign > 0
        better[one] += sign < 0
    return [None if np.isnan(value) else 1 + int(above) for value, above in zip(values[:, 0], better, strict=True)]


def _agreement(assessed: Assessed, data: Data, values: Mapping[str, Floats]) -> Sheet:
    level, pairs = assessed.prepared.config.interval.level, len(assessed.systems) * (len(assessed.systems) - 1) // 2
    blocks: dict[str, list[tuple[str, Sequence[Cell]]]] = {}
    records: list[Record] = []
    for i, j in combinations(range(len(assessed.scored)), 2):
        one, other = assessed.scored[i].backend.name, assessed.scored[j].backend.name
        for measure, found in values.items():
            tau, flips = (interval_of(each, level) for each in rank_agreement(found[i], found[j]))
            cells = [interval_cell(_ends(tau), _TAU, signed=True), interval_cell(_ends(flips), _FLIPS)]
            blocks.setdefault(f"{plain(one)} and {plain(other)}", []).append((measure, [*cells, Cell(f"{pairs:,}")]))
            pair: Record = {"measure": measure, "one": one, "other": other, "pairs": pairs}
            records.append({**pair, **_numbers("tau", tau), **_numbers("flips", flips)})
    frame = frame_of(assessed, data, "scifi-agreement", "How far two backends rank the systems alike")
    grid = lines_grid(frame, "measure", (_TAU.label, _FLIPS.label, "of pairs"), list(blocks.items()))
    return sheet_of(assessed, data, "scifi-agreement", records, grid)


def _numbers(name: str, interval: Interval) -> dict[str, float | None]:
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    return interval.value, interval.low, interval.high
