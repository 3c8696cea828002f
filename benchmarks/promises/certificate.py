"""Certificates: whether the coverage that they give agrees with that of the process behind the input."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.intervals import Process, coverage, judgements_of, true_values
from benchmarks.promises.processes import two_metrics
from metaeval.config import load_run
from metaeval.runs.certifying import certificate
from protocols import classification
from protocols.simulation import Task

RUNS = 100
"""Samples of a certificate."""

TRUE_SAMPLES = 15
"""Samples of the process for each certificate, over which the true coverage is taken."""


def agreement(groups: int, kind: Any, process: Process, key: str, rng: np.random.Generator) -> dict[str, float]:
    """Return a certificate's coverage less that of samples of the process, and the two."""
    given = [coverage(groups, kind, process, (key,), rng)[f"{key} coverage"] for _ in range(TRUE_SAMPLES)]
    level, group, score, _ = two_metrics(rng, groups, kind, **dict(process))
    task = Task(classification.PROTOCOL, {}, key, int(rng.integers(1 << 30)))
    config = load_run(None, {"comparison": {"permutations": 0}})
    try:
        simulated = certificate(task, config, {"metric": judgements_of(level, group, score)}, RUNS)
    except ValueError:
        return {}
    if (simulated.effective or 0.0) < config.interval.fewest or not simulated.given or np.isnan(given).all():
        return {}
    certified, true = simulated.held / simulated.given, float(np.nanmean(given))
    worst = simulated.held_worst / simulated.given_worst if simulated.given_worst else certified
    return {"certified less true": certified - true, "certified": certified, "true": true, "at worst": worst}


def _cells() -> Iterator[Cell]:
    rare = {"strength": 2.0, "heavy": False, "shares": (2.0, 1.5, 0.1)}
    for name, kind, process in (
        ("rare level", 4, rare),
        ("main", "equal", {"strength": 2.0, "heavy": False}),
        ("heavy tails", "equal", {"strength": 2.0}),
    ):
        for key in ("fs_ns", "overall"):
            arguments = tuple(process.items())
            goals = (
                Goal("certified less true", -0.02, 0.02, "+.08 in the rare cell"),
                *(Goal(quantity) for quantity in ("certified", "true", "at worst")),
            )
            sample = partial(agreement, 60, kind, arguments, key)
            prepare = partial(true_values, kind, arguments, (key,))
            yield Cell("certificate", f"{name}, 60 groups, {key}", sample, goals, 40, prepare)


CELLS: list[Cell] = [*_cells()]
