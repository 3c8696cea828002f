"""Tables of named lines in titled blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from metaeval.report.result import Column
from metaeval.report.result_tables import cell
from metaeval.report.table import (
    Block,
    Cell,
    ColumnGroup,
    Rank,
    Record,
    Table,
    TableRow,
)

IntervalEnds = tuple[float | None, float | None, float | None]
"""A value and the lower and upper end of its interval; None where undefined."""


@dataclass(frozen=True, eq=False)
class TableLines:
    """Named lines of cells in titled blocks, (block, name, cells), and their records."""

    rows: list[TableRow] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add(self, block: str, name: str, cells: Sequence[Cell | str], *records: Record) -> None:
        """Append a line to a block, and its records."""
        self.rows.append((block, name, cells))
        self.records.extend(records)


def interval_cell(ends: IntervalEnds | None, column: Column, ranks: Mapping[str, Rank] = MappingProxyType({})) -> Cell:
    """Return the cell of a value and its interval. ranks: rank by printed number."""
    printed = cell(*(ends or (None, None, None)), column)
    return replace(printed, rank=ranks.get(printed.number, ""))


def grid_of(blocks: Sequence[Block], stub: str, headings: Sequence[str], groups: tuple[ColumnGroup, ...] = ()) -> Table:
    """Return a table of blocks under headings, with a legend where a number has a rank. stub: heading of the names."""
    ranked = any(cell.rank for block in blocks for line in block.lines for cell in line.cells)
    legend = "Bold: highest value of the block; underlined: second highest." if ranked else ""
    return Table(headings=tuple(headings), blocks=tuple(blocks), legend=legend, stub=stub, groups=groups)
