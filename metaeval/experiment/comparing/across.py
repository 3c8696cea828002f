"""The difference of two metrics over several data sets: a random-effects meta-analysis, and a forest plot of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from metaeval.experiment.comparing.subgroups import Part, parts_of, readable_by
from metaeval.experiment.evaluation import Asked, column_of
from metaeval.experiment.metric_scores import Panel, headline, judged, make_sheet
from metaeval.files import safe_name
from metaeval.report.cells import cell
from metaeval.report.grid import Note, TableRow, chance, count, numeral, plain
from metaeval.report.result import Column, Data
from metaeval.report.sheet import Record, Scalar, Sheet
from metaeval.stats.influence import t_interval
from metaeval.stats.significance import Pooled, pooled
from protocols.comparison import both_scored, minus
from protocols.simulation import Task, influence_of_one

_NAMES = ("mean", "Hartung-Knapp", "a new data set")


@dataclass(frozen=True)
class Study:
    """The difference of two metrics on one data set, on the rows that both scored: raw, with its cluster error."""

    name: str
    rows: int
    groups: int
    difference: float
    error: float
    low: float
    high: float


@dataclass(frozen=True)
class Across:
    """Two metrics under one measure over several data sets."""

    one: str
    other: str
    column: Column
    studies: Sequence[Study]
    pooled: Pooled

    @property
    def title(self) -> str:
        """What is subtracted from what."""
        return f"{plain(self.one)} less {plain(self.other)}"


def across(parts: Sequence[Part], asked: Asked) -> tuple[list[Across], dict[str, str]]:
    """Every two metrics over data sets, one a part; and of pairs that cannot be combined, why.

    A data set on which the difference has no standard error is left out.
    """
    protocol, options = asked
    measure = headline(protocol, parts[0].frame, parts[0].panel.columns[0])
    column = column_of(measure)
    found: list[Across] = []
    lacking: dict[str, str] = {}
    for pair in combinations(range(len(parts[0].panel.columns)), 2):
        one, other = (parts[0].panel.columns[number].name for number in pair)
        studies = [study for part in parts if (study := _study(part, Task(protocol, options, measure.key), pair))]
        if len(studies) < 2:
            why = f"{count(len(studies), 'data set')} with a difference that has a standard error"
            lacking[f"{one} less {other}"] = why
            continue
        level = parts[0].panel.config.interval.level
        effects, errors = (np.array([getattr(one, name) for one in studies]) for name in ("difference", "error"))
        found.append(Across(one, other, column, studies, pooled(effects, errors, level)))
    return found, lacking


def across_sheets(panels: Sequence[Panel]) -> list[tuple[Sheet, list[Across]]]:
    """For each protocol that reads every data set, the meta-analyses of its headline; panels: one a data set."""
    asked = readable_by(panels, "dataset")
    found = (across_sheet(parts_of(panels, one[0], "dataset"), one) for one in asked)
    return [one for one in found if one]


def across_sheet(parts: Sequence[Part], asked: Asked) -> tuple[Sheet, list[Across]] | None:
    """The meta-analyses of a protocol's headline as a sheet, and what a forest plot is drawn of; None without any."""
    protocol, options = asked
    found, lacking = across(parts, asked)
    if not found:
        return None
    left_out = tuple((plain(name), plain(why)) for name, why in lacking.items())
    notes = (
        Note("mean", "random effects: the variance between data sets is DerSimonian and Laird's, its interval normal"),
        Note("Hartung-Knapp", "the same mean, with Student's t at one data set less: the interval to read for few"),
        Note("a new data set", "prediction interval: where the true difference lies on a data set like these"),
        Note("between", "standard deviation of the true differences; I²: share of the variance that is theirs"),
        Note("left out", "", left_out),
    )
    sheet = make_sheet(
        parts[0].panel,
        parts[0].frame,
        f"{protocol.name}-across-datasets",
        f"{plain(protocol.title)}: differences of {plain(found[0].column.label)} over {count(len(parts), 'data set')}",
        {"protocol": protocol.name, **options, "by-part": "dataset", "analysis": "meta-analysis"},
        ("data set", ("difference", "p", "groups", "weight"), [row for one in found for row in _rows(one)]),
        [record for one in found for record in _records(one, protocol.name)],
        notes=notes,
        data=Data.together([part.frame.summary for part in parts]),
        method="t",
    )
    return sheet, found


def write_forests(found: Sequence[Across], folder: Path) -> list[Path]:
    """A forest plot of each pair; `UserError` without matplotlib."""
    from metaeval.report.figures.drawing import save_figure
    from metaeval.report.figures.forest import differences_forest

    written: list[Path] = []
    for one in found:
        stem = folder / f"across-{one.column.key}-{safe_name(one.one)}-{safe_name(one.other)}".replace("@", "-")
        rows = [(study.name, study.difference, (study.low, study.high)) for study in one.studies]
        pooled_rows = [(name, one.pooled.mean, ends) for name, ends in _summary(one.pooled).items()]
        written += save_figure(differences_forest(rows, pooled_rows, one.column, one.title), stem)
    return written


def _study(part: Part, task: Task, pair: tuple[int, int]) -> Study | None:
    one, other = (judged(part.frame, part.panel.columns[number]) for number in pair)
    both = both_scored(one, other)
    groups = np.unique(one.group[both])
    if task.protocol.measure(task.key).blind(one) or groups.size < 2:
        return None
    apart = minus(*(influence_of_one(task, rows.rows(both), groups) for rows in (one, other)))
    error = apart.standard_error if apart else 0.0
    ends = t_interval(apart, part.panel.config.interval.level) if apart else None
    if apart is None or ends is None or not error > 0:
        return None
    return Study(part.name, int(both.sum()), groups.size, apart.value, error, *ends)


def _summary(found: Pooled) -> Mapping[str, tuple[float, float]]:
    ends = (found.normal, found.hartung_knapp, found.prediction)
    return {name: one for name, one in zip(_NAMES, ends, strict=True) if one is not None}


def _rows(one: Across) -> Iterator[TableRow]:
    for study, weight in zip(one.studies, one.pooled.weights, strict=True):
        said = cell(study.difference, study.low, study.high, one.column, signed=True, spelt=True)
        yield one.title, study.name, [said, "", f"{study.groups:,}", f"{100 * weight:.0f} %"]
    found = one.pooled
    p = {_NAMES[0]: chance(found.p), _NAMES[1]: chance(found.p_hartung_knapp)}
    for name, ends in _summary(found).items():
        said = cell(found.mean, *ends, one.column, signed=True, spelt=True)
        yield one.title, name, [said, p.get(name, ""), "", ""]
    between = f"{numeral(found.tau, one.column)}, I² {100 * found.between:.0f} %"
    yield one.title, "between", [between, chance(found.heterogeneity), "", ""]


def _records(one: Across, protocol: str) -> list[Record]:
    shared = {"protocol": protocol, "measure": one.column.key, "one": one.one, "other": one.other}
    fields = ("dataset", "difference", "low", "high", "standard_error", "p", "weight", "rows", "groups")
    found, nothing = one.pooled, (None, None, None)
    rows: list[tuple[Scalar, ...]] = []
    for study, weight in zip(one.studies, found.weights, strict=True):
        ends = study.low, study.high
        rows.append((study.name, study.difference, *ends, study.error, None, weight, study.rows, study.groups))
    p = {_NAMES[0]: found.p, _NAMES[1]: found.p_hartung_knapp}
    rows += [(name, found.mean, *ends, None, p.get(name), *nothing) for name, ends in _summary(found).items()]
    rows.append(("between", found.tau, *nothing, found.heterogeneity, *nothing))
    return [{**shared, **dict(zip(fields, row, strict=True))} for row in rows]
