"""Lists and cards: wrapped to fit a terminal, one line an entry in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

import typer


def show_list(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        _plain([headings, *rows])
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def show_card(lines: Sequence[tuple[str, str]]) -> None:
    """Print labelled texts; a line without text is left out."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    said = [(label, text) for label, text in lines if text]
    if not console.is_terminal:
        _plain(said)
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in said:
        table.add_row(Text(label), Text(text))
    console.print(table)


def _plain(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
