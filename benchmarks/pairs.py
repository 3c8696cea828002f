"""What the driver of a job needs for each pair.

    python -m benchmarks.pairs [PAIRS]             beyond the texts, in one job
    python -m benchmarks.pairs table PAIRS...      in all, of a Parquet table

Toy pairs, 20 to a source, with a metric that answers at once, through `score_pairs`: without a store, with an empty
one, and again with what that holds. Memory is the largest that the process had, less what it had with the texts; each
in a process of its own. Of a table: the command `metaeval score`, with an empty store and again with a full one (as a
run that is resumed at its end), and with a worker of its own for each of two cores; memory in all, and CPU time with
that of workers.
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

from benchmarks.large_files import measured
from metaeval.scoring.contract import Metric, MetricCard, PairScore
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.score_store import ScoreStore


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


def write_table(path: Path, pairs: int) -> None:
    """The pairs as Parquet."""
    import pyarrow
    import pyarrow.parquet

    writer = None
    for at in range(0, pairs, 100_000):
        numbers = range(at, min(at + 100_000, pairs))
        columns = {
            "id": [f"p{number}" for number in numbers],
            "group": [number // 20 for number in numbers],
            "gold": [float(number * 7 % 3) for number in numbers],
            "source": [f"source {number // 20} " + "word " * 100 for number in numbers],
            "statement": [f"statement {number}" for number in numbers],
        }
        writer = writer or pyarrow.parquet.ParquetWriter(path, pyarrow.table(columns).schema, compression="zstd")
        writer.write_table(pyarrow.table(columns))
    if writer:
        writer.close()


def tables(sizes: Sequence[str]) -> None:
    """Score tables with the command, each in a process of its own, and print what that took."""
    for size in sizes:
        pairs = int(size)
        with TemporaryDirectory() as folder:
            write_table(Path(folder) / "pairs.parquet", pairs)
            given = f"-m benchmarks.pairs:Toy -d ratings --data {folder}/pairs.parquet -q --format parquet"
            for name, more in (
                ("empty store", f"--store {folder}/store -o {folder}/out"),
                ("full store", f"--store {folder}/store -o {folder}/out"),
                ("two workers", f"--store {folder}/two -o {folder}/two.out --executor local -s executor.workers=2"),
            ):
                seconds, memory = measured("score", *given.split(), *more.split())
                each = seconds / pairs * 1e6
                print(f"{pairs:,} pairs, {name:<12} {memory:6.2f} GiB {each:6.1f} us a pair", flush=True)


def main() -> None:
    """Run each in a process of its own."""
    if sys.argv[1:2] == ["table"]:
        tables(sys.argv[2:])
        return
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
