"""What the driver of a job needs for each pair beyond the texts: python -m benchmarks.pairs [PAIRS].

Toy pairs, 20 to a source, with a metric that answers at once, through `score_pairs`: without a store, with an empty
one, and again with what that holds. Memory is the largest that the process had, less what it had with the texts; each
in a process of its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from metaeval.scoring.contract import Metric, MetricCard, PairScore
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.store import ScoreStore


class Toy(Metric):
    """Answers that depend on the lengths of the texts."""

    card = MetricCard(name="toy", family="toy", summary="lengths", paper="none", licence="none")

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """A float of its own for each pair."""
        return [
            PairScore(len(one) / (1 + len(other)), tokens=len(one))
            for one, other in zip(sources, statements, strict=True)
        ]


def one(pairs: int, store: str) -> None:
    """Score in this process, and print bytes and CPU microseconds a pair."""
    texts = []
    for number in range(pairs):
        if number % 20 == 0:
            source = f"source {number // 20} " + "word " * 100
        texts.append((source, f"statement {number}"))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    if store:
        with ScoreStore(Path(store)) as opened:
            score_pairs(Toy(), texts, opened)
    else:
        score_pairs(Toy(), texts)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(f"{used / pairs:6.0f} bytes {(time.process_time() - started) / pairs * 1e6:6.1f} us a pair")


def main() -> None:
    """Run each in a process of its own."""
    if len(sys.argv) == 4:
        one(int(sys.argv[2]), sys.argv[3])
        return
    pairs = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    with TemporaryDirectory() as folder:
        for name, store in (("no store", ""), ("empty store", "scores"), ("full store", "scores")):
            place = os.path.join(folder, store) if store else ""
            command = [sys.executable, "-m", "benchmarks.pairs", "one", pairs, place]
            found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            print(f"{int(pairs):,} pairs, {name:<12} {found}", flush=True)


if __name__ == "__main__":
    main()
