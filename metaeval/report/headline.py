"""The table of a first screen: each metric's headline values, and of all controls the strongest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from metaeval.report.cell_notes import LEVEL, UNSCORED, letters, marks
from metaeval.report.cells import cell, legend, rank, units
from metaeval.report.findings import best_control
from metaeval.report.grid import Block, Cell, Grid, Group, Line, Note, Rank, count, numeral, plain, short
from metaeval.report.measures import LEVELS, Headline, Readings, headlines, metrics_of, untested
from metaeval.report.notes import cluster
from metaeval.report.result import Result, Row

ROWS = 12
"""Metrics that the table shows; of more, those with the highest values. What is said below fits on the same screen."""

_FEW = 7
"""Up to so many metrics there is room for cells of two lines."""

_EXPLAINED = 5
"""Up to so many there is room for what each measure is."""


def headline_grid(results: Sequence[Result], readings: Readings, most: int = ROWS) -> Grid:
    """The results of one data set in one table: a column for each protocol's headline; those of several: `suite_grid`.

    A single protocol shows all measures of its table, where there are few metrics. most: metrics that are shown.
    """
    if len({(one.data.name, one.data.split, one.unit) for one in results}) > 1:
        return suite_grid(results, readings, most)
    shown = headlines(results, readings)
    if len(results) == 1 and len(metrics_of(results[0])) <= _FEW:
        shown = [Headline(results[0], column) for column in results[0].columns]
    names, left = _names(shown, most)
    first = shown[0].result
    several = len(results) > 1
    grid = Grid(
        key=("headline", first.data.name, first.data.split, first.unit),
        title="Metrics against human labels" if several else plain(first.title),
        subtitle=_subtitle(results),
        headings=tuple(plain(one.column.label) for one in shown),
        groups=tuple(Group(plain(one.result.protocol)) for one in shown) if several else (),
    )
    return _filled(grid, shown, names, left, readings, intervals=True)


def suite_grid(results: Sequence[Result], readings: Readings, most: int = ROWS) -> Grid:
    """The results of several data sets in one table: a group of columns for each protocol, a column for each data set.

    Cells have no interval. most: metrics that are shown.
    """
    protocols = list(dict.fromkeys(result.protocol for result in results))
    ordered = sorted(results, key=lambda result: protocols.index(result.protocol))
    shown = headlines(ordered, readings)
    names, left = _names(shown, most)
    labels = {
        name: list(dict.fromkeys(plain(one.column.label) for one in shown if one.result.protocol == name))
        for name in protocols
    }
    several_units = len({result.unit for result in results}) > 1
    grid = Grid(
        key=("headline",),
        title="Metrics against human labels",
        subtitle=", ".join(dict.fromkeys(units(result.unit) for result in results)),
        headings=tuple(plain(one.result.data.name) + (f" {one.result.unit}" if several_units else "") for one in shown),
        groups=tuple(
            Group(f"{plain(name)}: {', '.join(labels[name])}", sum(one.result.protocol == name for one in shown))
            for name in protocols
        ),
    )
    return _filled(grid, shown, names, left, readings, intervals=False)


def _subtitle(results: Sequence[Result]) -> str:
    """The data of the result that has the fewest rows: retrieval adds its pools."""
    result = min(results, key=lambda one: sum(one.data.levels.values()))
    data = result.data
    counts = [f"{name} {data.levels[name]:,}" for name in LEVELS if name in data.levels]
    largest = max(result.rows, key=lambda row: row.total, default=None)
    rows = f"{largest.total if largest else 0:,} {units(result.unit)}"
    if largest and largest.excluded:
        rows += f" ({sum(largest.excluded.values()):,} left out: {plain(', '.join(largest.excluded))})"
    rows += f", {count(data.groups, 'group')}"
    where = ", ".join(filter(None, (plain(data.name), plain(data.split))))
    return "; ".join(filter(None, (f"{where}: {rows}", " / ".join(counts))))


def _names(shown: Sequence[Headline], most: int) -> tuple[list[str], int]:
    """The metrics of the table in the results' order, and how many are left out."""
    names = list(dict.fromkeys(row.metric for one in shown for row in metrics_of(one.result)))
    if len(names) <= most:
        return names, 0
    first = shown[0]
    values = {row.metric: first.value(row).value for row in first.metrics}
    best = sorted(names, key=lambda name: -(values.get(name) or -1e9) if values.get(name) is not None else 1e9)
    return best[:most], len(names) - most


def _filled(
    grid: Grid, shown: Sequence[Headline], names: Sequence[str], left: int, readings: Readings, intervals: bool
) -> Grid:
    rows = [{row.metric: row for row in metrics_of(one.result)} for one in shown]
    reasons = letters(one.value(row) for one, of in zip(shown, rows, strict=True) for row in of.values())
    ranks = [rank((one.value(row).value for row in one.metrics), one.column) for one in shown]
    spelt = [_spelt(one, names) for one in shown]

    def line(name: str) -> Line:
        cells = (
            _cell(one, of[name], intervals, to, ranked, reasons) if name in of else Cell()
            for one, of, to, ranked in zip(shown, rows, spelt, ranks, strict=True)
        )
        return Line(plain(name), tuple(cells))

    best = [best_control(one, readings.aside) for one in shown]
    controls = dict.fromkeys(row.metric for row in best if row)
    folded = tuple(
        Line(
            plain(name),
            tuple(
                _cell(one, row, intervals, to, {}, {}) if row and row.metric == name else Cell()
                for one, row, to in zip(shown, best, spelt, strict=True)
            ),
        )
        for name in controls
    )
    blocks = (Block("", tuple(map(line, names))), Block(f"best control{'s' if len(controls) > 1 else ''}", folded))
    grid = replace(grid, blocks=tuple(block for block in blocks if block.lines), legend=legend(ranks))
    return replace(
        grid,
        footnotes=_notes(grid, shown, reasons, left),
        footer=_abouts(shown, readings) if len(names) <= _EXPLAINED else (),
    )


def _cell(
    one: Headline,
    row: Row,
    intervals: bool,
    spelt: bool,
    ranks: Mapping[str, Rank],
    reasons: Mapping[str, str],
) -> Cell:
    value, column = one.value(row), one.column
    made = cell(value.value, *((value.low, value.high) if intervals else (None, None)), column, spelt=spelt)
    kept = (LEVEL, UNSCORED, *reasons.values())
    raised = (cluster(row, column), *(mark for mark in marks(row, column, reasons) if mark in kept))
    ends = tuple(map(short, made.ends)) if made.ends else ()
    return replace(
        made,
        number=short(made.number),
        interval=(" to " if spelt else "–").join(ends),
        rank=ranks.get(made.number, ""),
        marks=tuple(filter(None, raised)),
    )


def _spelt(one: Headline, names: Sequence[str]) -> bool:
    """Whether an end in the column is negative: a dash beside a minus sign cannot be read."""
    ends = [one.value(row).low for row in one.metrics if row.metric in names]
    return any(numeral(end, one.column).startswith("-") for end in ends)


def _notes(grid: Grid, shown: Sequence[Headline], reasons: Mapping[str, str], left: int) -> tuple[Note, ...]:
    used = {mark for line in grid.lines for cell in line.cells for mark in cell.marks}
    clusters = any(mark.isdigit() for mark in used)
    notes = (
        Note("1", "same number in a column: not told apart" if clusters else ""),
        Note(LEVEL, f"not shown to be above every control{untested(shown)}" if LEVEL in used else ""),
        Note(UNSCORED, "rows without a score could move the value" if UNSCORED in used else ""),
        *(Note(letter, reason) for reason, letter in reasons.items() if letter in used),
        Note("", f"{count(left, 'more metric')}: --full" if left else ""),
    )
    return tuple(note for note in notes if note.text)


def _abouts(shown: Sequence[Headline], readings: Readings) -> tuple[Note, ...]:
    """What each measure is, as its protocol declares it."""
    said = {plain(one.column.label): plain(readings.of(one.result).about.get(one.column.key, "")) for one in shown}
    return tuple(Note(label, text) for label, text in said.items() if text)
