"""Simulate every promise and compare it with its goal.

    python -m benchmarks.promises                      all cells, 1,000 samples each
    python -m benchmarks.promises --samples 200 rare   cells whose name holds a word, fewer samples
    python -m benchmarks.promises --output cells.csv   the table as CSV too

The processes are in `processes.py`. A share within two Monte Carlo errors of its bound meets the goal; the exit code
is 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import time
from pathlib import Path

from benchmarks.promises.cells import Cell, Measured, matching, measured
from metaeval.core.files import csv_text

HEADINGS = ("promise", "cell", "quantity", "value", "error", "samples", "goal", "before", "met")


def all_cells() -> list[Cell]:
    """Return the cells of all modules of this package that have `CELLS`."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    modules = [importlib.import_module(f"benchmarks.promises.{name}") for name in names]
    return [cell for module in modules for cell in getattr(module, "CELLS", ())]


def row(result: Measured) -> tuple[str, ...]:
    """Return the cells of one line of the table."""
    goal = result.goal
    bounds = [f"{sign} {bound:g}" for sign, bound in (("≥", goal.least), ("≤", goal.most)) if math.isfinite(bound)]
    numbers = ("-", "-") if not result.samples else (f"{result.share:.3f}", f"{result.error:.3f}")
    verdict = "yes" if result.met else f"cannot: {goal.unreachable}" if goal.unreachable else "no"
    verdict = verdict if bounds else "-"
    names = result.cell.promise, result.cell.name, goal.quantity
    return (*names, *numbers, f"{result.samples:,}", " and ".join(bounds), goal.before, verdict)


def main() -> int:
    """Print the table; return 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="cells whose promise or name holds one of these words")
    parser.add_argument("--samples", type=int, default=1000, help="samples of each cell")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--output", type=Path, help="also write the table as CSV")
    options = parser.parse_args()
    print("| " + " | ".join(HEADINGS) + " |\n" + "| --- " * len(HEADINGS) + "|", flush=True)
    rows, began = [], time.perf_counter()
    for cell in matching(all_cells(), options.words):
        for result in measured(cell, options.samples, options.workers):
            rows.append(row(result))
            print("| " + " | ".join(rows[-1]) + " |", flush=True)
    missed = sum(line[-1] == "no" for line in rows)
    goals = sum(line[-1] != "-" for line in rows)
    print(f"\n{goals} goals, {missed} missed, {time.perf_counter() - began:.0f} s")
    if options.output:
        options.output.write_text(csv_text([HEADINGS, *rows]), encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
