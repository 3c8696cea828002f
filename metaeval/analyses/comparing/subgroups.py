"""Metrics on subgroups of the data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from metaeval.analyses.panel import Panel, headline_measure, judged, make_sheet
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count, shown, unknown
from metaeval.core.files import safe_name
from metaeval.report.result import Interval
from metaeval.report.result_tables import cell
from metaeval.report.table import Cell, Note, Record, Table, TableRow, plain
from metaeval.report.table_notes import interval_text, numbers, reason_of
from metaeval.runs.data import Frame, RatedSet, kind_of_data
from metaeval.runs.evaluate import ProtocolSetup, column_of
from metaeval.stats.arrays import Bools
from metaeval.stats.estimate import Estimate

DIVISIONS = ("system", "length", "position")
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


def check_division(by: str, config: RunConfig) -> None:
    """Check the name of a division of the rows, such as "length".

    Raises `UserError` for an unknown division, and for position where the unit is not chunk. On ratings any other name
    passes: it may be a field, which `parts_of` checks when their file has been read.
    """
    if by == "position" and config.unit != "chunk":
        raise UserError(f"--by position divides chunks of documents: set unit=chunk (unit is {config.unit!r}).")
    if by not in DIVISIONS and kind_of_data(config) != "ratings":
        raise unknown("division", by, DIVISIONS)


def parts_of(panel: Panel, frame: Frame, by: str) -> list[tuple[str, Bools]]:
    """Return names and rows, (n,), of a frame's subgroups, behind all rows; by dimension, of the subgroups alone.

    Subgroups without a row are left out. Raises `UserError` where the data do not have the division.
    """
    divide = {"system": _systems, "length": _lengths, "position": _places}.get(by) or partial(_values, by)
    names, order = divide(panel, frame)
    labels = np.array(names)
    whole = [] if by == DIMENSION else [(_ALL, np.ones(labels.size, dtype=np.bool_))]
    return [*whole, *((name, inside) for name in dict.fromkeys(order) if (inside := labels == name).any())]


def _values(by: str, panel: Panel, frame: Frame) -> PartNames:
    """Return the division of rows by the values of the ratings' field `by`, numbers by size; error for too many."""
    source = panel.source
    columns: dict[str, Any] = {}
    if isinstance(source, RatedSet):
        rows = source.ratings.columns.take(frame.numbers)
        columns = {**({"subset": rows.subset} if any(rows.subset) else {}), **rows.fields}
    if by not in columns:
        raise unknown("division", by, [*columns, "system", "length"])
    names = [name or _NOT_SAID for name in columns[by]]
    values = sorted(set(names))
    if len(values) > MOST_PARTS:
        raise UserError(f"The field {shown(by)} has {count(len(values), 'value')}; allowed: at most {MOST_PARTS}.")
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


def _lengths(panel: Panel, frame: Frame) -> PartNames:
    """Return the division of rows into quarters by the length in words of their statement or rated text.

    A statement with several rows counts once where the quarters are cut; quarters with equal ends are merged. Raises
    `UserError` if any text is empty.
    """
    source = panel.source
    if isinstance(source, RatedSet):
        texts = source.ratings.columns.text[frame.numbers].tolist()
    else:
        texts = [source.rows[number].statement for number in frame.numbers]
    if not all(texts):
        raise UserError(f"{frame.name} lacks texts of rated rows, so lengths are unknown: leave --by length out.")
    words = distinct = np.array([len(text.split()) for text in texts], dtype=np.int64)
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
        raise UserError(f"--by position divides chunks of documents, and {frame.name} rates whole texts.")
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
    "length": "statement length",
    "position": "place in the document",
}

FEW = 10
"""Fewer groups than this make an interval unreliable."""


def by_part(panel: Panel, by: str) -> list[Table]:
    """Return each metric's headline measure on every subgroup, one table for each protocol that the data allow.

    Protocols of edits are left out, those of pools where the division splits pools, and one without a value on any
    subgroup, unless all are. Raises `UserError` where no protocol is left, or the data do not have the division.
    """
    cut = by == "position" or (by == "system" and isinstance(panel.source, RatedSet))
    setups = [setup for setup in panel.readable[0] if not (setup[0].of_edits or (cut and setup[0].uses_pool))]
    if not setups:
        raise UserError(f"No protocol of this run works on parts by {by}: give -p correlation or classification.")
    sheets = [_sheet(panel, setup, by) for setup in setups]
    telling = [sheet for sheet in sheets if any(record["value"] is not None for record in sheet.records)]
    return telling or sheets


def _sheet(panel: Panel, protocol_setup: ProtocolSetup, by: str) -> Table:
    protocol, options = protocol_setup
    frame = panel.source.frame(protocol)
    measure = headline_measure(protocol_setup, frame, panel.columns[0])
    column = column_of(measure)
    # On a subgroup with two gold values the concordance is named ROC-AUC.
    names = ("concordance", "auc") if measure.key == "concordance" else (measure.key,)
    parts: list[tuple[str, Bools, list[Estimate]]] = []
    records: list[Record] = []
    for part, inside in parts_of(panel, frame, by):
        parts.append((part, inside, []))
        for metric in panel.columns:
            of_part = judged(frame, metric).rows(inside)
            nothing = protocol.measure(measure.key).blind(of_part)
            outcome = protocol.evaluate(of_part, panel.resampling, options)
            known = {} if nothing else outcome.estimates
            missing = Estimate(None, note=nothing or "not a measure of these data")
            estimate = next((known[name] for name in names if name in known), missing)
            parts[-1][2].append(estimate)
            records.append(
                {
                    **{"protocol": protocol.name, "measure": measure.key, "by": by, "part": part},
                    **{"metric": metric.name, "value": estimate.value, "low": estimate.low, "high": estimate.high},
                    **{"rows": of_part.gold.size, "scored": outcome.scored},
                    **{"groups": np.unique(of_part.group).size, "note": estimate.note},
                }
            )
    reasons = numbers(estimate for *_, of in parts for estimate in of if estimate.value is None)
    rows: list[TableRow] = []
    few = []
    for part, inside, of in parts:
        groups = np.unique(frame.group[inside]).size
        # A subgroup without an interval needs no warning about intervals.
        few.append(groups < FEW and any(estimate.interval for estimate in of))
        cells: list[Cell | str] = [f"{int(inside.sum()):,}", Cell(f"{groups:,}", marks=("†",) if few[-1] else ())]
        for estimate in of:
            why = reasons[reason_of(estimate)] if estimate.value is None else ""
            cells.append(cell(*estimate.ends, column, marks=(why,) if why else ()))
        rows.append(("", part, cells))
    warned = (Note("†", f"fewer than {FEW} groups: the interval may be too narrow, and moves with every group"),)
    sheet = make_sheet(
        panel,
        frame,
        f"{protocol.name}-by-{safe_name(by)}",
        f"{plain(protocol.title)}: {plain(measure.label)} by {_TITLES.get(by, plain(by))}",
        {"protocol": protocol.name, **options, "by-part": by},
        (plain(by), ("rows", "groups", *(plain(metric.name) for metric in panel.columns)), rows),
        records,
        footnotes=(*(warned if any(few) else ()), *(Note(number, reason) for reason, number in reasons.items())),
    )
    interval = panel.config.interval
    if not interval.resamples:
        return sheet
    text = f"{interval_text(Interval(**interval.model_dump()))}, from each part's own groups"
    footer = (Note(note.label, text) if note.label == "uncertainty" else note for note in sheet.footer)
    return replace(sheet, footer=tuple(footer))
