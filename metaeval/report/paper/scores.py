"""Tables 2 and 3: metrics down, data sets and their measures across, one compact number a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.report.cells import CONTROLS, legend, rank, units
from metaeval.report.footer import in_blocks
from metaeval.report.footnotes import LEVEL, letters, reason_of
from metaeval.report.grid import Block, Cell, Grid, Group, Line, Note, Rank
from metaeval.report.number_format import numeral, plain, value_of
from metaeval.report.paper.sources import named, shared_footer, signatures
from metaeval.report.result import Column, Result, Row
from metaeval.report.significance_note import cluster, settings


def score_table(results: Sequence[Result]) -> Grid:
    """One protocol's results as one table; best and second best go by data set and measure.

    A measure with published values has a second column, `paper`. A metric has blank cells where a data set lacks it.
    """
    sources = named(results)
    parts = {name: _Part(result) for name, result in sources.items()}
    order = [row for result in results for row in in_blocks(result.rows)]
    reasons = letters(value_of(row, column) for result in results for row in result.rows for column in result.columns)
    blocks = []
    for title, kind in (("", "metric"), (CONTROLS, "control")):
        names = list(dict.fromkeys(row.metric for row in order if row.kind == kind))
        lines = tuple(
            Line(plain(name), tuple(cell for part in parts.values() for cell in part.cells(name, kind, reasons)))
            for name in names
        )
        blocks.append(Block(title, lines))
    return Grid(
        key=("paper", results[0].protocol),
        title=plain(results[0].title),
        subtitle=", ".join(dict.fromkeys(units(result.unit) for result in results)),
        headings=tuple(heading for part in parts.values() for heading in part.headings),
        blocks=tuple(block for block in blocks if block.lines),
        legend=legend(part.ranks[column.key] for part in parts.values() for column in part.columns),
        footnotes=_footnotes(results, reasons),
        footer=(*_reading(results), *shared_footer(sources)),
        signatures=signatures(results),
        groups=tuple(Group(name, len(part.headings)) for name, part in parts.items()),
    )


class _Part:
    """One result's columns: its measures, each with the published values behind it where there are any."""

    def __init__(self, result: Result) -> None:
        metrics = [row for row in result.rows if row.kind == "metric"]
        self.columns = result.columns
        self.ranks: dict[str, dict[str, Rank]] = {column.key: rank(metrics, column) for column in self.columns}
        self.published = {
            column.key for column in self.columns for row in result.rows if value_of(row, column).published is not None
        }
        self.headings = [
            heading
            for column in self.columns
            for heading in ([plain(column.label), "paper"] if column.key in self.published else [plain(column.label)])
        ]
        self._rows: dict[tuple[str, str], Row] = {(row.metric, row.kind): row for row in result.rows}

    def cells(self, name: str, kind: str, reasons: Mapping[str, str]) -> list[Cell]:
        row = self._rows.get((name, kind))
        if row is None:
            return [Cell("") for _ in self.headings]
        cells = []
        for column in self.columns:
            value = value_of(row, column)
            number = numeral(value.value, column)
            held = self.ranks[column.key].get(number, "") if kind == "metric" else ""
            cells.append(Cell(number, rank=held, marks=_marks(row, column, reasons)))
            if column.key in self.published:
                cells.append(Cell("" if value.published is None else numeral(value.published, column)))
        return cells


def _marks(row: Row, column: Column, reasons: Mapping[str, str]) -> tuple[str, ...]:
    flagged = LEVEL if row.kind == "metric" and row.not_above.get(column.key) else ""
    letter = reasons.get(reason_of(value_of(row, column)), "")
    return tuple(mark for mark in (cluster(row, column), flagged, letter) if mark)


def _footnotes(results: Sequence[Result], reasons: Mapping[str, str]) -> tuple[Note, ...]:
    flagged = any(
        row.not_above.get(column.key)
        for result in results
        for row in result.rows
        for column in result.columns
        if row.kind == "metric"
    )
    found = (Note(LEVEL, "interval does not lie above that of a control (the two oracles aside)"),) if flagged else ()
    return (*found, *(Note(letter, reason) for reason, letter in reasons.items()))


def _reading(results: Sequence[Result]) -> tuple[Note, ...]:
    """What the raised numbers, the second columns and the blank cells mean, as far as the table has them."""
    tests = dict.fromkeys(settings(result.significance) for result in results if result.significance is not None)
    values = [value_of(row, column) for result in results for row in result.rows for column in result.columns]
    published = any(value.published is not None for value in values)
    sources = ", ".join(dict.fromkeys(plain(result.published) for result in results if result.published))
    names = {(row.metric, row.kind) for result in results for row in result.rows}
    blank = sum(len(result.rows) for result in results) < len(names) * len(results)
    notes = (
        Note("significance", f"same raised number in a column: not told apart ({'; '.join(tests)})" if tests else ""),
        Note("paper", f"published values{f' ({sources})' if sources else ''}" if published else ""),
        Note("blank", "not scored on that data set" if blank else ""),
    )
    return tuple(note for note in notes if note.text)
