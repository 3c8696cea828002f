"""Printing of commands' output: progress, tables, lists, cards, sentences, and the names of written files."""

from __future__ import annotations

import logging
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from metaeval.core.errors import Shown, visible

if TYPE_CHECKING:
    from metaeval.report.table import Table
    from metaeval.runs.score import MetricProgress

ASKING = "asking "
"""Prefix of a name of progress that counts replies of a chat model (see `metaeval.citation.chat_models`)."""

COMBINATIONS = "combinations"
"""Name of the progress of ranking metrics under every combination of choices."""

_EVERY = 10.0  # seconds between plain lines


@dataclass(slots=True)
class _Wave:
    """The progress of one call of a metric. before: pairs done before it. start, now, printed: times."""

    start: float
    before: int
    done: int
    total: int
    now: float
    printed: float


@contextmanager
def scoring_progress(quiet: bool) -> Iterator[MetricProgress | None]:
    """Yield a callback that prints progress on stderr, where the log goes, too; `quiet`: None, and only warnings."""
    logging.getLogger("metaeval").setLevel(logging.WARNING if quiet else logging.INFO)
    if quiet:
        yield None
        return
    waves: dict[str, _Wave] = {}
    with _bars() if sys.stderr.isatty() else nullcontext(_say_wave) as show_wave:

        def report(metric: str, done: int, total: int) -> None:
            wave, now = waves.get(metric), time.monotonic()
            # A new call of the metric: the first one, another total, or a count that restarts.
            if wave is None or total != wave.total or done < wave.done or wave.done == wave.total:
                wave = waves[metric] = _Wave(now, done, done, total, now, -math.inf)
                show_wave(metric, wave, " from the store" if done == total else "")
                return
            wave.done, wave.now = done, now
            show_wave(metric, wave, f", {(done - wave.before) / max(now - wave.start, 1e-9):,.0f} {_unit(metric)}/s")

        yield report


@contextmanager
def _bars() -> Iterator[Callable[[str, _Wave, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def show_wave(metric: str, wave: _Wave, note: str) -> None:
            if metric not in tasks:
                tasks[metric] = bars.add_task(Shown(metric), total=wave.total, rate="")
            change = partial(bars.reset, total=wave.total) if wave.now == wave.start else bars.update
            change(tasks[metric], completed=wave.done, rate=note.lstrip(", "))

        yield show_wave


def _say_wave(metric: str, wave: _Wave, note: str) -> None:
    """Print the progress as a line, at most one in `_EVERY` seconds but for the first and the last."""
    if wave.done < wave.total and wave.now - wave.printed < _EVERY:
        return
    left = (wave.total - wave.done) * (wave.now - wave.start) / max(wave.done - wave.before, 1)
    soon = f", {left:.0f} s left" if note and wave.done < wave.total else ""
    say(f"{metric}: {wave.done:,} of {wave.total:,} {_unit(metric)}{note}{soon}", err=True)
    wave.printed = wave.now


def _unit(metric: str) -> str:
    """Return the unit of a metric's progress: pairs, replies of a chat model, or "done" for combinations."""
    if metric == COMBINATIONS:
        return "done"
    return "replies" if metric.startswith(ASKING) else "pairs"


def say(text: object, err: bool = False) -> None:
    """Print one line with visible characters only; commands print only through this module."""
    typer.echo(Shown(str(text)), err=err)  # noqa: TID251


def show(value: object, whole: bool = False) -> None:
    """Print a value in the form that its type has: tables, records, a card, a text, or one line per item.

    whole: print tables with their signatures, and each with all of its notes.
    """
    from metaeval.report.notebook import Card
    from metaeval.report.table import Table

    if isinstance(value, Table):
        if value:
            _show_rows(list(value[0]), [list(map(str, row.values())) for row in value])
    elif isinstance(value, Card):
        _show_rows((), [line for line in value if line[1]])
    elif isinstance(value, str):
        text = value if not value or value.endswith("\n") else f"{value}\n"
        lines = (visible(line, keep="\t\n") for line in text.split("\r\n"))
        typer.echo("\r\n".join(lines), nl=False)  # noqa: TID251
    elif isinstance(value, Sequence):
        if grids := [part for part in value if isinstance(part, Table) and part.headings]:
            show_grids(grids, whole)
        for part in value:
            if part not in grids:
                show(part)
    elif value is not None:
        say(value)


def show_grids(grids: Sequence[Table], whole: bool) -> None:
    """Print tables one below the other, without signatures; a note of several tables stands below the last of these.

    whole: print each with its signatures and all of its notes.
    """
    from rich.console import Console

    from metaeval.report.terminal import show_grid

    console = Console()
    for number, grid in enumerate(grids):
        if whole:
            if number:
                console.rule()
            show_grid(grid, console)
            continue
        later = {note for other in grids[number + 1 :] for note in other.footer}
        if number:
            console.print()
        footer = tuple(note for note in grid.footer if note not in later)
        show_grid(replace(grid, footer=footer, signatures=()), console)


def show_sentences(sentences: Sequence[str], cautions: Sequence[str] = ()) -> None:
    """Print the first of the cautions with a "!", then the sentences, numbered, each part after an empty line."""
    from rich.console import Console

    from metaeval.report.terminal import notes_grid

    console = Console()
    left = len(cautions) - 1
    kept = [f"{text} ({left} more in report.html)" if left > 0 else text for text in cautions[:1]]
    several = len(sentences) > 1
    numbered = [(f"{number}." if several else "", text) for number, text in enumerate(sentences, start=1)]
    for part in filter(None, ([("!", text) for text in kept], numbered)):
        console.print()
        console.print(notes_grid(part))


def say_rest(folder: Path, results: Path, whole: bool, pairs: bool) -> None:
    """Print where the rest of a run's output is, by the short hash at the end of its folder's name.

    results: folder of all results. whole: everything was printed. pairs: the folder holds the pairs that were scored.
    """
    code = folder.name.rpartition("-")[2]
    where = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    commands = ["results show"] * (not whole) + ["results export"] + ["view"] * pairs
    say(f"More: metaeval {', '.join(commands)} {code}{where}")


def say_written(written: Sequence[Path]) -> None:
    """Print one line per folder with the names of its written files; a name in several formats is listed once."""
    for folder in dict.fromkeys(path.parent for path in written):
        kinds: dict[str, list[str]] = {}
        for path in written:
            if path.parent == folder:
                kinds.setdefault(path.stem, []).append(path.suffix.removeprefix("."))
        names = [f"{stem}.{' .'.join(suffixes)}" for stem, suffixes in kinds.items()]
        say(f"Written: {folder}/ ({', '.join(names)})")


def _show_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings (none: lines of label and text, for a card).

    In a pipe a row is one unwrapped line, unless the variable COLUMNS sets a width for a list.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from metaeval.report.terminal import aligned

    console = Console()
    if not console.is_terminal and not (headings and os.environ.get("COLUMNS")):
        for line in aligned([headings, *rows] if headings else rows):
            say(line)
        return
    padding = (0, 2, 0, 0)
    table = RichTable(box=None, padding=padding) if headings else RichTable.grid(padding=padding)
    for number, heading in enumerate(headings or ("", "")):
        table.add_column(heading, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(Shown(cell)) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        say(line.rstrip())
