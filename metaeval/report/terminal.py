"""A table for reading in a terminal: intervals stand beside or below the numbers, in one table or several."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby, product
from typing import NamedTuple

from rich.box import HORIZONTALS
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from metaeval.report.table import Cell, Table

# Every string goes through rich.Text: rich reads markup and emoji codes only in bare strings.

GAP = 2  # characters between two columns: one space of padding and one of the rule's divider

_EDGES = 2  # one space on each side
_TITLE = 16  # characters that the title of a column group is given if its columns are narrower
_STYLES = {"best": "bold", "second": "underline", "": ""}
_SUPERSCRIPTS = str.maketrans(
    "0123456789-abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ"
)


class _Shape(NamedTuple):
    """The widths of a column's parts: number, marks, interval, and all of it. heading: its lines."""

    number: int
    marks: int
    interval: int
    width: int
    heading: list[str]


def show_grid(grid: Table, console: Console) -> None:
    """Print a table to a console, fitted to the console's width."""
    names = [grid.stub, *(block.title for block in grid.blocks), *(line.name for line in grid.lines)]
    name = min(max(map(cell_len, names)), max(console.width // 2, 1))
    everything = tuple(range(len(grid.headings)))
    for stacked, apart in product((False, True), repeat=2):
        shapes = _shapes(grid, stacked, apart)
        if _EDGES + name + sum(GAP + shape.width for shape in shapes) <= console.width:
            parts: Sequence[tuple[int, ...]] = [everything]
            break
    else:
        widths = [shape.width for shape in shapes]
        parts = packed(widths, [group.columns for group in grid.groups], console.width - _EDGES - name)
    console.print(Text.assemble((grid.title, "bold"), "\n", grid.subtitle))
    for part in parts:
        if grid.groups:
            console.print(Text(_over(grid, shapes, name, part), style="bold"))
        table = RichTable(box=HORIZONTALS, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
        table.add_column(Text(grid.stub), width=name, no_wrap=True)
        for position in part:
            shape = shapes[position]
            table.add_column(Text("\n".join(shape.heading), justify="right"), width=shape.width)
        for block in grid.blocks:
            table.add_section()
            if block.title:
                table.add_row(Text(block.title, style="italic"))
            for line in block.lines:
                cells = [_cell(line.cells[position], shapes[position], stacked) for position in part]
                table.add_row(Text("\n".join(broken(line.name, name))), *cells)
        console.print(table)
    unlabelled = [note.line for note in grid.footnotes if not note.label]
    if text := " ".join([*unlabelled, *([grid.legend] if console.color_system and grid.legend else [])]):
        console.print(notes_grid([("", text)]))
    if labelled := [(superscript([note.label]), note.line) for note in grid.footnotes if note.label]:
        console.print(notes_grid(labelled))
    if grid.footer:
        console.print()
        console.print(notes_grid((note.label, note.line) for note in grid.footer))
    if grid.signatures:
        console.print()
        console.print(Text(" signature" + ("s" if len(grid.signatures) > 1 else ""), style="dim"))
    for signature in grid.signatures:
        # One unbroken line, however long: a copied signature must be the signature.
        console.print(Text(signature), soft_wrap=True)


def text_of(grid: Table, width: int = 100) -> str:
    """Return a table as plain text of at most `width` characters a line (signatures are not broken), for a file."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as capture:
        show_grid(grid, console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _shapes(grid: Table, stacked: bool, apart: bool) -> list[_Shape]:
    """Return the widths of all columns; the last of a group is widened for a short title."""
    shapes = [_shape(grid, position, stacked, apart) for position in range(len(grid.headings))]
    end = 0
    for group in grid.groups:
        start, end = end, end + group.columns
        room = sum(GAP + shape.width for shape in shapes[start:end]) - GAP
        lacking = max(min(cell_len(group.title), _TITLE) - room, 0)
        shapes[end - 1] = shapes[end - 1]._replace(width=shapes[end - 1].width + lacking)
    return shapes


def _shape(grid: Table, position: int, stacked: bool, apart: bool) -> _Shape:
    """Return the widths of a column. apart: each value in brackets has a line of its own, else all share one."""
    cells = [line.cells[position] for line in grid.lines]
    number, marks, interval = (
        (
            max(map(cell_len, texts), default=0)
            for texts in zip(*((cell.number, superscript(cell.marks), cell.interval) for cell in cells), strict=True)
        )
        if cells
        else (0, 0, 0)
    )
    beside = number + marks
    body = max(beside, interval) if stacked else beside + (1 + interval if interval else 0)
    asides = [cell_len(text) for cell in cells for text in (cell.asides if apart else (", ".join(cell.asides),))]
    heading = folded(grid.headings[position], max(body, *asides, 0))
    return _Shape(number, marks, interval, max(body, *asides, *map(cell_len, heading), 0), heading)


def folded(heading: str, room: int) -> list[str]:
    """Return a heading as one line if it fits into `room`, else as two of about equal length; words are not broken."""
    words = heading.split()
    if cell_len(heading) <= room or len(words) < 2:
        return [heading]
    halves = ([" ".join(words[:place]), " ".join(words[place:])] for place in range(1, len(words)))
    return min(halves, key=lambda lines: max(map(cell_len, lines)))


def _over(grid: Table, shapes: Sequence[_Shape], name: int, part: Sequence[int]) -> str:
    """Return the line above a table that names its column groups, each centred. part: indices of the columns shown."""
    owners = [number for number, group in enumerate(grid.groups) for _ in range(group.columns)]
    line = " " * (1 + name)
    for number, positions in groupby(part, key=lambda position: owners[position]):
        room = sum(GAP + shapes[position].width for position in positions)
        title = Text(grid.groups[number].title)
        title.truncate(room - GAP, overflow="ellipsis")
        line += " " * GAP + title.plain.center(room - GAP)
    return line.rstrip()


def _cell(cell: Cell, shape: _Shape, stacked: bool) -> Text:
    """Return a cell's lines, padded so that digits stand below digits. stacked: is the interval below the number?"""
    marks = superscript(cell.marks)
    tail = marks + " " * (shape.marks - cell_len(marks))
    below = [cell.interval.rjust(shape.width)] if stacked and (cell.interval or cell.asides) else []
    if not stacked and shape.interval:
        tail += " " + cell.interval.rjust(shape.interval)
    # Values in brackets share a line where there is room for it.
    joined = ", ".join(cell.asides)
    asides = [joined] if cell_len(joined) <= shape.width else cell.asides
    below += [text.rjust(shape.width) for text in asides if text]
    before = " " * (shape.width - cell_len(cell.number) - cell_len(tail))
    return Text("\n").join([Text.assemble(before, (cell.number, _STYLES[cell.rank]), tail), *map(Text, below)])


def notes_grid(notes: Iterable[tuple[str, str]]) -> RichTable:
    """Return sentences to print, each after its label, wrapped at the console's width."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.pad_edge = True
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in notes:
        grid.add_row(Text(f" {label}" if label else ""), Text(text))
    return grid


def superscript(marks: Sequence[str]) -> str:
    """Return footnote marks as printed after a number: letters and digits raised, other marks unchanged."""
    return "".join(mark.translate(_SUPERSCRIPTS) for mark in marks)


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


def packed(widths: Sequence[int], groups: Sequence[int], room: int) -> tuple[tuple[int, ...], ...]:
    """Return the columns of each table, by index, such that a table has at most `room` characters.

    widths: of the columns; a column costs its width and one GAP. groups: number of columns of each group, in order;
    empty without groups. A group stays in one table if it fits into `room`. Columns keep their order, and every table
    has at least one.
    """
    parts: list[list[int]] = [[]]
    units: list[list[int]] = []
    start = used = 0
    for size in groups or [1] * len(widths):
        unit = list(range(start, start + size))
        start += size
        whole = sum(GAP + widths[position] for position in unit) <= room
        units += [unit] if whole else [[position] for position in unit]
    for unit in units:
        cost = sum(GAP + widths[position] for position in unit)
        if parts[-1] and used + cost > room:
            parts.append([])
            used = 0
        parts[-1] += unit
        used += cost
    return tuple(map(tuple, parts))


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return lines of equally wide columns. right: indices of right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (cell.rjust(width) if number in right else cell.ljust(width) for number, (cell, width) in cells)
        lines.append("  ".join(padded).rstrip())
    return lines
