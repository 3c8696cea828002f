"""Progress of scoring inside a notebook: one bar of tqdm a metric."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metaeval.experiment.metrics import MetricProgress


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook. IPython is asked only where it is loaded already."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


@contextmanager
def notebook_progress() -> Iterator[MetricProgress | None]:
    """Bars while the block runs; None outside of notebooks, and where tqdm is not installed."""
    if not in_notebook():
        yield None
        return
    try:
        library: Any = importlib.import_module("tqdm.auto")
    except ImportError:
        yield None
        return
    bars: dict[str, Any] = {}

    def report(metric: str, done: int, total: int) -> None:
        if metric not in bars:
            bars[metric] = library.tqdm(desc=metric, total=total, unit="pair", initial=done)
        bars[metric].total = total
        bars[metric].update(done - bars[metric].n)

    try:
        yield report
    finally:
        for bar in bars.values():
            bar.close()
