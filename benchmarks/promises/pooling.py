"""Rare levels of several data sets, drawn towards the mean of all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from metaeval.stats.significance import shrunken


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
    for sets in (4, 6, 10):
        for tau in (0.0, 0.2, 0.5):
            goals = Goal("squared error minus that of raw values", most=0.0), Goal("coverage", 0.93)
            sample = partial(partial_pooling, sets=sets, tau=tau)
            yield Cell("partial pooling", f"{sets} data sets, tau {tau:g}", sample, goals)


CELLS = list(_cells())
