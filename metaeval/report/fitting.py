"""How a grid fits a number of character columns: one line or two lines a cell, one table or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from rich.cells import cell_len, chop_cells

from metaeval.report.grid import Cell, Grid

# Between two columns: one space of padding and one of the rule's divider. Around the table: one space on each side, and
# the padding of the last column.
GAP = 2
EDGES = 3

_SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


@dataclass(frozen=True)
class Shape:
    """The widths of one measure's column: its number, its marks, its interval, and its heading."""

    number: int
    marks: int
    interval: int
    heading: int

    def width(self, stacked: bool) -> int:
        """Width with the interval below the number (`stacked`) or beside it."""
        beside = self.number + self.marks
        if stacked:
            return max(beside, self.interval, self.heading)
        return max(beside + (1 + self.interval if self.interval else 0), self.heading)


@dataclass(frozen=True)
class Fit:
    """How to print a grid: name width, stacked cells or not, each measure's widths, the measures of each table."""

    name: int
    stacked: bool
    shapes: tuple[Shape, ...]
    parts: tuple[tuple[int, ...], ...]


def superscript(marks: Sequence[str]) -> str:
    """Marks as they stand behind a number; letters are raised, the other marks are by nature."""
    return "".join(mark.translate(_SUPERSCRIPTS) for mark in marks)


def fit(grid: Grid, width: int) -> Fit:
    """The layout for `width` characters: intervals beside the numbers, else below, else several tables.

    Headings stay on one line where there is room for it.
    """
    longest = max((cell_len(line.name) for line in grid.lines), default=0)
    # A name may take half of the page; only a longer one is broken.
    name = max(min(longest, width // 2), cell_len("controls"))
    everything = tuple(range(len(grid.headings)))
    for stacked, folded in product((False, True), (False, True)):
        shapes = _shapes(grid, folded)
        if EDGES + name + sum(GAP + shape.width(stacked) for shape in shapes) <= width:
            return Fit(name, stacked, shapes, (everything,))
    return Fit(name, True, shapes, _packed([shape.width(True) for shape in shapes], width - EDGES - name))


def broken(name: str, width: int) -> list[str]:
    """A name in lines of at most `width` characters, broken behind its separators, in the middle only if it must."""
    lines = [""]
    for piece in re.findall(r"[^-_/:.\s]*[-_/:.\s]*", name):
        if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        if cell_len(lines[-1]) > width:
            lines[-1:] = chop_cells(lines[-1], width)
    return [line for line in lines if line] or [""]


def _shapes(grid: Grid, folded: bool) -> tuple[Shape, ...]:
    columns = [[line.cells[position] for line in grid.lines] for position in range(len(grid.headings))]
    return tuple(_shape(heading, cells, folded) for heading, cells in zip(grid.headings, columns, strict=True))


def _shape(heading: str, cells: Sequence[Cell], folded: bool) -> Shape:
    words = heading.split() if folded else [heading]
    return Shape(
        number=max((len(cell.number) for cell in cells), default=0),
        marks=max((len(superscript(cell.marks)) for cell in cells), default=0),
        interval=max((len(cell.interval) for cell in cells), default=0),
        heading=max((cell_len(word) for word in words), default=0),
    )


def _packed(widths: Sequence[int], room: int) -> tuple[tuple[int, ...], ...]:
    """Positions in order, as many to a table as there is room for, never none."""
    parts: list[list[int]] = [[]]
    used = 0
    for position, width in enumerate(widths):
        if parts[-1] and used + GAP + width > room:
            parts.append([])
            used = 0
        parts[-1].append(position)
        used += GAP + width
    return tuple(tuple(part) for part in parts)
