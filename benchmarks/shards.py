"""Rows a second of CPU time that shards are written and merged with: python benchmarks/shards.py [ROWS]."""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from metaeval.config import RunConfig
from metaeval.files import sha256_json
from metaeval.scoring.contract import PairScore
from metaeval.scoring.plan import make_plan
from metaeval.scoring.shards import PartNote, PartWriter, PlanNote, merge_shards, plan_folder, write_note
from metaeval.scoring.store import ScoreStore, pair_key


def main() -> None:
    """Write, merge, and merge again."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
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
        writer = PartWriter(place, note)
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


if __name__ == "__main__":
    main()
