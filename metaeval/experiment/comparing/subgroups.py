"""Metrics on parts of the data: by system, length, place, data set or field, with intervals and counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from metaeval.config import RunConfig
from metaeval.errors import UserError, shown, unknown
from metaeval.experiment.evaluation import Asked, column_of
from metaeval.experiment.metric_scores import Panel, headline, judged, make_sheet, protocols_of
from metaeval.experiment.prepared_run import Frame, RatedSet, find_dataset
from metaeval.files import safe_name
from metaeval.report.cells import cell
from metaeval.report.grid import Cell, Note, TableRow, count, plain
from metaeval.report.notes import intervals_of, letters
from metaeval.report.result import Column, Data, Interval, Value
from metaeval.report.sheet import Record, Sheet
from metaeval.stats.arrays import Bools
from protocols.contract import Estimate, Protocol

DIVISIONS = ("system", "dataset", "length", "position")
DIMENSION = "dimension"
"""The field of ratings whose parts are the same texts, rated for another thing."""
MOST_PARTS = 60

_THIRDS = ("first third", "middle third", "last third")
_WHOLE = "the document's only chunk"
_ALL = "all"
_NOT_SAID = "not said"
_NUMBER = re.compile(r"-?\d+(\.\d+)?")

Named = tuple[list[str], Sequence[str]]
"""The name of each row's part, and all names in the order in which they are shown."""


@dataclass(frozen=True)
class Part:
    """A subgroup: its name, the panel that it comes from, and which of a frame's rows (n,) are in it."""

    name: str
    panel: Panel
    frame: Frame
    rows: Bools


def check_division(by: str, config: RunConfig) -> str:
    """The division by its name; `UserError` for another, and for one that the run's unit does not have.

    Which fields ratings have is told by `parts_of`, since only their file says it.
    """
    if by == "position" and config.unit != "chunk":
        raise UserError(
            f"A place in a document is a chunk's: --by position needs unit=chunk (unit is {config.unit!r})."
        )
    if by not in DIVISIONS and find_dataset(config.dataset, config)[0].kind != "ratings":
        raise unknown("division", by, DIVISIONS)
    return by


def parts_of(panels: Sequence[Panel], protocol: Protocol, by: str) -> list[Part]:
    """The parts of the rows that a protocol sees, all of them together first; `UserError` where there is no such part.

    panels: one, or with by="dataset" one a data set.
    """
    if by == "dataset":
        frames = [panel.source.frame(protocol) for panel in panels]
        times = Counter(frame.name for frame in frames)
        names = [f"{frame.name} {frame.split}" if times[frame.name] > 1 else frame.name for frame in frames]
        return [
            Part(name, panel, frame, np.ones(frame.gold.size, dtype=np.bool_))
            for name, panel, frame in zip(names, panels, frames, strict=True)
        ]
    (panel,) = panels
    frame = panel.source.frame(protocol)
    divide = {"system": _systems, "length": _lengths, "position": _places}.get(by) or partial(_values, by)
    names, order = divide(panel, frame)
    labels = np.array(names)
    whole = Part(_ALL, panel, frame, np.ones(labels.size, dtype=np.bool_))
    parts = (Part(name, panel, frame, labels == name) for name in dict.fromkeys(order))
    return [*([] if by == DIMENSION else [whole]), *(part for part in parts if part.rows.any())]


def _values(by: str, panel: Panel, frame: Frame) -> Named:
    """The values of a field of the ratings; numbers in their order."""
    source = panel.source
    rows = [source.ratings.rows[number] for number in frame.numbers] if isinstance(source, RatedSet) else []
    known = [name for name in ("subset",) if any(row.subset for row in rows)]
    known += dict.fromkeys(name for row in rows for name in row.fields)
    if by not in known:
        raise unknown("division", by, [*known, "system", "length"])
    names = [(row.subset if by == "subset" else row.fields.get(by, "")) or _NOT_SAID for row in rows]
    values = sorted(set(names))
    if len(values) > MOST_PARTS:
        raise UserError(
            f"{frame.name} has {len(values):,} values of {shown(by)}, and a table {MOST_PARTS} parts at most."
        )
    return names, sorted(values, key=lambda name: (float(name) if _NUMBER.fullmatch(name) else math.inf, name))


def _systems(panel: Panel, frame: Frame) -> Named:
    if frame.system is None:
        raise UserError(f"{frame.name} does not say which system wrote which statement: choose another --by.")
    source = panel.source
    if isinstance(source, RatedSet):
        names = [source.ratings.rows[number].system for number in frame.numbers]
    else:
        names = [source.corpus.statements[source.rows[number].statement_id].system for number in frame.numbers]
    return names, sorted(names)


def statement_words(panel: Panel, frame: Frame) -> NDArray[np.int64]:
    """Words in each row's statement, or rated text; (n,). `UserError` where the texts are not in the data."""
    source = panel.source
    if isinstance(source, RatedSet):
        texts = [source.ratings.rows[number].text for number in frame.numbers]
    else:
        texts = [source.rows[number].statement for number in frame.numbers]
    if not all(texts):
        raise UserError(f"{frame.name} does not hold every text that was rated, so lengths are not known.")
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


def _lengths(panel: Panel, frame: Frame) -> Named:
    """Quarters of the distinct statements (of the texts, where they are rated) by their words."""
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


def _places(panel: Panel, frame: Frame) -> Named:
    """The third of its document that a chunk's middle lies in."""
    source = panel.source
    if isinstance(source, RatedSet):
        raise UserError(f"A place in a document is a chunk's, and {frame.name} rates whole texts.")
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
"""Groups below which an interval is not to be trusted."""


def by_part(panels: Sequence[Panel], by: str) -> list[Sheet]:
    """Each metric's headline measure on every part, one sheet for each protocol that reads the data.

    panels: one, or with by="dataset" one a data set, with the same metrics. Raises `UserError` where the data cannot
    be divided so.
    """
    sheets = [_sheet(panels, asked, by, parts_of(panels, asked[0], by)) for asked in readable_by(panels, by)]
    # A protocol that tells nothing anywhere is left out, unless it is all that was asked for.
    telling = [sheet for sheet in sheets if any(record["value"] is not None for record in sheet.records)]
    return telling or sheets


def readable_by(panels: Sequence[Panel], by: str) -> list[Asked]:
    """The protocols that read every data set; a pool is no pool any more when its chunks are divided."""
    found = protocols_of(panels[0])
    for panel in panels[1:]:
        names = {protocol.name for protocol, _ in protocols_of(panel)}
        found = [asked for asked in found if asked[0].name in names]
    if by in ("position", "system"):
        cut = by == "position" or isinstance(panels[0].source, RatedSet)
        found = [asked for asked in found if not (cut and asked[0].uses_pool)]
    if not found:
        raise UserError(f"No protocol of the run can be read by {by}: ask for correlation or classification.")
    return found


def _sheet(panels: Sequence[Panel], asked: Asked, by: str, parts: Sequence[Part]) -> Sheet:
    protocol, options = asked
    measure = headline(protocol, parts[0].frame, parts[0].panel.columns[0])
    column = column_of(measure)
    records = [record for part in parts for record in _records(part, asked, by, measure.key)]
    reasons = letters(Value(value=None, note=str(one["note"])) for one in records if one["value"] is None)
    spelt = any(str(one["low"]).startswith("-") for one in records)
    headings = ("rows", "groups", *(plain(one.name) for one in panels[0].columns))
    rows: list[TableRow] = []
    few = []
    for part in parts:
        own = [one for one in records if one["part"] == part.name]
        groups = np.unique(part.frame.group[part.rows]).size
        # Of a part without an interval, nothing is to be said about one.
        few.append(groups < FEW and any(one["low"] is not None for one in own))
        counts = f"{int(part.rows.sum()):,}", Cell(f"{groups:,}", marks=("†",) if few[-1] else ())
        rows.append(("", part.name, [*counts, *(_cell(one, column, reasons, spelt) for one in own)]))
    warned = (Note("†", f"fewer than {FEW} groups: the interval may be too narrow, and moves with every group"),)
    sheet = make_sheet(
        panels[0],
        parts[0].frame,
        f"{protocol.name}-by-{safe_name(by)}",
        f"{plain(protocol.title)}: {plain(measure.label)} by {_TITLES.get(by, plain(by))}",
        {"protocol": protocol.name, **options, "by-part": by},
        (plain(by), headings, rows),
        records,
        footnotes=(*(warned if any(few) else ()), *(Note(letter, reason) for reason, letter in reasons.items())),
        data=Data.together([part.frame.summary for part in parts]) if by == "dataset" else None,
        method=panels[0].config.interval.method,
    )
    return replace(sheet, grid=replace(sheet.grid, footer=tuple(_own(note, panels[0]) for note in sheet.grid.footer)))


def _own(note: Note, panel: Panel) -> Note:
    """The note on resampling, of parts."""
    interval = panel.config.interval
    if note.label != "uncertainty" or not interval.resamples:
        return note
    made = intervals_of(Interval(**interval.model_dump()))
    if interval.method == "t":
        return Note(note.label, f"{made}, from each part's own groups")
    resampled = f"{count(interval.resamples, 'resample')} of each part's own groups, seed {interval.seed}"
    return Note(note.label, f"{made}, {resampled}")


def _records(part: Part, asked: Asked, by: str, key: str) -> list[Record]:
    protocol, options = asked
    records: list[Record] = []
    for column in part.panel.columns:
        rows = judged(part.frame, column).rows(part.rows)
        nothing = protocol.measure(key).blind(rows)
        outcome = protocol.evaluate(rows, part.panel.resampling, options)
        missing = nothing or "not a measure of these data"
        # Of two gold values, which a part may have alone, the concordance is called ROC-AUC.
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


def _cell(one: Record, column: Column, reasons: Mapping[str, str], spelt: bool) -> Cell:
    value, low, high = (None if one[name] is None else float(str(one[name])) for name in ("value", "low", "high"))
    letter = reasons.get(plain(str(one["note"])) or "undefined, no reason recorded", "") if value is None else ""
    return cell(value, low, high, column, marks=(letter,) if letter else (), spelt=spelt)
