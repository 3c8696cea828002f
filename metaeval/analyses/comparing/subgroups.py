"""Metrics on subgroups of the data, and meta-analyses of their differences over several data sets."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.column_arrays import Coded
from metaeval.config import RunConfig
from metaeval.display_text import count
from metaeval.errors import UserError, shown, unknown
from metaeval.files import safe_name
from metaeval.report.interval_texts import level_and_method
from metaeval.report.result import Column, Data, Interval, Value
from metaeval.report.result_tables import cell
from metaeval.report.table import Cell, Note, Record, Scalar, Table, TableRow, format_p, format_value, plain
from metaeval.report.table_notes import numbers
from metaeval.runs.evaluation import ProtocolSetup, column_of
from metaeval.runs.prepared_run import Frame, RatedSet, kind_of_data
from metaeval.runs.score_panel import Panel, headline_measure, judged, make_sheet
from metaeval.stats.arrays import Bools
from metaeval.stats.influence import t_interval
from metaeval.stats.significance import Pooled, pooled
from protocols.comparison import both_scored, minus
from protocols.contract import Estimate, Protocol
from protocols.simulation import Task, influence_of_one

DIVISIONS = ("system", "dataset", "length", "position")
DIMENSION = "dimension"
"""The field of ratings whose parts are the same texts, rated for other qualities."""
MOST_PARTS = 60

_THIRDS = ("first third", "middle third", "last third")
_WHOLE = "the document's only chunk"
_ALL = "all"
_NOT_SAID = "not said"
_NUMBER = re.compile(r"-?\d+(\.\d+)?")

PartNames = tuple[list[str], Sequence[str]]
"""The name of each row's part, (n,), and the names of parts in their order in tables, which may repeat."""


@dataclass(frozen=True)
class Subgroup:
    """A subgroup of a panel's rows. frame: all n rows of a protocol. rows: which of these are in the subgroup, (n,)."""

    name: str
    panel: Panel
    frame: Frame
    rows: Bools


def check_division(by: str, config: RunConfig) -> str:
    """Return `by`, the name of a division of the rows such as "length", if the run allows it.

    Raises `UserError` for an unknown division, and for position where the unit is not chunk. On ratings any other name
    passes: it may be a field, which `parts_of` checks when their file has been read.
    """
    if by == "position" and config.unit != "chunk":
        raise UserError(
            f"--by position divides chunks by their position in the document: set unit=chunk (unit is {config.unit!r})."
        )
    if by not in DIVISIONS and kind_of_data(config) != "ratings":
        raise unknown("division", by, DIVISIONS)
    return by


def parts_of(panels: Sequence[Panel], protocol: Protocol, by: str) -> list[Subgroup]:
    """Return a protocol's rows, whole and divided into subgroups; by data set or dimension, only the subgroups.

    panels: one panel, or for by="dataset" one for each data set. Subgroups without a row are left out. Raises
    `UserError` where the data do not have the division.
    """
    if by == "dataset":
        frames = [panel.source.frame(protocol) for panel in panels]
        times = Counter(frame.name for frame in frames)
        names = [f"{frame.name} {frame.split}" if times[frame.name] > 1 else frame.name for frame in frames]
        return [
            Subgroup(name, panel, frame, np.ones(frame.gold.size, dtype=np.bool_))
            for name, panel, frame in zip(names, panels, frames, strict=True)
        ]
    (panel,) = panels
    frame = panel.source.frame(protocol)
    divide = {"system": _systems, "length": _lengths, "position": _places}.get(by) or partial(_values, by)
    names, order = divide(panel, frame)
    labels = np.array(names)
    whole = Subgroup(_ALL, panel, frame, np.ones(labels.size, dtype=np.bool_))
    parts = (Subgroup(name, panel, frame, labels == name) for name in dict.fromkeys(order))
    return [*([] if by == DIMENSION else [whole]), *(part for part in parts if part.rows.any())]


def _values(by: str, panel: Panel, frame: Frame) -> PartNames:
    """Return the division of rows by the values of the ratings' field `by`, numbers by size; error for too many."""
    source = panel.source
    columns: dict[str, Coded[Any]] = {}
    if isinstance(source, RatedSet):
        rows = source.ratings.columns.take(frame.numbers)
        columns = {**({"subset": rows.subset} if any(rows.subset) else {}), **rows.fields}
    if by not in columns:
        raise unknown("division", by, [*columns, "system", "length"])
    names = [name or _NOT_SAID for name in columns[by]]
    values = sorted(set(names))
    if len(values) > MOST_PARTS:
        raise UserError(
            f"The field {shown(by)} of {frame.name} has {count(len(values), 'value')}, and a table at most "
            f"{MOST_PARTS} parts: choose another --by."
        )
    return names, sorted(values, key=lambda name: (float(name) if _NUMBER.fullmatch(name) else math.inf, name))


def _systems(panel: Panel, frame: Frame) -> PartNames:
    if frame.system is None:
        raise UserError(f"{frame.name} does not say which system wrote which statement: choose another --by.")
    source = panel.source
    if isinstance(source, RatedSet):
        names = source.ratings.columns.system[frame.numbers].tolist()
    else:
        names = [source.corpus.statements[source.rows[number].statement_id].system for number in frame.numbers]
    return names, sorted(names)


def statement_words(panel: Panel, frame: Frame) -> NDArray[np.int64]:
    """Return the number of words of each row's statement or rated text, (n,); `UserError` if any text is empty."""
    source = panel.source
    if isinstance(source, RatedSet):
        texts = source.ratings.columns.text[frame.numbers].tolist()
    else:
        texts = [source.rows[number].statement for number in frame.numbers]
    if not all(texts):
        raise UserError(
            f"{frame.name} lacks the text of some rated rows, so that their lengths are unknown: leave --by length and "
            "--bias out."
        )
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


def _lengths(panel: Panel, frame: Frame) -> PartNames:
    """Return the division of rows into quarters by the length in words of their statement or rated text.

    A statement with several rows counts once where the quarters are cut; quarters with equal ends are merged.
    """
    words = distinct = statement_words(panel, frame)
    source = panel.source
    if not isinstance(source, RatedSet):
        firsts = {source.rows[number].statement_id: place for place, number in enumerate(frame.numbers)}
        distinct = words[list(firsts.values())]
    ends = sorted({int(end) for end in np.quantile(distinct, (0.25, 0.5, 0.75), method="inverted_cdf")})
    low = [end + 1 for end in ends]
    inner = [f"{a} to {b} words" if a < b else f"{b} words" for a, b in zip(low[:-1], ends[1:], strict=True)]
    bins = [f"up to {ends[0]} words", *inner, f"over {ends[-1]} words"]
    return [bins[number] for number in np.searchsorted(ends, words)], bins


def _places(panel: Panel, frame: Frame) -> PartNames:
    """Return the division of rows by the third of the document in which the middle of their chunk lies.

    The only chunk of a document is in a part of its own.
    """
    source = panel.source
    if isinstance(source, RatedSet):
        raise UserError(
            f"--by position divides chunks by their position in the document, and {frame.name} rates whole texts: "
            "choose another --by."
        )
    chunks: dict[str, int] = {}
    for pair in source.pairs:
        chunks[pair.document_id] = max(chunks.get(pair.document_id, 0), pair.chunk + 1)
    names = []
    for number in frame.numbers:
        pair = source.pairs[source.rows[number].members[0]]
        of = chunks[pair.document_id]
        names.append(_WHOLE if of == 1 else _THIRDS[(2 * pair.chunk + 1) * 3 // (2 * of)])
    return names, (*_THIRDS, _WHOLE)


_TITLES: Mapping[str, str] = {
    "system": "generating system",
    "dataset": "data set",
    "length": "statement length",
    "position": "place in the document",
}

FEW = 10
"""Fewer groups than this make an interval unreliable."""


def by_part(panels: Sequence[Panel], by: str) -> list[Table]:
    """Return each metric's headline measure on every subgroup, one table for each protocol that the data allow.

    panels: one panel, or for by="dataset" one for each data set, with the same metrics. A protocol without a value on
    any subgroup is left out, unless all are. Raises `UserError` where the data do not have the division.
    """
    sheets = [_sheet(panels, setup, by, parts_of(panels, setup[0], by)) for setup in readable_by(panels, by)]
    telling = [sheet for sheet in sheets if any(record["value"] is not None for record in sheet.records)]
    return telling or sheets


def readable_by(panels: Sequence[Panel], by: str) -> list[ProtocolSetup]:
    """Return the protocols that can be evaluated on every data set, with their options; `UserError` if there is none.

    Protocols of pools are left out where the division splits pools.
    """
    shared_setups = panels[0].readable.protocols
    for panel in panels[1:]:
        names = {protocol.name for protocol, _ in panel.readable.protocols}
        shared_setups = [setup for setup in shared_setups if setup[0].name in names]
    if by in ("position", "system"):
        cut = by == "position" or isinstance(panels[0].source, RatedSet)
        shared_setups = [setup for setup in shared_setups if not (cut and setup[0].uses_pool)]
    if not shared_setups:
        raise UserError(
            f"No protocol of this run can be evaluated on parts by {by}: name with -p one that can, such as "
            "correlation or classification."
        )
    return shared_setups


def _sheet(panels: Sequence[Panel], protocol_setup: ProtocolSetup, by: str, parts: Sequence[Subgroup]) -> Table:
    protocol, options = protocol_setup
    measure = headline_measure(protocol, parts[0].frame, parts[0].panel.columns[0])
    column = column_of(measure)
    records = [record for part in parts for record in _records(part, protocol_setup, by, measure.key)]
    reasons = numbers(Value(value=None, note=str(record["note"])) for record in records if record["value"] is None)
    spelt = any(str(record["low"]).startswith("-") for record in records)
    headings = ("rows", "groups", *(plain(column.name) for column in panels[0].columns))
    rows: list[TableRow] = []
    few = []
    for part in parts:
        part_records = [record for record in records if record["part"] == part.name]
        groups = np.unique(part.frame.group[part.rows]).size
        # A subgroup without an interval needs no warning about intervals.
        few.append(groups < FEW and any(record["low"] is not None for record in part_records))
        counts = f"{int(part.rows.sum()):,}", Cell(f"{groups:,}", marks=("†",) if few[-1] else ())
        rows.append(("", part.name, [*counts, *(_cell(record, column, reasons, spelt) for record in part_records)]))
    warned = (Note("†", f"fewer than {FEW} groups: the interval may be too narrow, and moves with every group"),)
    sheet = make_sheet(
        panels[0],
        parts[0].frame,
        f"{protocol.name}-by-{safe_name(by)}",
        f"{plain(protocol.title)}: {plain(measure.label)} by {_TITLES.get(by, plain(by))}",
        {"protocol": protocol.name, **options, "by-part": by},
        (plain(by), headings, rows),
        records,
        footnotes=(*(warned if any(few) else ()), *(Note(number, reason) for reason, number in reasons.items())),
        data=Data.together([part.frame.summary for part in parts]) if by == "dataset" else None,
        method=panels[0].config.interval.method,
    )
    return replace(sheet, footer=tuple(_of_subgroups(note, panels[0]) for note in sheet.footer))


def _of_subgroups(note: Note, panel: Panel) -> Note:
    """Return the note on intervals, reworded for subgroups; other notes are unchanged."""
    interval = panel.config.interval
    if note.label != "uncertainty" or not interval.resamples:
        return note
    intervals = level_and_method(Interval(**interval.model_dump()))
    if interval.method == "t":
        return Note(note.label, f"{intervals}, from each part's own groups")
    resampled = f"{count(interval.resamples, 'resample')} of each part's own groups, seed {interval.seed}"
    return Note(note.label, f"{intervals}, {resampled}")


def _records(part: Subgroup, protocol_setup: ProtocolSetup, by: str, key: str) -> list[Record]:
    protocol, options = protocol_setup
    records: list[Record] = []
    for column in part.panel.columns:
        rows = judged(part.frame, column).rows(part.rows)
        nothing = protocol.measure(key).blind(rows)
        outcome = protocol.evaluate(rows, part.panel.resampling, options)
        missing = nothing or "not a measure of these data"
        # On a subgroup with two gold values the concordance is named ROC-AUC.
        names = (key, "auc") if key == "concordance" else (key,)
        known = {} if nothing else outcome.estimates
        estimate = next((known[name] for name in names if name in known), Estimate(None, note=missing))
        records.append(
            {
                **{"protocol": protocol.name, "measure": key, "by": by, "part": part.name, "metric": column.name},
                **{"value": estimate.value, "low": estimate.low, "high": estimate.high, "rows": rows.gold.size},
                **{"scored": outcome.scored, "groups": np.unique(rows.group).size, "note": estimate.note},
            }
        )
    return records


def _cell(record: Record, column: Column, reasons: Mapping[str, str], spelt: bool) -> Cell:
    value, low, high = (None if record[name] is None else float(str(record[name])) for name in ("value", "low", "high"))
    letter = reasons.get(plain(str(record["note"])) or "undefined, no reason recorded", "") if value is None else ""
    return cell(value, low, high, column, marks=(letter,) if letter else (), spelt=spelt)


_NAMES = ("mean", "Hartung-Knapp", "a new data set")


@dataclass(frozen=True)
class Study:
    """The raw difference, first minus second, of two metrics on the rows of one data set that both scored.

    rows, groups: numbers of these. error: standard error of the difference; low, high: its interval (Student's t).
    """

    name: str
    rows: int
    groups: int
    difference: float
    error: float
    low: float
    high: float


@dataclass(frozen=True)
class PairMetaAnalysis:
    """The meta-analysis of the difference of two metrics under one measure over several data sets."""

    first: str
    second: str
    column: Column
    studies: Sequence[Study]
    pooled: Pooled

    @property
    def title(self) -> str:
        """The text "FIRST less SECOND" with the metrics' names."""
        return f"{plain(self.first)} less {plain(self.second)}"


def meta_analyses(
    parts: Sequence[Subgroup], protocol_setup: ProtocolSetup
) -> tuple[list[PairMetaAnalysis], dict[str, str]]:
    """Return the meta-analysis of every two metrics over data sets; and, by "FIRST less SECOND", why a pair has none.

    parts: one for each data set. A data set without a standard error of the difference is left out; a pair needs two.
    """
    protocol, options = protocol_setup
    measure = headline_measure(protocol, parts[0].frame, parts[0].panel.columns[0])
    column = column_of(measure)
    pooled_pairs: list[PairMetaAnalysis] = []
    lacking: dict[str, str] = {}
    for pair in combinations(range(len(parts[0].panel.columns)), 2):
        first, second = (parts[0].panel.columns[number].name for number in pair)
        studies = [study for part in parts if (study := _study(part, Task(protocol, options, measure.key), pair))]
        if len(studies) < 2:
            why = f"{count(len(studies), 'data set')} with a difference that has a standard error"
            lacking[f"{first} less {second}"] = why
            continue
        level = parts[0].panel.config.interval.level
        effects, errors = (np.array([getattr(study, name) for study in studies]) for name in ("difference", "error"))
        pooled_pairs.append(PairMetaAnalysis(first, second, column, studies, pooled(effects, errors, level)))
    return pooled_pairs, lacking


def across_sheets(panels: Sequence[Panel]) -> list[tuple[Table, list[PairMetaAnalysis]]]:
    """Return each protocol's table and meta-analyses of its headline measure, if any. panels: one for each data set."""
    setups = readable_by(panels, "dataset")
    sheets = (across_sheet(parts_of(panels, setup[0], "dataset"), setup) for setup in setups)
    return [sheet for sheet in sheets if sheet]


def across_sheet(
    parts: Sequence[Subgroup], protocol_setup: ProtocolSetup
) -> tuple[Table, list[PairMetaAnalysis]] | None:
    """Return the table of a protocol's meta-analyses, and the meta-analyses for forest plots; None if there are none.

    parts: one for each data set.
    """
    protocol, options = protocol_setup
    pooled_pairs, lacking = meta_analyses(parts, protocol_setup)
    if not pooled_pairs:
        return None
    left_out = tuple((plain(name), plain(why)) for name, why in lacking.items())
    label = plain(pooled_pairs[0].column.label)
    notes = (
        Note("mean", "random effects: the variance between data sets is Paule and Mandel's, its interval normal"),
        Note("Hartung-Knapp", "the same mean, with Student's t at one data set less: the interval to read for few"),
        Note("a new data set", "prediction interval: where the true difference lies on a data set like these"),
        Note("between", "standard deviation of the true differences; I²: share of the variance that is theirs"),
        Note("left out", "", left_out),
    )
    sheet = make_sheet(
        parts[0].panel,
        parts[0].frame,
        f"{protocol.name}-across-datasets",
        f"{plain(protocol.title)}: differences of {label} over {count(len(parts), 'data set')}",
        {"protocol": protocol.name, **options, "by-part": "dataset", "analysis": "meta-analysis"},
        ("data set", ("difference", "p", "groups", "weight"), [row for pair in pooled_pairs for row in _rows(pair)]),
        [record for pair in pooled_pairs for record in _pooled_records(pair, protocol.name)],
        notes=notes,
        data=Data.together([part.frame.summary for part in parts]),
        method="t",
    )
    return sheet, pooled_pairs


def write_forests(pooled_pairs: Sequence[PairMetaAnalysis], folder: Path) -> list[Path]:
    """Write a forest plot of each pair of metrics and return the paths; raises `UserError` without matplotlib."""
    from metaeval.report.figures.drawing import save_figure
    from metaeval.report.figures.forest import differences_forest

    written: list[Path] = []
    for pair in pooled_pairs:
        stem = folder / f"across-{pair.column.key}-{safe_name(pair.first)}-{safe_name(pair.second)}".replace("@", "-")
        rows = [(study.name, study.difference, (study.low, study.high)) for study in pair.studies]
        pooled_rows = [(name, pair.pooled.mean, ends) for name, ends in _summary(pair.pooled).items()]
        written += save_figure(differences_forest(rows, pooled_rows, pair.column, pair.title), stem)
    return written


def _study(part: Subgroup, task: Task, pair: tuple[int, int]) -> Study | None:
    first, second = (judged(part.frame, part.panel.columns[number]) for number in pair)
    both = both_scored(first, second)
    groups = np.unique(first.group[both])
    if task.protocol.measure(task.key).blind(first) or groups.size < 2:
        return None
    influence = minus(*(influence_of_one(task, rows.rows(both), groups) for rows in (first, second)))
    error = influence.standard_error if influence else 0.0
    ends = t_interval(influence, part.panel.config.interval.level) if influence else None
    if influence is None or ends is None or not error > 0:
        return None
    return Study(part.name, int(both.sum()), groups.size, influence.value, error, *ends)


def _summary(summary: Pooled) -> Mapping[str, tuple[float, float]]:
    ends = (summary.normal, summary.hartung_knapp, summary.prediction)
    return {name: interval for name, interval in zip(_NAMES, ends, strict=True) if interval is not None}


def _rows(pair: PairMetaAnalysis) -> Iterator[TableRow]:
    for study, weight in zip(pair.studies, pair.pooled.weights, strict=True):
        value = cell(study.difference, study.low, study.high, pair.column, signed=True, spelt=True)
        yield pair.title, study.name, [value, "", f"{study.groups:,}", f"{100 * weight:.0f} %"]
    summary = pair.pooled
    p = {_NAMES[0]: format_p(summary.p), _NAMES[1]: format_p(summary.p_hartung_knapp)}
    for name, ends in _summary(summary).items():
        value = cell(summary.mean, *ends, pair.column, signed=True, spelt=True)
        yield pair.title, name, [value, p.get(name, ""), "", ""]
    between = f"{format_value(summary.tau, pair.column)}, I² {100 * summary.between:.0f} %"
    yield pair.title, "between", [between, format_p(summary.heterogeneity), "", ""]


def _pooled_records(pair: PairMetaAnalysis, protocol: str) -> list[Record]:
    shared = {"protocol": protocol, "measure": pair.column.key, "one": pair.first, "other": pair.second}
    fields = ("dataset", "difference", "low", "high", "standard_error", "p", "weight", "rows", "groups")
    summary, nothing = pair.pooled, (None, None, None)
    rows: list[tuple[Scalar, ...]] = []
    for study, weight in zip(pair.studies, summary.weights, strict=True):
        ends = study.low, study.high
        rows.append((study.name, study.difference, *ends, study.error, None, weight, study.rows, study.groups))
    p = {_NAMES[0]: summary.p, _NAMES[1]: summary.p_hartung_knapp}
    rows += [(name, summary.mean, *ends, None, p.get(name), *nothing) for name, ends in _summary(summary).items()]
    rows.append(("between", summary.tau, *nothing, summary.heterogeneity, *nothing))
    return [{**shared, **dict(zip(fields, row, strict=True))} for row in rows]
