"""Sheets at a command's end: written, and shown, where nothing is said twice and signatures stay in the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.cli.output_summary import say_written

if TYPE_CHECKING:
    from metaeval.experiment.sheet import Sheet
    from metaeval.report.grid import Grid


def show_grids(grids: Sequence[Grid]) -> None:
    """Print grids one below the other. A note that is the same in several stands under the last of them."""
    from rich.console import Console

    from metaeval.report.terminal import show_grid

    console = Console()
    for number, grid in enumerate(grids):
        later = {note for other in grids[number + 1 :] for note in other.footer}
        if number:
            console.print()
        footer = tuple(note for note in grid.footer if note not in later)
        show_grid(replace(grid, footer=footer, signatures=()), console)


def write_sheets(sheets: Sequence[Sheet], folder: Path) -> list[Path]:
    """Write every sheet in every format; the paths."""
    from metaeval.experiment.sheet import write_sheet

    return [path for sheet in sheets for path in write_sheet(sheet, folder)]


def finish(sheets: Sequence[Sheet], folder: Path, others: Sequence[Path], quiet: bool) -> None:
    """Write every sheet, show them unless quiet, and say what was written; others: what the command wrote beside."""
    written = [*others, *write_sheets(sheets, folder)]
    if not quiet:
        show_grids([sheet.grid for sheet in sheets])
    say_written(sorted(written))


def sheet_folder(results: Path, command: str, sheet: Sheet) -> Path:
    """RESULTS/COMMAND/DATASET-SPLIT-UNIT."""
    from metaeval.files import safe_name

    parts = [sheet.data.name, sheet.data.split, str(sheet.settings["unit"])]
    return results / command / "-".join(safe_name(part) for part in parts)
