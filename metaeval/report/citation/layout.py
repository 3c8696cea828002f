"""Citation scores as a table: systems down and measures across, a block for each backend; and lines of any cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from metaeval.report.cells import cell, rank
from metaeval.report.grid import Block, Cell, Grid, Group, Line, Note, Rank, plain
from metaeval.report.result import Column
from metaeval.report.sheet import Record

Ends = tuple[float | None, float | None, float | None]
"""A value and the ends of its interval; None where undefined."""

_RANKED = ("recall", "precision", "f1")
"""Keys of the headline measures, whose best numbers are marked."""


@dataclass(frozen=True)
class Entry:
    """One system under one backend (empty: no verdict is needed), with its values by column key."""

    system: str
    backend: str
    values: Mapping[str, Ends]


@dataclass(frozen=True)
class Frame:
    """What stands around a table: key of its label, title, subtitle, footer and signatures."""

    key: tuple[str, ...]
    title: str
    subtitle: str
    footer: tuple[Note, ...] = ()
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """Named lines of cells in titled blocks, as they are printed, and the records that they are made of."""

    blocks: dict[str, list[tuple[str, Sequence[Cell]]]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def add(self, block: str, name: str, cells: Sequence[Cell], *records: Record) -> None:
        """Put a line into a block, and its records behind the others."""
        self.blocks.setdefault(block, []).append((name, cells))
        self.records.extend(records)


def entry_records(entries: Sequence[Entry]) -> list[dict[str, str | float | None]]:
    """The same as records: one for each system, backend and measure."""
    return [
        {"system": entry.system, "backend": entry.backend, "measure": name, "value": value, "low": low, "high": high}
        for entry in entries
        for name, (value, low, high) in entry.values.items()
    ]


def shown_columns(columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> list[Column]:
    """The columns that have a value, and those whose keys are `kept`."""
    return [one for one in columns if one.key in kept or any(_value(entry, one) is not None for entry in entries)]


def scores_grid(frame: Frame, columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> Grid:
    """Systems in blocks by backend; backends alone where there is one system.

    Columns without a value are left out, but for those whose keys are `kept`.
    """
    shown = shown_columns(columns, entries, kept)
    backends = list(dict.fromkeys(entry.backend for entry in entries))
    alone = len({entry.system for entry in entries}) == 1 and backends != [""]
    blocks = []
    for backend in [None] if alone else backends:
        own = [entry for entry in entries if backend is None or entry.backend == backend]
        ranks = [
            {} if alone or column.key not in _RANKED else rank([_value(entry, column) for entry in own], column)
            for column in shown
        ]
        lines = tuple(
            Line(
                plain(entry.backend if alone else entry.system),
                tuple(
                    interval_cell(entry.values.get(column.key), column, ranks=own_ranks)
                    for column, own_ranks in zip(shown, ranks, strict=True)
                ),
            )
            for entry in own
        )
        blocks.append(Block(plain(backend or ""), lines))
    return framed_grid(frame, [column.label for column in shown], blocks, "backend" if alone else "system")


def lines_grid(frame: Frame, stub: str, headings: Sequence[str], table: Table, groups: tuple[Group, ...] = ()) -> Grid:
    """Any named lines of cells, in titled blocks."""
    made = [
        Block(title, tuple(Line(plain(name), tuple(cells)) for name, cells in rows))
        for title, rows in table.blocks.items()
    ]
    return framed_grid(frame, headings, made, stub, groups)


def interval_cell(
    ends: Ends | None, column: Column, signed: bool = False, ranks: Mapping[str, Rank] = MappingProxyType({})
) -> Cell:
    """A value with its interval as the column prints it, and with its rank by the printed number.

    signed: an interval that can reach below 0.
    """
    made = cell(*(ends or (None, None, None)), column, spelt=signed)
    return replace(made, rank=ranks.get(made.number, ""))


def _value(entry: Entry, column: Column) -> float | None:
    ends = entry.values.get(column.key)
    return ends[0] if ends else None


def framed_grid(
    frame: Frame, headings: Sequence[str], blocks: Sequence[Block], stub: str, groups: tuple[Group, ...] = ()
) -> Grid:
    """Blocks in their frame, with a legend where a number has a rank."""
    ranked = any(cell.rank for block in blocks for line in block.lines for cell in line.cells)
    return Grid(
        key=frame.key,
        title=frame.title,
        subtitle=frame.subtitle,
        headings=tuple(headings),
        blocks=tuple(blocks),
        legend="Bold: best system of the block; underlined: second best." if ranked else "",
        footer=frame.footer,
        signatures=frame.signatures,
        stub=stub,
        groups=groups,
    )
