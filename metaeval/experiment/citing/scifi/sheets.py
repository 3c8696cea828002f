"""SCiFi as sheets: citation entailment and coverage, and what the answers are like."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from metaeval.citation.measures import Interval, Share
from metaeval.citation.scifi.shares import citations_without_facts, densities, sub_densities, uncited, unmapped
from metaeval.experiment.citing.quantities import Quantity, micro_of
from metaeval.experiment.citing.scifi.notes import data_of, frame_of, sheet_of
from metaeval.experiment.citing.scifi.rankings import ranking_sheets
from metaeval.experiment.citing.scifi.run import Assessed, Scored
from metaeval.experiment.sheet import Record, Sheet
from metaeval.report.citation.layout import Ends, Entry, scores_grid, shown_columns
from metaeval.report.grid import Grid, Group, Note
from metaeval.report.result import Column, Data

_GROUPS: Mapping[str, str] = {"entailment": "entailment", "coverage": "coverage", "count": "facts"}
"""Headings over the columns, by what their keys begin with."""

_COUNTS = (
    Column(key="count_valued", label="valued", digits=0),
    Column(key="count_reference", label="reference", digits=0),
)
_TEXTS = (
    Column(key="density", label="density", digits=2),
    Column(key="density_sub", label="density (sub)", digits=2),
    Column(key="facts_per_sentence", label="facts per sentence", digits=2),
    Column(key="uncited", label="uncited %", scale=100, digits=1),
    Column(key="citations_without_facts", label="unused %", scale=100, digits=1),
    Column(key="not_found", label="not found %", scale=100, digits=1),
)
_READING: Mapping[str, str] = {
    "density": "density: citations per sentence",
    "density_sub": "sub: those with a further word of their sentence behind them",
    "uncited": "uncited: facts of sentences without a citation",
    "citations_without_facts": "unused: citations that no fact is held against",
    "not_found": "not found: facts whose segment is not in their sentence",
}
"""What the columns of the answers say, by their keys."""


def scifi_sheets(assessed: Assessed) -> list[Sheet]:
    """Every sheet of a run, in the order in which they are read. Rankings need two backends and two systems."""
    data = data_of(assessed)
    return [_scores(assessed, data), _texts(assessed, data), *ranking_sheets(assessed, data)]


def text_shares(assessed: Assessed) -> Mapping[str, list[Share]]:
    """What the answers are like, of each answer, by the key of its column; no verdict is needed."""
    read, lines, options = assessed.read, assessed.scored[0].facts, assessed.prepared.options
    found = (
        densities(read, options),
        sub_densities(read, options),
        [Share(len(own.facts), len(own.sentences) - len(own.lost)) for own in read],
        uncited(assessed.answers, lines),
        citations_without_facts(read, lines, options),
        unmapped(read),
    )
    return {column.key: shares for column, shares in zip(_TEXTS, found, strict=True)}


def _scores(assessed: Assessed, data: Data) -> Sheet:
    entries = [
        Entry(system, one.backend.name, {**_values(assessed, one.quantities, number), **_counts(assessed, one, number)})
        for one in assessed.scored
        for number, system in enumerate(assessed.systems)
    ]
    columns = [*(quantity.column for quantity in assessed.scored[0].quantities), *_COUNTS]
    # What the table is about stands in it, even where nothing has a value.
    kept = {one.key for one in columns if assessed.referred or one.key.startswith(("entailment", "count_valued"))}
    title = "Citation entailment of facts" + (", and coverage of the reference" if assessed.referred else "")
    frame = frame_of(assessed, data, "scifi-scores", f"{title} (%)")
    shown = {one.backend.name: _read_as(one) for one in assessed.scored}
    named = [replace(entry, backend=shown[entry.backend]) for entry in entries]
    grid = _grouped(scores_grid(frame, columns, named, kept), columns, entries, kept)
    return sheet_of(assessed, data, "scifi-scores", _records(entries), grid)


def _read_as(one: Scored) -> str:
    """A backend, with its threshold where it has one: its values are 0 and 1, and compare with no scores."""
    threshold = one.backend.cutoff.value
    return one.backend.name if threshold is None else f"{one.backend.name} at {threshold:g}"


def _texts(assessed: Assessed, data: Data) -> Sheet:
    shares = text_shares(assessed)
    quantities = [micro_of(column, shares[column.key]) for column in _TEXTS]
    entries = [
        Entry(system, "", _values(assessed, quantities, number)) for number, system in enumerate(assessed.systems)
    ]
    said = [text for key, text in _READING.items() if any(entry.values[key][0] is not None for entry in entries)]
    notes = [Note("reading", "; ".join(said))] if said else []
    frame = frame_of(assessed, data, "scifi-answers", "The answers", notes)
    return sheet_of(assessed, data, "scifi-answers", _records(entries), scores_grid(frame, _TEXTS, entries))


def _counts(assessed: Assessed, one: Scored, system: int) -> dict[str, Ends]:
    """How many facts have a value: of the answers, and of their references (None: there is no reference)."""
    rows = [row for row, code in enumerate(assessed.system) if code == system]
    valued = sum(one.entailment[row].total for row in rows)
    referred = any(assessed.read[row].reference is not None for row in rows)
    reference = sum(one.coverage[row].total for row in rows) if referred else None
    return {_COUNTS[0].key: (valued, None, None), _COUNTS[1].key: (reference, None, None)}


def _values(assessed: Assessed, quantities: Sequence[Quantity], system: int) -> dict[str, Ends]:
    return {quantity.column.key: _ends(assessed.interval(quantity, system)) for quantity in quantities}


def _ends(interval: Interval) -> Ends:
    return interval.value, interval.low, interval.high


def _grouped(grid: Grid, columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str]) -> Grid:
    """The grid with a heading over the columns of each measure; those without a value are in it if they are kept."""
    shown = shown_columns(columns, entries, kept)
    names = [_GROUPS[column.key.partition("_")[0]] for column in shown]
    groups = tuple(Group(name, names.count(name)) for name in dict.fromkeys(names))
    return replace(grid, groups=groups)


def _records(entries: Sequence[Entry]) -> list[Record]:
    return [
        {"system": entry.system, "backend": entry.backend, "measure": name, "value": value, "low": low, "high": high}
        for entry in entries
        for name, (value, low, high) in entry.values.items()
    ]
