"""The speed of metrics on this machine: it is measured in every run, and stored in the cache."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from metaeval.errors import UserError
from metaeval.files import cache_folder, sha256_json
from metaeval.parsing import read_object, read_text
from metaeval.scoring.backends.batches import workers
from metaeval.scoring.backends.checkpoint import remember
from metaeval.scoring.backends.model_loading import pick_device
from metaeval.scoring.contract import Metric
from metaeval.scoring.executors.contract import BlockTask, Context, Execute, ScoredBlock

_ENOUGH = 10.0
"""Seconds: a measurement of at least this duration replaces any other, even a longer one."""


class ScoringPace(NamedTuple):
    """The measured speed of a metric: tokens scored (see `tokens_of`) in so many seconds, by one device or all cores.

    Both leave out the start: processes, weights, the first block of each. device: its name (`device_of`).
    """

    tokens: int
    seconds: float
    device: str


def tokens_of(sources: Iterable[str], statements: Iterable[str]) -> int:
    """Return an estimate of the number of tokens in the texts of pairs: a quarter of their characters."""
    return sum(len(text) for side in (sources, statements) for text in side) // 4


def device_of(metric: Metric) -> str:
    """Return the name of the device that a metric computes on: the GPU's model, or "cpu: " and the processor's."""
    wish = getattr(metric.options, "device", "cpu")
    device = wish if wish == "cpu" else pick_device(wish)
    if device.startswith("cuda"):
        import torch

        return str(torch.cuda.get_device_name(device))
    try:
        lines = read_text(Path("/proc/cpuinfo")).splitlines()
    except UserError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{device}: {next(named, platform.processor() or platform.machine())}"


def storing_speed(execute: Execute, metrics: Sequence[Metric], workers: int = 1, devices: int = 1) -> Execute:
    """Return a function that does what `execute` does, and stores the metrics' speed when it ends, even by an error.

    workers: number of worker processes; as many blocks are left out at the start, so with no more blocks than that
    nothing is stored. devices: how many devices work side by side. Metrics that share a model pass get the same speed.
    """

    def run(context: Context, tasks: Iterable[BlockTask]) -> Iterator[ScoredBlock]:
        done, tokens, began, last = 0, 0, 0.0, 0.0
        wanted: set[int] = set()
        try:
            for block in execute(context, tasks):
                last = time.monotonic()
                done += 1
                if done <= workers:  # when so many are done, every worker has started
                    began = last
                else:
                    tokens += tokens_of(*zip(*block.task.pairs, strict=True))
                    wanted.update(block.task.wanted)
                yield block
        finally:
            if tokens:
                _keep([metrics[number] for number in wanted], tokens, (last - began) * devices)

    return run


def known_pace(metric: Metric) -> ScoringPace | None:
    """Return the stored speed of this metric with its options on its device; None if there is none."""
    try:
        entry = read_object(_path())[_key(metric, device := device_of(metric))]
        pace = ScoringPace(int(entry["tokens"]), float(entry["seconds"]), device)
    except (UserError, KeyError, TypeError, ValueError):
        return None
    return pace if pace.tokens > 0 and pace.seconds > 0 else None


def _path() -> Path:
    return cache_folder() / "paces.json"


def _key(metric: Metric, device: str) -> str:
    return sha256_json([metric.identity(), device, workers("cpu")])[:32]


def _keep(metrics: Sequence[Metric], tokens: int, seconds: float) -> None:
    """Store the speed of each metric, unless its stored measurement took longer and this one less than `_ENOUGH`."""
    known = [(metric, known_pace(metric)) for metric in metrics]
    new = [metric for metric, before in known if before is None or seconds >= min(before.seconds, _ENOUGH)]
    pace = {"tokens": tokens, "seconds": round(seconds, 6)}
    with suppress(UserError):  # without a home folder nothing is kept
        remember(_path(), {_key(metric, device_of(metric)): pace for metric in new})
