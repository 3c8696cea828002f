"""Progress of scoring: a bar with rate and time left in a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from metaeval.experiment.scoring import MetricProgress

ASKING = "asking "
"""What the name of a chat model begins with, of which replies are counted (see `metaeval.citation.chat.opening`)."""

_EVERY = 10.0  # seconds between plain lines


@contextmanager
def scoring_progress(quiet: bool) -> Iterator[MetricProgress | None]:
    """Report on stderr while the block runs; what metrics have to tell goes there too, unless `quiet`."""
    logging.basicConfig(format="%(message)s")
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
        starts: dict[str, tuple[float, int]] = {}

        def report(metric: str, done: int, total: int) -> None:
            if metric not in tasks:
                tasks[metric] = bars.add_task(metric, total=total, completed=done, rate=_served(done, total))
                starts[metric] = (time.monotonic(), done)
                return
            bars.update(tasks[metric], completed=done, rate=_rate(metric, done, *starts[metric]))

        yield report


def _lines() -> MetricProgress:
    starts: dict[str, tuple[float, int]] = {}
    last: dict[str, float] = {}

    def report(metric: str, done: int, total: int) -> None:
        now = time.monotonic()
        if metric not in starts:
            starts[metric], last[metric] = (now, done), now
            typer.echo(f"{metric}: {done:,} of {total:,} {_unit(metric)} {_served(done, total)}".rstrip(), err=True)
        elif done == total or now - last[metric] >= _EVERY:
            last[metric] = now
            left = (total - done) * (now - starts[metric][0]) / max(done - starts[metric][1], 1)
            soon = f", {left:.0f} s left" if done < total else ""
            rate = _rate(metric, done, *starts[metric])
            typer.echo(f"{metric}: {done:,} of {total:,} {_unit(metric)}, {rate}{soon}", err=True)

    return report


def _served(done: int, total: int) -> str:
    return "from the store" if done == total else ""


def _rate(metric: str, done: int, start: float, before: int) -> str:
    return f"{(done - before) / max(time.monotonic() - start, 1e-9):,.0f} {_unit(metric)}/s"


def _unit(metric: str) -> str:
    """What is counted: pairs that a metric scores, or replies of a chat model."""
    return "replies" if metric.startswith(ASKING) else "pairs"
