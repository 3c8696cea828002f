"""Tables of citation scores (systems by measures, in blocks by backend), and tables of any named lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from metaeval.report.result import Column
from metaeval.report.result_tables import cell, rank
from metaeval.report.table import (
    Block,
    Cell,
    ColumnGroup,
    Rank,
    Record,
    Table,
    TableLine,
    TableRow,
    plain,
)

IntervalEnds = tuple[float | None, float | None, float | None]
"""A value and the lower and upper end of its interval; None where undefined."""

_RANKED = ("recall", "precision", "f1")
"""Keys of the headline measures, whose best values are marked."""


@dataclass(frozen=True)
class Entry:
    """The values of one system with one backend (empty: no verdict is needed), by column key."""

    system: str
    backend: str
    values: Mapping[str, IntervalEnds]


@dataclass(frozen=True, eq=False)
class TableLines:
    """Named lines of cells in titled blocks, (block, name, cells), and their records."""

    rows: list[TableRow] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add(self, block: str, name: str, cells: Sequence[Cell | str], *records: Record) -> None:
        """Append a line to a block, and its records."""
        self.rows.append((block, name, cells))
        self.records.extend(records)


def entry_records(entries: Sequence[Entry]) -> list[dict[str, str | float | None]]:
    """Return one record per system, backend and measure."""
    return [
        {"system": entry.system, "backend": entry.backend, "measure": name, "value": value, "low": low, "high": high}
        for entry in entries
        for name, (value, low, high) in entry.values.items()
    ]


def shown_columns(columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> list[Column]:
    """Return the columns in which any entry has a value, and those whose keys are `kept`."""
    return [
        column
        for column in columns
        if column.key in kept or any(_value(entry, column) is not None for entry in entries)
    ]


def scores_grid(columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> Table:
    """Return the table of systems in blocks by backend; a single system has one block, with a line per backend.

    Columns without a value are left out, except those whose keys are `kept`.
    """
    shown = shown_columns(columns, entries, kept)
    backends = list(dict.fromkeys(entry.backend for entry in entries))
    alone = len({entry.system for entry in entries}) == 1 and backends != [""]
    blocks = []
    for backend in [None] if alone else backends:
        rows = [entry for entry in entries if backend is None or entry.backend == backend]
        ranks = [
            {} if alone or column.key not in _RANKED else rank([_value(entry, column) for entry in rows], column)
            for column in shown
        ]
        lines = tuple(
            TableLine(
                plain(entry.backend if alone else entry.system),
                tuple(
                    interval_cell(entry.values.get(column.key), column, ranks=own_ranks)
                    for column, own_ranks in zip(shown, ranks, strict=True)
                ),
            )
            for entry in rows
        )
        blocks.append(Block(plain(backend or ""), lines))
    return grid_of(blocks, "backend" if alone else "system", [column.label for column in shown])


def interval_cell(ends: IntervalEnds | None, column: Column, ranks: Mapping[str, Rank] = MappingProxyType({})) -> Cell:
    """Return the cell of a value and its interval. ranks: rank by printed number."""
    printed = cell(*(ends or (None, None, None)), column)
    return replace(printed, rank=ranks.get(printed.number, ""))


def _value(entry: Entry, column: Column) -> float | None:
    ends = entry.values.get(column.key)
    return ends[0] if ends else None


def grid_of(blocks: Sequence[Block], stub: str, headings: Sequence[str], groups: tuple[ColumnGroup, ...] = ()) -> Table:
    """Return a table of blocks under headings, with a legend where a number has a rank. stub: heading of the names."""
    ranked = any(cell.rank for block in blocks for line in block.lines for cell in line.cells)
    legend = "Bold: highest value of the block; underlined: second highest." if ranked else ""
    return Table(headings=tuple(headings), blocks=tuple(blocks), legend=legend, stub=stub, groups=groups)
