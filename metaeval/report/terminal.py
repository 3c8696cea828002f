"""A table for reading in a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.box import HORIZONTALS
from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from metaeval.report.cells import lay_out
from metaeval.report.fitting import Fit, Shape, broken, fit, superscript
from metaeval.report.grid import Cell, Grid, Line, Note
from metaeval.report.result import Result

# Every string goes through rich.Text: rich reads markup and emoji codes only in bare strings.

# Names in notes keep this width against the text beside them.
_NAMES = 24

_STYLES = {"best": "bold", "second": "underline", "": ""}


def show(result: Result, console: Console) -> None:
    """Print a result to a console, fitted to the console's width."""
    grid = lay_out(result)
    layout = fit(grid, console.width)
    console.print(Text.assemble((grid.title, "bold"), "\n", grid.subtitle))
    for part in layout.parts:
        console.print(_table(grid, layout, part))
    if grid.legend and console.color_system:
        console.print(Text(f" {grid.legend}"))
    if grid.footnotes:
        console.print(_notes((superscript([note.label]), note) for note in grid.footnotes))
    console.print()
    console.print(_notes((note.label, note) for note in grid.footer))
    console.print()
    console.print(Text(" signature" + ("s" if len(grid.signatures) > 1 else ""), style="dim"))
    for signature in grid.signatures:
        # One unbroken line, however long: a copied signature must be the signature.
        console.print(Text(signature), soft_wrap=True, highlight=False, markup=False)


def text(result: Result, width: int = 100) -> str:
    """The same as plain text of `width` columns, for a file."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as capture:
        show(result, console)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _table(grid: Grid, layout: Fit, part: Sequence[int]) -> Table:
    table = Table(box=HORIZONTALS, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(Text("metric"), width=layout.name, no_wrap=True)
    for position in part:
        heading = Text(grid.headings[position], justify="right" if layout.stacked else "center")
        table.add_column(heading, width=layout.shapes[position].width(layout.stacked))
    _add(table, grid.metrics, layout, part)
    if grid.controls:
        table.add_section()
        table.add_row(Text("controls", style="italic"))
        _add(table, grid.controls, layout, part)
    return table


def _add(table: Table, lines: Iterable[Line], layout: Fit, part: Sequence[int]) -> None:
    for line in lines:
        name = broken(line.name, layout.name)
        cells = [_cell(line.cells[position], layout.shapes[position], layout.stacked) for position in part]
        table.add_row(Text("\n".join(name)), *cells)


def _cell(cell: Cell, shape: Shape, stacked: bool) -> Text:
    """Number, marks and interval, padded so that digits stand below digits down the column."""
    number = " " * (shape.number - len(cell.number))
    marks = superscript(cell.marks).ljust(shape.marks)
    interval = cell.interval.rjust(shape.interval)
    beside = shape.number + shape.marks
    if stacked:
        width = shape.width(stacked)
        return Text.assemble(
            " " * (width - beside) + number, (cell.number, _STYLES[cell.rank]), marks, "\n", interval.rjust(width)
        )
    indent = " " * (shape.width(stacked) - beside - (1 + shape.interval if shape.interval else 0))
    return Text.assemble(indent + number, (cell.number, _STYLES[cell.rank]), marks, " ", interval)


def _notes(notes: Iterable[tuple[str, Note]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.pad_edge = True
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, note in notes:
        grid.add_row(Text(f" {label}"), _body(note))
    return grid


def _body(note: Note) -> Group:
    parts: list[Text | Table] = [Text(note.text)] if note.text else []
    if note.items:
        items = Table.grid(padding=(0, 2, 0, 0))
        longest = max(cell_len(names) for names, _ in note.items)
        items.add_column(overflow="fold", min_width=min(longest, _NAMES))
        items.add_column(overflow="fold")
        for names, said in note.items:
            items.add_row(Text(names), Text(said))
        parts.append(items)
    return Group(*parts)
