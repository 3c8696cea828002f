"""CPU seconds of the tables with their paired tests, by test: Student's t (the default), or the exchange.

    python -m benchmarks.paired_tests                9 metrics on 300,000 pairs, and 16 on 400
    python -m benchmarks.paired_tests --test t       without the exchange, which takes minutes

Classification and correlation of made data, with default intervals and without controls, on one pinned thread; the
tests take turns in each round.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from statistics import median

from benchmarks.resampling import Table, made, seconds
from metaeval.config import ComparisonConfig
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


def timed(table: Table, kinds: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the median seconds of the tables with each kind of test; "none" is without tests."""
    settings = {kind: ComparisonConfig(test=kind) for kind in kinds if kind != "none"}
    settings["none"] = ComparisonConfig(permutations=0)
    times = [{kind: seconds(partial(tables, table, settings[kind])) for kind in kinds} for _ in range(rounds)]
    return {kind: median(one_round[kind] for one_round in times) for kind in kinds}


def main() -> None:
    """Print the seconds of both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", choices=("t", "exchange"), help="this test alone")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    kinds = ("none", options.test) if options.test else ("none", "t", "exchange")
    timed(few_rows(3, 100), kinds, 1)  # compiles the loops
    for table, goal in ((few_rows(16, 400), 4), (made(), 40)):
        pairs = sum(1 for _ in combinations(table.scores, 2))
        print(f"{len(table.scores)} metrics x {table.gold.size:,} rows, {pairs} pairs (goal {goal} s with t)")
        for kind, taken in timed(table, kinds, options.rounds).items():
            print(f"  {kind:<10}{taken:9.2f} s", flush=True)


if __name__ == "__main__":
    main()
