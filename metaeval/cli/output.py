"""What commands print and write: progress, sheets, lists, cards, columns, and the files that were written."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import textwrap
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from metaeval.files import safe_name
from metaeval.shown import Shown, visible

if TYPE_CHECKING:
    from rich.table import Table

    from metaeval.cli.options import Given
    from metaeval.config import RunConfig
    from metaeval.experiment.metric_scores import Panel
    from metaeval.experiment.metrics import MetricProgress
    from metaeval.report.grid import Grid
    from metaeval.report.measures import Readings
    from metaeval.report.result import Result
    from metaeval.report.sheet import Sheet

ASKING = "asking "
"""What the name of a chat model begins with, of which replies are counted (see `metaeval.citation.chat`)."""

_EVERY = 10.0  # seconds between plain lines


@dataclass(slots=True)
class _Wave:
    """One asking of a metric. start: when; before: how many pairs were done then. done, total: pairs by now."""

    start: float
    before: int
    done: int
    total: int


@contextmanager
def scoring_progress(quiet: bool) -> Iterator[MetricProgress | None]:
    """Report on stderr while the block runs; what metrics have to tell goes there too, unless `quiet`."""
    logging.getLogger("metaeval").setLevel(logging.WARNING if quiet else logging.INFO)
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bars() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bars() -> Iterator[MetricProgress]:
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
        waves: dict[str, _Wave] = {}

        def report(metric: str, done: int, total: int) -> None:
            if _begins(waves.get(metric), done, total):
                waves[metric] = _Wave(time.monotonic(), done, done, total)
                if metric not in tasks:
                    tasks[metric] = bars.add_task(Shown(metric), total=total, rate="")
                bars.reset(tasks[metric], total=total, completed=done, rate=_served(done, total))
                return
            waves[metric].done = done
            bars.update(tasks[metric], completed=done, rate=_rate(metric, waves[metric]))

        yield report


def _lines() -> MetricProgress:
    waves: dict[str, _Wave] = {}
    last: dict[str, float] = {}

    def report(metric: str, done: int, total: int) -> None:
        now = time.monotonic()
        if _begins(waves.get(metric), done, total):
            waves[metric], last[metric] = _Wave(now, done, done, total), now
            say(f"{metric}: {done:,} of {total:,} {_unit(metric)} {_served(done, total)}".rstrip(), err=True)
            return
        wave = waves[metric]
        wave.done = done
        if done == total or now - last[metric] >= _EVERY:
            last[metric] = now
            left = (total - done) * (now - wave.start) / max(done - wave.before, 1)
            soon = f", {left:.0f} s left" if done < total else ""
            say(f"{metric}: {done:,} of {total:,} {_unit(metric)}, {_rate(metric, wave)}{soon}", err=True)

    return report


def _begins(wave: _Wave | None, done: int, total: int) -> bool:
    """Whether a metric is asked for the first time, or again: with another total, anew, or behind the end."""
    return wave is None or total != wave.total or done < wave.done or wave.done == wave.total


def _served(done: int, total: int) -> str:
    return "from the store" if done == total else ""


def _rate(metric: str, wave: _Wave) -> str:
    return f"{(wave.done - wave.before) / max(time.monotonic() - wave.start, 1e-9):,.0f} {_unit(metric)}/s"


def _unit(metric: str) -> str:
    """What is counted: pairs that a metric scores, or replies of a chat model."""
    return "replies" if metric.startswith(ASKING) else "pairs"


_WIDEST = 100
"""Characters of a line of running text on a terminal."""

_CAUTIONS = 3
"""Notes of caution that are printed; the rest stands below the tables."""


def say(text: object, err: bool = False) -> None:
    """Print one line. Commands print through this door, or by grids, lists and cards: what they print is visible."""
    typer.echo(Shown(str(text)), err=err)  # noqa: TID251


def say_text(text: str, end: str = "\n") -> None:
    """Print the lines of a text that a renderer made."""
    lines = (visible(line, keep="\t\n") for line in f"{text}{end}".split("\r\n"))
    typer.echo("\r\n".join(lines), nl=False)  # noqa: TID251


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


def show_findings(results: Sequence[Result], readings: Readings) -> None:
    """Print the headline table of results, and what they mean in sentences."""
    from rich.console import Console

    from metaeval.report.cautions import cautions
    from metaeval.report.cells import headline_grid
    from metaeval.report.findings import findings
    from metaeval.report.terminal import show_grid, show_sentences

    console = Console()
    show_grid(headline_grid(results, readings), console)
    console.print()
    said = [(f"{number}.", text) for number, text in enumerate(findings(results, readings), start=1)]
    careful = cautions(results)
    more = [f"{len(careful) - _CAUTIONS} more notes stand in the tables."] if len(careful) > _CAUTIONS + 1 else []
    kept = careful[:_CAUTIONS] if more else careful
    show_sentences([*said, *(("!", text) for text in [*kept, *more])], console)


def show_sentences(sentences: Sequence[str]) -> None:
    """Print numbered sentences, below an empty line."""
    from rich.console import Console

    from metaeval.report.terminal import show_sentences as show

    console = Console()
    console.print()
    show(((f"{number}.", text) for number, text in enumerate(sentences, start=1)), console)


def say_rest(folder: Path, results: Path, whole: bool, pairs: bool = False) -> None:
    """Say where the rest of a run is, by the short hash that its folder's name ends with.

    whole: all was printed. pairs: what was judged is in the folder, with its texts in the data.
    """
    code = folder.name.rpartition("-")[2]
    where = "" if results == Path("results") else f" --results {shlex.quote(str(results))}"
    asked = [*([] if whole else ["results show"]), *(["view"] if pairs else []), "explain"]
    say(f"More: metaeval {' | '.join(asked)} {code}{where}")


def write_sheets(sheets: Sequence[Sheet], folder: Path) -> list[Path]:
    """Write every sheet in every format; the paths."""
    from metaeval.report.sheet import write_sheet

    return [path for sheet in sheets for path in write_sheet(sheet, folder)]


def sheet_folder(results: Path, command: str, sheets: Sequence[Sheet]) -> Path:
    """RESULTS/COMMAND/DATASET-SPLIT-UNIT-HASH, named by the first sheet; the hash is of all their signatures."""
    from metaeval.experiment.job_folder import job_folder

    first = sheets[0]
    parts = [first.data.name, first.data.split, str(first.settings["unit"])]
    return job_folder(results / command, parts, [line for sheet in sheets for line in sheet.grid.signatures])


def close(panels: Sequence[Panel], command: str, sheets: Sequence[Sheet], written: Sequence[Path]) -> None:
    """Write what an analysis judged, a file for each of its panels, and its manifest; say what was written."""
    from metaeval.experiment.job_folder import PAIRS, close_job, write_pairs

    folder = written[0].parent
    every = list(written)
    for panel in panels:
        of = "-".join(map(safe_name, ("pairs", panel.source.name, panel.source.split, panel.config.unit)))
        every.append(folder / (PAIRS if len(panels) == 1 else f"{of}.jsonl"))
        write_pairs(panel.source, panel.columns, every[-1])
    close_job(panels[0].config, command, folder, [sheet.data for sheet in sheets], every)
    say_written(sorted(every))


def finish(given: Given, panel: Panel, command: str, *sheets: Sheet) -> Path:
    """Write and print the sheets of a command about a panel; returns their folder."""
    folder = sheet_folder(panel.config.results, command, sheets)
    written = write_sheets(sheets, folder)
    if not given.quiet:
        show_grids([sheet.grid for sheet in sheets])
    close([panel], command, sheets, written)
    return folder


def finish_alone(given: Given, config: RunConfig, command: str, sheet: Sheet) -> None:
    """Write and print a sheet that is of no panel, in RESULTS/COMMAND/DATA-HASH."""
    from metaeval.experiment.job_folder import close_job, job_folder

    folder = job_folder(config.results / command.replace(" ", "-"), [sheet.data.name], sheet.grid.signatures)
    written = write_sheets([sheet], folder)
    if not given.quiet:
        show_grids([sheet.grid])
    close_job(config, command, folder, [sheet.data], written)
    say_written(sorted(written))


def say_written(written: Sequence[Path]) -> None:
    """One line a folder, with the files' names; a name in several formats is said once."""
    for folder in dict.fromkeys(path.parent for path in written):
        kinds: dict[str, list[str]] = {}
        for path in written:
            if path.parent == folder:
                kinds.setdefault(path.stem, []).append(path.suffix.removeprefix("."))
        names = [f"{stem}.{' .'.join(suffixes)}" for stem, suffixes in kinds.items()]
        say(f"Written: {folder}/ ({', '.join(names)})")


def show_list(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings; in a pipe one line a row, unless the variable COLUMNS says how wide."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number == 0, overflow="fold")
    _show(table, rows, None if os.environ.get("COLUMNS") else headings)


def show_records(records: Sequence[Mapping[str, str]], **headings: str) -> None:
    """Print mappings of the same fields as a list. headings: of fields whose name is not what stands above them."""
    show_list([headings.get(name, name) for name in records[0]], [[*one.values()] for one in records])


def show_described(headings: Sequence[str], rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Print fields, each with its value, what it says and what sets it; on a terminal the words stand below.

    In a pipe one line a field, under the headings; a row of the same length as them.
    """
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        for line in aligned([headings, *rows]):
            say(line)
        return
    width = min(console.width, _WIDEST)
    for name, value, text, setting in rows:
        head = "  ".join(filter(None, (name.strip(), value, f"(set by {setting})" if setting else "")))
        below = textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        for line in [*textwrap.wrap(head, width, subsequent_indent="    ", break_on_hyphens=False), *below]:
            say(line)


def show_card(lines: Sequence[tuple[str, str]]) -> None:
    """Print labelled texts; a line without text is left out."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    _show(table, [line for line in lines if line[1]], ())


def _show(table: Table, rows: Sequence[Sequence[str]], aligned_under: Sequence[str] | None) -> None:
    """Print rows in the table; where the output is no terminal, as unbroken lines under these headings if given."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if not console.is_terminal and aligned_under is not None:
        for line in aligned([aligned_under, *rows] if aligned_under else rows):
            say(line)
        return
    for row in rows:
        table.add_row(*(Text(Shown(cell)) for cell in row))
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        say(line.rstrip())


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = (), indent: str = "") -> list[str]:
    """Lines of equally wide columns; `right` are the columns whose cells end at one place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (cell.rjust(width) if number in right else cell.ljust(width) for number, (cell, width) in cells)
        lines.append(indent + "  ".join(padded).rstrip())
    return lines
