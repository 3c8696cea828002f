"""CPU seconds of the tables with and without their paired tests.

    python -m benchmarks.paired_tests                9 metrics on 300,000 pairs, and 16 on 400

Classification and correlation of made data, with default intervals and without controls, on one pinned thread; both
take turns in each round.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from functools import partial
from itertools import combinations
from statistics import median

from benchmarks.resampling import Table, made, seconds
from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.intervals import DEFAULT
from protocols import classification, correlation
from protocols.contract import Judgements

PROTOCOLS = (classification.PROTOCOL, correlation.PROTOCOL)


def few_rows(metrics: int, rows: int) -> Table:
    """Return the first rows of a table of that many metrics."""
    table = made(statements=rows, groups=rows // 5, metrics=metrics)
    scores = [score[:rows] for score in table.scores]
    return replace(table, gold=table.gold[:rows], group=table.group[:rows], pool=table.pool[:rows], scores=scores)


def tables(table: Table, settings: ComparisonConfig) -> int:
    """Evaluate and compare all metrics; return the number of p-values."""
    rows = [Judgements(table.gold, score, table.group, table.pool) for score in table.scores]
    tests = 0
    for protocol in PROTOCOLS:
        scored = {f"metric {n}": (row, protocol.evaluate(row, DEFAULT, {})) for n, row in enumerate(rows)}
        compared = significance(protocol, {}, DEFAULT, settings, scored, protocol.shown(rows[0], {}))
        tests += sum(pair.p is not None for pair in compared.comparisons) if compared else 0
    return tests


SETTINGS = {"without": ComparisonConfig(permutations=0), "with tests": ComparisonConfig()}


def timed(table: Table, rounds: int) -> dict[str, float]:
    """Return the median seconds of the tables without and with tests."""
    times = [{kind: seconds(partial(tables, table, of)) for kind, of in SETTINGS.items()} for _ in range(rounds)]
    return {kind: median(one_round[kind] for one_round in times) for kind in SETTINGS}


def main() -> None:
    """Print the seconds of both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    timed(few_rows(3, 100), 1)  # compiles the loops
    for table, goal in ((few_rows(16, 400), 4), (made(), 40)):
        pairs = sum(1 for _ in combinations(table.scores, 2))
        print(f"{len(table.scores)} metrics x {table.gold.size:,} rows, {pairs} pairs (goal {goal} s with tests)")
        for kind, taken in timed(table, options.rounds).items():
            print(f"  {kind:<10}{taken:9.2f} s", flush=True)


if __name__ == "__main__":
    main()
