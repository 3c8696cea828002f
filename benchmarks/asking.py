"""Time of a metric that asks somebody against a bare asyncio loop: ``python -m benchmarks.asking``.

192 pairs, each three calls of .2 s one after the other, 16 pairs in flight; rounds of both, interleaved.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

import metaeval
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.functions import as_class
from metaeval.scoring.score_store import ScoreStore

PAIRS, CALLS, SECONDS, FLYING, ROUNDS = 192, 3, 0.2, 16, 3
counted = {"calls": 0, "in flight": 0, "most": 0}


@metaeval.metric(low=0, high=1, concurrency=FLYING, identity={"model": "none"})
async def judge(source: str, statement: str) -> float:
    """Score a pair by three calls of a server that answers after .2 s."""
    counted["in flight"] += 1
    counted["most"] = max(counted["most"], counted["in flight"])
    for _ in range(CALLS):
        counted["calls"] += 1
        await asyncio.sleep(SECONDS)
    counted["in flight"] -= 1
    return float(statement in source)


async def bare(pairs: list[tuple[str, str]]) -> None:
    """Ask for all pairs without metaeval."""
    room = asyncio.Semaphore(FLYING)

    async def one(pair: tuple[str, str]) -> float:
        async with room:
            return await judge(*pair)

    await asyncio.gather(*map(one, pairs))


def main() -> None:
    """Print the ratio of each round, the number of calls, and the most pairs in flight."""
    # Two of three sources are long, so that pairs stand in many blocks.
    pairs = [(f"{'w ' * 30_000 if n % 3 else ''}source {n // 2}", f"statement {n}") for n in range(PAIRS)]
    ratios = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        asyncio.run(bare(pairs))
        plain = time.perf_counter() - started
        counted.update(calls=0, most=0)
        with tempfile.TemporaryDirectory() as folder, ScoreStore(Path(folder) / "scores.sqlite") as store:
            started = time.perf_counter()
            scored = score_pairs(as_class(judge)(), pairs, store).computed
            took = time.perf_counter() - started
        ratios.append(took / plain)
        said = f"{counted['calls']} calls, at most {counted['most']} pairs in flight, {scored} pairs scored and stored"
        print(f"{took:.2f} s, bare {plain:.2f} s, ratio {ratios[-1]:.3f}; {said}")
    print(f"median ratio {median(ratios):.3f}")


if __name__ == "__main__":
    main()
