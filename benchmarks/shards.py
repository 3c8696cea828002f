"""What shards cost.

    python -m benchmarks.shards [ROWS]                 rows a second of CPU time that parts are written and merged with
    python -m benchmarks.shards table PAIRS [COUNT...] a table scored through so many shards (1, 4 and 100), 0: without

A table is of toy pairs, 20 to a source of 500 characters, scored with `overlap`; each task is a process of its own. CPU
seconds are beyond its start (imports, settings and a table of 20 pairs), which is printed apart. Planning is what a
task takes of which all blocks are scored already.
"""

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pairs import write_table
from metaeval.config import RunConfig
from metaeval.files import sha256_json
from metaeval.runs.run import export_scores
from metaeval.runs.shard_tasks import export_shard
from metaeval.scoring.block_plan import make_plan
from metaeval.scoring.contract import PairScore
from metaeval.scoring.score_store import ScoreStore, pair_key
from metaeval.scoring.scoring_speed import device_of
from metaeval.scoring.shards import PartNote, PartWriter, PlanNote, Shard, merge_shards, plan_folder, write_note
from metrics_zoo.overlap import Overlap


def parts(rows: int) -> None:
    """Write, merge, and merge again."""
    pairs = [(f"source {number // 20}", f"statement {number}") for number in range(rows)]
    plan = make_plan({pair_key(*pair): pair for pair in pairs}, 1024)
    identity = {"name": "benchmark"}
    with TemporaryDirectory() as folder:
        place = plan_folder(Path(folder), identity, plan.id)
        run = RunConfig().model_dump(mode="json")
        counts = {"blocks": len(plan.blocks), "pairs": rows, "block_tokens": 1024, "shards": 1}
        write_note(place, PlanNote(metric="benchmark", identity=identity, plan=plan.id, run=run, **counts))
        started = time.process_time()
        note = PartNote(identity=sha256_json(identity), plan=plan.id, blocks=[], versions={}, device="cpu")
        writer = PartWriter(place, note, Shard(0, 1))
        for block in plan.blocks:
            writer.add(block, [PairScore(number / 7, tokens=300) for number in range(len(block.keys))])
        writer.close()
        written = time.process_time()
        with ScoreStore(Path(folder) / "scores.sqlite") as store:
            list(merge_shards(Path(folder), store))
            merged = time.process_time()
            list(merge_shards(Path(folder), store))
            again = time.process_time()
        size = sum(path.stat().st_size for path in place.glob("*.parquet"))
    print(f"{rows:,} rows in {len(plan.blocks):,} blocks, {size / rows:.0f} bytes a row")
    print(f"write:       {rows / (written - started):,.0f} rows a second of CPU time")
    print(f"merge:       {rows / (merged - written):,.0f}")
    print(f"merge again: {rows / (again - merged):,.0f}")


def task(folder: Path, index: int, count: int) -> None:
    """Run one task, or with count 0 the command without shards; prints CPU seconds of start and task, and GiB."""

    def run(table: str) -> None:
        config = RunConfig(dataset="ratings", data=folder / table, metrics=("overlap",), results=folder / "results")
        if count:
            list(export_shard(config, Shard(index, count), folder / f"shards-{count}"))
        else:
            list(export_scores(config, folder / "scores", "parquet"))

    run("few.parquet")
    start = time.process_time()
    run("pairs.parquet")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(start, time.process_time() - start, used.ru_maxrss / 2**20)


def table(pairs: int, counts: list[int]) -> None:
    """Print a line for the command, and one for each number of shards."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "few.parquet", 20)
        write_table(folder / "pairs.parquet", pairs)

        def process(index: int, count: int) -> list[float]:
            command = [sys.executable, "-m", "benchmarks.shards", "task", name, str(index), str(count)]
            return [float(word) for word in subprocess.check_output(command, text=True).split()]

        print(f"{pairs:,} pairs of a table, on {device_of(Overlap(Overlap.Options()))}", flush=True)
        first = 0.0
        for count in counts:
            if not count:
                start, seconds, memory = process(0, 0)
                print(f"one process, score:  {seconds:7.1f} CPU s, start {start:.1f} s, {memory:.2f} GiB", flush=True)
                continue
            tasks = [process(index, count) for index in range(count)]
            again = [process(0, count)[1] for _ in range(3)]
            starts, seconds, sizes = zip(*tasks, strict=True)
            first = first or sum(seconds)
            median = statistics.median(seconds)
            print(
                f"{count:>3} shards: {sum(seconds):7.1f} CPU s in all ({sum(seconds) / first:.2f} of the first run's), "
                f"first task {seconds[0]:.1f}, median {median:.2f}; start {statistics.median(starts):.1f} a task; "
                f"planning {statistics.median(again) / pairs * 1e6:.3f} us a pair and task; {sizes[0]:.2f} GiB, then "
                f"{statistics.median(sizes):.2f}",
                flush=True,
            )


def main() -> None:
    """Run what the arguments name."""
    words = sys.argv[1:]
    if words[:1] == ["task"]:
        task(Path(words[1]), int(words[2]), int(words[3]))
    elif words[:1] == ["table"]:
        table(int(words[1]), [int(word) for word in words[2:]] or [0, 1, 4, 100])
    else:
        parts(int(words[0]) if words else 300_000)


if __name__ == "__main__":
    main()
