"""Studies and data sets combined: the test of their mean, and rare levels drawn towards it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from metaeval.stats.significance import pooled, shrunken

UNEQUAL = {
    "errors 1 to 3": (1.0, 1.5, 2.0, 3.0),
    "errors 1 to 8": (0.5, 1.0, 2.0, 4.0),
    "one precise": (0.25, 1.0, 1.0, 1.0),
    "one poor": (1.0, 1.0, 1.0, 4.0),
}


def meta_analysis(errors: tuple[float, ...], tau: float, rng: np.random.Generator) -> dict[str, float]:
    """Test a true mean of 0."""
    each = np.array(errors)
    summary = pooled(rng.normal(0, np.hypot(tau, each)), each)
    return {"test rejects": float(summary.p_hartung_knapp <= 0.05)}


def partial_pooling(rng: np.random.Generator, sets: int, tau: float) -> dict[str, float]:
    """Compare raw and shrunken values of two rare levels among `sets` data sets, on the binormal scale."""
    errors = np.r_[rng.uniform(0.08, 0.2, sets - 2), rng.uniform(0.3, 0.6, 2)]
    true = rng.normal(1, tau, sets)
    seen = rng.normal(true, errors)
    rare = shrunken(seen, errors)[-2:]
    values = np.array([value for value, _ in rare])
    return {
        "squared error minus that of raw values": float(np.mean((values - true[-2:]) ** 2 - (seen - true)[-2:] ** 2)),
        "coverage": float(np.mean([low <= at <= high for at, (_, (low, high)) in zip(true[-2:], rare, strict=True)])),
    }


def _cells() -> Iterator[Cell]:
    for name, errors in UNEQUAL.items():
        for tau in (0.0, 1.0, 2.0, 4.0):
            goal = Goal("test rejects", most=0.06, before="0.04-0.13")
            yield Cell("meta-analysis", f"4 studies, {name}, tau {tau:g}", partial(meta_analysis, errors, tau), (goal,))
    for sets in (4, 6, 10):
        for tau in (0.0, 0.2, 0.5):
            goals = Goal("squared error minus that of raw values", most=0.0), Goal("coverage", 0.93)
            sample = partial(partial_pooling, sets=sets, tau=tau)
            yield Cell("partial pooling", f"{sets} data sets, tau {tau:g}", sample, goals)


CELLS = list(_cells())
