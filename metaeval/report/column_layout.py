"""Fit a table into a number of characters: intervals beside or below the numbers, one table or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from rich.cells import cell_len, chop_cells

from metaeval.report.table import Cell, Table

# Between two columns: one space of padding and one of the rule's divider. Around the table: one space on each side, and
# the padding of the last column.
GAP = 2
EDGES = 3

_SUPERSCRIPTS = str.maketrans(
    "0123456789-abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ"
)


@dataclass(frozen=True)
class Shape:
    """The widths, in characters, of a column's parts: number, marks, interval, aside (values in brackets), heading."""

    number: int
    marks: int
    interval: int
    aside: int
    heading: int

    def width(self, stacked: bool) -> int:
        """Return the column's width with the interval below the number (`stacked`) or beside it."""
        beside = self.number + self.marks
        if stacked:
            return max(beside, self.interval, self.aside, self.heading)
        return max(beside + (1 + self.interval if self.interval else 0), self.aside, self.heading)


@dataclass(frozen=True)
class Fit:
    """How a table fits a width. name: width of the names. stacked: whether intervals are below the numbers.

    shapes: widths of each column's parts. parts: the indices of the columns of each table that the table is split into.
    """

    name: int
    stacked: bool
    shapes: tuple[Shape, ...]
    parts: tuple[tuple[int, ...], ...]


def superscript(marks: Sequence[str]) -> str:
    """Return footnote marks as printed after a number: letters and digits raised, other marks unchanged."""
    return "".join(mark.translate(_SUPERSCRIPTS) for mark in marks)


def fit(grid: Table, width: int) -> Fit:
    """Return the layout of a table for `width` characters.

    Intervals are beside the numbers if there is room, else below them, else the table is split. A name may take half of
    the width; a longer one is broken.
    """
    longest = max((cell_len(line.name) for line in grid.lines), default=0)

    titles = (grid.stub, *(block.title for block in grid.blocks))
    name = min(max(longest, *map(cell_len, titles)), max(width // 2, 1))
    everything = tuple(range(len(grid.headings)))
    for stacked, folded, apart in product((False, True), repeat=3):
        shapes = shapes_of(grid, folded, apart)
        if EDGES + name + sum(GAP + shape.width(stacked) for shape in shapes) <= width:
            return Fit(name, stacked, shapes, (everything,))
    widths = [shape.width(True) for shape in shapes]
    return Fit(name, True, shapes, packed(widths, [group.columns for group in grid.groups], width - EDGES - name))


def aside_lines(cell: Cell, joined: bool) -> tuple[str, ...]:
    """Return the lines of a cell's values in brackets: all on one (`joined`), or each on its own; () without any."""
    return (", ".join(cell.asides),) if joined and cell.asides else cell.asides


def broken(name: str, width: int) -> list[str]:
    """Return a name as lines of at most `width` characters, broken behind its separators where it has any."""
    lines = [""]
    for piece in re.findall(r"[^-_/:.\s]*[-_/:.\s]*", name):
        if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        if cell_len(lines[-1]) > width:
            lines[-1:] = chop_cells(lines[-1], width)
    return [line for line in lines if line] or [""]


def shapes_of(grid: Table, folded: bool = False, apart: bool = True) -> tuple[Shape, ...]:
    """Return the widths of each column's parts.

    folded: headings are broken at spaces. apart: each value in brackets has a line of its own, else all share one.
    """
    shapes = []
    for position, heading in enumerate(grid.headings):
        cells = [line.cells[position] for line in grid.lines]
        asides = (len(aside) for cell in cells for aside in aside_lines(cell, not apart))
        shapes.append(
            Shape(
                number=max((len(cell.number) for cell in cells), default=0),
                marks=max((len(superscript(cell.marks)) for cell in cells), default=0),
                interval=max((len(cell.interval) for cell in cells), default=0),
                aside=max(asides, default=0),
                heading=max(map(cell_len, heading.split() if folded else [heading]), default=0),
            )
        )
    return tuple(shapes)


def packed(widths: Sequence[int], groups: Sequence[int], room: int) -> tuple[tuple[int, ...], ...]:
    """Return the columns of each table, by index, such that a table has at most `room` characters.

    widths: of the columns; a column costs its width and one GAP. groups: number of columns of each group, in order;
    empty without groups. A group stays in one table if it fits into `room`. Columns keep their order, and every table
    has at least one.
    """
    parts: list[list[int]] = [[]]
    used = 0
    for unit in _units(widths, groups, room):
        cost = sum(GAP + widths[position] for position in unit)
        if parts[-1] and used + cost > room:
            parts.append([])
            used = 0
        parts[-1] += unit
        used += cost
    return tuple(tuple(part) for part in parts)


def _units(widths: Sequence[int], groups: Sequence[int], room: int) -> list[list[int]]:
    """Return the indices of columns that stay together: those of a group, or one of a group too wide for a table."""
    units: list[list[int]] = []
    start = 0
    for size in groups or [1] * len(widths):
        unit = list(range(start, start + size))
        start += size
        whole = sum(GAP + widths[position] for position in unit) <= room
        units += [unit] if whole else [[position] for position in unit]
    return units
