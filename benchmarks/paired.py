"""Times several ways to the same numbers, interleaved in one process on one pinned thread, in CPU seconds."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Way = Callable[[], Sequence[float]]
"""Computes the scores once, from texts to numbers."""


@dataclass(frozen=True)
class Paired:
    """Median CPU seconds of each way; median of the ratios to the first, round by round; largest score difference."""

    seconds: dict[str, float]
    ratios: dict[str, float]
    apart: dict[str, float]

    def lines(self) -> list[str]:
        """One line a way."""
        return [
            f"  {name:<44} {self.seconds[name]:8.2f} s  {self.ratios[name]:6.2f} x  scores apart {self.apart[name]:.1e}"
            for name in self.seconds
        ]


def pin() -> None:
    """One core, one thread: two threads of a busy machine time each other."""
    import torch

    torch.set_num_threads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def processor() -> str:
    """The name of this machine's processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.processor())


def bounds(goal: float, limit: float) -> str:
    """What a ratio should and could be at most: both were found on AMD EPYC, and hold for no other processor."""
    name = processor()
    known = f"goal {goal} x, physical limit {limit} x" if "AMD" in name else "no limit is published for this processor"
    return f"on {name}: {known}"


def compare(ways: Mapping[str, Way], rounds: int) -> Paired:
    """Run every way once a round; ours comes first, and the others are told as multiples of it."""
    first = next(iter(ways))
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    scores: dict[str, Sequence[float]] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = way()
            seconds[name].append(time.process_time() - start)
    ratios = {
        name: statistics.median(a / b for a, b in zip(taken, seconds[first], strict=True))
        for name, taken in seconds.items()
    }
    pairs = {name: zip(values, scores[first], strict=True) for name, values in scores.items()}
    apart = {name: max(abs(a - b) for a, b in found) for name, found in pairs.items()}
    return Paired({name: statistics.median(taken) for name, taken in seconds.items()}, ratios, apart)
