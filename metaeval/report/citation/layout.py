"""Citation scores as a table: systems down and measures across, a block for each backend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from metaeval.report.grid import UNDEFINED, Block, Cell, Grid, Group, Line, Note, Rank, numeral, plain
from metaeval.report.result import Column

Ends = tuple[float | None, float | None, float | None]
"""A value and the ends of its interval; None where undefined."""

Lines = Sequence[tuple[str, Sequence[Cell]]]
Blocks = Sequence[tuple[str, Lines]]
"""Named lines of cells, in titled blocks."""


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
        ranks = [_ranks(column, own) if len(own) > 1 and not alone else {} for column in shown]
        lines = tuple(
            Line(
                plain(entry.backend if alone else entry.system),
                tuple(
                    interval_cell(entry.values.get(column.key), column, ranks=rank)
                    for column, rank in zip(shown, ranks, strict=True)
                ),
            )
            for entry in own
        )
        blocks.append(Block(plain(backend or ""), lines))
    return framed_grid(frame, [column.label for column in shown], blocks, "backend" if alone else "system")


def ranks_grid(frame: Frame, systems: Sequence[str], ranks: Mapping[str, Mapping[str, Sequence[int | None]]]) -> Grid:
    """Rank of each system, by measure and then backend; equal values share the better rank."""
    groups = tuple(Group(measure, len(own)) for measure, own in ranks.items())
    columns = [(measure, backend) for measure, own in ranks.items() for backend in own]
    lines = []
    for number, system in enumerate(systems):
        own = (ranks[measure][backend][number] for measure, backend in columns)
        lines.append(Line(plain(system), tuple(Cell(UNDEFINED if rank is None else str(rank)) for rank in own)))
    return framed_grid(frame, [plain(backend) for _, backend in columns], [Block("", tuple(lines))], "system", groups)


def lines_grid(frame: Frame, stub: str, headings: Sequence[str], blocks: Blocks) -> Grid:
    """Any named rows of cells, in titled blocks."""
    made = [Block(title, tuple(Line(plain(name), tuple(cells)) for name, cells in rows)) for title, rows in blocks]
    return framed_grid(frame, headings, made, stub)


def interval_cell(
    ends: Ends | None, column: Column, signed: bool = False, ranks: Mapping[str, Rank] = MappingProxyType({})
) -> Cell:
    """A value with its interval as the column prints it, and with its rank by the printed number.

    signed: an interval that can reach below 0.
    """
    value, low, high = ends or (None, None, None)
    number = numeral(value, column)
    if value is None or low is None or high is None:
        return Cell(number, rank=ranks.get(number, ""))
    shown = numeral(low, column), numeral(high, column)
    return Cell(number, (" to " if signed else "–").join(shown), shown, ranks.get(number, ""))


def _ranks(column: Column, entries: Sequence[Entry]) -> dict[str, Rank]:
    """Best and second best of the headline measures, by the printed digits."""
    if column.key not in ("recall", "precision", "f1"):
        return {}
    printed = [numeral(value, column) for entry in entries if (value := _value(entry, column)) is not None]
    order = sorted(set(printed), key=float, reverse=True)
    names: tuple[Rank, Rank] = ("best", "second")
    return dict(zip(order[:2], names, strict=False)) if len(printed) > 1 else {}


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
        footnotes=(),
        footer=frame.footer,
        signatures=frame.signatures,
        stub=stub,
        groups=groups,
    )
