"""CPU seconds and largest memory of `metaeval evaluate` on made files, by their size.

    python -m benchmarks.large_files                      100,000 ratings of 9 systems, 3 metrics
    python -m benchmarks.large_files --rows 1000000       minutes
    python -m benchmarks.large_files --rows --parquet 10000000
                                                          Parquet: 2 metrics, groups of ten rows, at most 10**6

Each command runs in a process of its own, with one thread. A first run on a small file compiles the loops.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SYSTEMS = 9
MOST_GROUPS = 1_000_000
WEIGHTS = {"mine": 0.5, "theirs": 1.0, "judge": 1.5}


def write_ratings(path: Path, rows: int) -> None:
    """Articles with one output of each system: ratings in twelfths, two continuous metrics and one in whole numbers."""
    rng = np.random.default_rng(0)
    system = np.arange(rows) % SYSTEMS
    gold = np.round(np.clip(rng.normal(0.5 + 0.03 * system, 0.3), 0, 1) * 12) / 12
    scores = {name: np.round(gold * w + rng.normal(0.1 * system, 0.5), 6) for name, w in WEIGHTS.items()}
    scores["judge"] = scores["judge"].round()
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            own = {"id": f"r{i}", "group": f"a{i // SYSTEMS}", "gold": gold[i], "system": f"s{system[i]}"}
            file.write(json.dumps({**own, "scores": {name: column[i] for name, column in scores.items()}}) + "\n")


def write_parquet(path: Path, rows: int) -> None:
    """Groups of ten rows or more on three levels, a continuous metric without a score in one row of 50, and a judge."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    writer = None
    for at in range(0, rows, 1_000_000):
        group = np.arange(at, min(at + 1_000_000, rows)) // max(10, rows // MOST_GROUPS)
        gold = rng.integers(0, 3, group.size).astype(float)
        mine = gold / 2 + np.sin(group * 12.9898) + rng.normal(size=group.size)
        mine[::50] = np.nan
        judge = np.clip(np.round(gold + rng.normal(size=group.size)), 0, 2)
        columns = {"group": group, "gold": gold, "mine": pyarrow.array(mine, from_pandas=True), "judge": judge}
        table = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()


def measured(*arguments: str) -> tuple[float, float]:
    """CPU seconds and GiB of one command, in a process that nothing else has used."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "metaeval", *arguments]
    wrapper = f"import resource, subprocess; subprocess.run({command!r}, check=True, stdout=subprocess.DEVNULL); "
    wrapper += "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    wrapper += "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    found = subprocess.run([sys.executable, "-c", wrapper], check=True, env=env, capture_output=True, text=True)
    seconds, kilobytes = map(float, found.stdout.split())
    return seconds, kilobytes / 2**20


def main() -> None:
    """Time the commands and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000])
    parser.add_argument("--parquet", type=int, nargs="*", default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [("jsonl", write_ratings, rows) for rows in (1_000, *given.rows)]
        files += [("parquet", write_parquet, rows) for rows in given.parquet]
        for ending, write, rows in files:
            path = Path(folder) / f"ratings-{rows}.{ending}"
            write(path, rows)
            settings = ("-q", "--data", str(path), "--results", str(Path(folder) / "results"))
            seconds, memory = measured("evaluate", "-d", "ratings", *settings)
            if rows > 1_000:
                print(f"{ending:<8} {rows:>11,} rows {seconds:9.1f} CPU s {memory:6.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
