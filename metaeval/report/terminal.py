"""A table for reading in a terminal."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from rich.box import HORIZONTALS
from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table as RichTable
from rich.text import Text

from metaeval.report.column_layout import GAP, Fit, Shape, aside_lines, broken, fit, superscript
from metaeval.report.table import Cell, Note, Table

# Every string goes through rich.Text: rich reads markup and emoji codes only in bare strings.

# Names in notes keep this width against the text beside them.
_NAMES = 24

_STYLES = {"best": "bold", "second": "underline", "": ""}


def show_grid(grid: Table, console: Console) -> None:
    """Print a table to a console, fitted to the console's width."""
    layout = fit(grid, console.width)
    console.print(Text.assemble((grid.title, "bold"), "\n", grid.subtitle))
    for part in layout.parts:
        if grid.groups:
            console.print(Text(_over(grid, layout, part), style="bold"))
        console.print(_table(grid, layout, part))
    if grid.legend and console.color_system:
        console.print(Text(f" {grid.legend}"))
    if grid.footnotes:
        console.print(_notes((superscript([note.label]), note) for note in grid.footnotes))
    if grid.footer:
        console.print()
        console.print(_notes((note.label, note) for note in grid.footer))
    if not grid.signatures:
        return
    console.print()
    console.print(Text(" signature" + ("s" if len(grid.signatures) > 1 else ""), style="dim"))
    for signature in grid.signatures:
        # One unbroken line, however long: a copied signature must be the signature.
        console.print(Text(signature), soft_wrap=True, highlight=False, markup=False)


def show_sentences(sentences: Iterable[tuple[str, str]], console: Console) -> None:
    """Print sentences, each after its label, wrapped at the console's width."""
    console.print(_notes((label, Note(label, text)) for label, text in sentences))


def text_of(grid: Table, width: int = 100) -> str:
    """Return a table as plain text of at most `width` characters a line (signatures are not broken), for a file."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as capture:
        show_grid(grid, console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _table(grid: Table, layout: Fit, part: Sequence[int]) -> RichTable:
    table = RichTable(box=HORIZONTALS, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(Text(grid.stub), width=layout.name, no_wrap=True)
    for position in part:
        heading = Text(grid.headings[position], justify="right" if layout.stacked else "center")
        table.add_column(heading, width=layout.shapes[position].width(layout.stacked))
    for block in grid.blocks:
        table.add_section()
        if block.title:
            table.add_row(Text(block.title, style="italic"))
        for line in block.lines:
            cells = [_cell(line.cells[position], layout.shapes[position], layout.stacked) for position in part]
            table.add_row(Text("\n".join(broken(line.name, layout.name))), *cells)
    return table


def _over(grid: Table, layout: Fit, part: Sequence[int]) -> str:
    """Return the line above a table that names its column groups, each centred. part: indices of the columns shown."""
    owners = [number for number, group in enumerate(grid.groups) for _ in range(group.columns)]
    line = " " * (1 + layout.name)
    for number, positions in groupby(part, key=lambda position: owners[position]):
        room = sum(GAP + layout.shapes[position].width(layout.stacked) for position in positions)
        title = Text(grid.groups[number].title)
        title.truncate(room - GAP, overflow="ellipsis")
        line += " " * GAP + title.plain.center(room - GAP)
    return line.rstrip()


def _cell(cell: Cell, shape: Shape, stacked: bool) -> Text:
    """Return a cell's lines, padded so that digits stand below digits. stacked: is the interval below the number?"""
    number = " " * (shape.number - len(cell.number))
    marks = superscript(cell.marks).ljust(shape.marks)
    interval = cell.interval.rjust(shape.interval)
    width, beside = shape.width(stacked), shape.number + shape.marks
    # Asides share a line where there is room for it.
    fits = all(len(aside) <= width for aside in aside_lines(cell, joined=True))
    below = [aside.rjust(width) for aside in aside_lines(cell, fits)]
    if stacked:
        below = [interval.rjust(width), *below] if cell.interval or below else []
        tail, indent = "", width - beside
    else:
        tail, indent = f" {interval}", width - beside - (1 + shape.interval if shape.interval else 0)
    first = Text.assemble(" " * indent + number, (cell.number, _STYLES[cell.rank]), marks, tail)
    return Text("\n").join([first, *map(Text, below)])


def _notes(notes: Iterable[tuple[str, Note]]) -> RichTable:
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.pad_edge = True
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, note in notes:
        parts: list[Text | RichTable] = [Text(note.text)] if note.text else []
        if note.items:
            items = RichTable.grid(padding=(0, 2))
            longest = max(cell_len(names) for names, _ in note.items)
            items.add_column(overflow="fold", min_width=min(longest, _NAMES))
            items.add_column(overflow="fold")
            for names, text in note.items:
                items.add_row(Text(names), Text(text))
            parts.append(items)
        grid.add_row(Text(f" {label}"), Group(*parts))
    return grid


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = (), indent: str = "") -> list[str]:
    """Return lines of equally wide columns. right: indices of right-aligned columns. indent: text before each line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (cell.rjust(width) if number in right else cell.ljust(width) for number, (cell, width) in cells)
        lines.append(indent + "  ".join(padded).rstrip())
    return lines
