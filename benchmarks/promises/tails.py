"""Coverage of Pearson's r where scores have heavy tails: Student's t with 3 degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.intervals import TRUE_GROUPS, judgements_of
from benchmarks.promises.processes import two_metrics
from metaeval.stats.intervals import DEFAULT, Resampling
from protocols import correlation
from protocols.contract import Judgements

AS_THEY_ARE, WINSORISED = "Pearson", "winsorised Pearson"
OPTIONS: Mapping[str, Mapping[str, str]] = {AS_THEY_ARE: {}, WINSORISED: {"robust": "winsor"}}


def _rows(groups: int, heavy: bool, rng: np.random.Generator) -> Judgements:
    level, group, score, _ = two_metrics(rng, groups, "equal", heavy=heavy)
    return judgements_of(level, group, score)


@cache
def true_values(heavy: bool) -> dict[str, float]:
    """Return both coefficients of 60,000 groups."""
    rows = _rows(TRUE_GROUPS, heavy, np.random.default_rng(1))
    estimates = {
        name: correlation.evaluate(rows, Resampling(n=0), options).estimates["pearson"]
        for name, options in OPTIONS.items()
    }
    return {name: float(estimate.value or np.nan) for name, estimate in estimates.items()}


def coverage(groups: int, heavy: bool, rng: np.random.Generator) -> dict[str, float]:
    """Return whether the interval of each coefficient holds the true value, and whether there is a warning."""
    rows, quantities = _rows(groups, heavy, rng), {}
    for name, options in OPTIONS.items():
        outcome = correlation.evaluate(rows, DEFAULT, options)
        estimate = outcome.estimates["pearson"]
        if estimate.low is None or estimate.high is None:
            continue
        held = estimate.low <= true_values(heavy)[name] <= estimate.high
        warned = correlation.HEAVY_TAILS in outcome.warnings
        quantities[f"{name}: coverage"] = float(held)
        quantities[f"{name}: coverage or the warning"] = float(held or warned)
        quantities[f"{name}: warning"] = float(warned)
    return quantities


def _cells() -> Iterator[Cell]:
    for groups in (15, 30, 100, 300):
        goals = (
            Goal(f"{AS_THEY_ARE}: coverage", before="0.906-0.951"),
            Goal(f"{AS_THEY_ARE}: coverage or the warning", 0.93),
            Goal(f"{WINSORISED}: coverage", 0.93),
        )
        name = f"{groups} groups, 8 rows each, t errors with 3 degrees of freedom"
        yield Cell("heavy tails", name, partial(coverage, groups, True), goals, prepare=partial(true_values, True))
        goals = (Goal(f"{AS_THEY_ARE}: coverage", 0.93), Goal(f"{AS_THEY_ARE}: warning", most=0.05))
        name = f"{groups} groups, 8 rows each, normal errors"
        yield Cell("heavy tails", name, partial(coverage, groups, False), goals, prepare=partial(true_values, False))


CELLS: list[Cell] = [*_cells()]
