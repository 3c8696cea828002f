"""Certificates: whether the coverage that they give agrees with that of the process behind the input."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.intervals import SIZES, Process, coverage, judgements_of, label_of
from benchmarks.promises.processes import two_metrics
from metaeval.config import load_run
from metaeval.runs.certificates import certificate
from protocols import classification
from protocols.simulation import Task

RUNS = 100
"""Samples of a certificate."""

TRUE_SAMPLES = 2000
"""Samples of the process, over which its coverage is taken."""

CERTIFICATES = 30


@cache
def true_coverage(groups: int, kind: Any, process: Process, key: str) -> float:
    """Return the share of intervals of samples of the process that hold the true value."""
    rng, name = np.random.default_rng(2), f"{label_of(key)}: coverage"
    return float(np.nanmean([coverage(groups, kind, process, (key,), rng)[name] for _ in range(TRUE_SAMPLES)]))


def agreement(groups: int, kind: Any, process: Process, key: str, rng: np.random.Generator) -> dict[str, float]:
    """Return the coverage that a certificate of one sample gives, and by how much it is above that of the process."""
    level, group, score, _ = two_metrics(rng, groups, kind, **dict(process))
    task = Task(classification.PROTOCOL, {}, key, int(rng.integers(1 << 30)))
    config = load_run(None, {"comparison": {"permutations": 0}})
    try:
        simulated = certificate(task, config, {"metric": judgements_of(level, group, score)}, RUNS)
    except ValueError:
        return {}
    if (simulated.effective or 0.0) < config.interval.fewest or not simulated.given:
        return {}
    certified, true = simulated.held / simulated.given, true_coverage(groups, kind, process, key)
    worst = simulated.held_worst / simulated.given_worst if simulated.given_worst else certified
    return {
        "certified minus true coverage": certified - true,
        "certified coverage": certified,
        "certified coverage at worst": worst,
        "true coverage": true,
    }


def _cells() -> Iterator[Cell]:
    rare = {"strength": 2.0, "heavy": False, "shares": (2.0, 1.5, 0.1)}
    for scores, kind, process, before in (
        ("ROC-AUC near .95, 3 % without support", 4, rare, "0.08"),
        ("ROC-AUC near .95", "equal", {"strength": 2.0, "heavy": False}, ""),
        ("ROC-AUC near .91, t errors", "equal", {"strength": 2.0}, ""),
    ):
        for key in ("fs_ns", "overall"):
            arguments = 60, kind, tuple(process.items()), key
            goals = (
                Goal("certified minus true coverage", -0.02, 0.02, before),
                *(Goal(f"{quantity} coverage") for quantity in ("certified", "true")),
                Goal("certified coverage at worst"),
            )
            name = f"60 groups, {SIZES[kind]}, {scores}, {label_of(key)}"
            prepare = partial(true_coverage, *arguments)
            yield Cell("certificate", name, partial(agreement, *arguments), goals, CERTIFICATES, prepare)


CELLS: list[Cell] = [*_cells()]
