"""Coverage of the default intervals: the main cells, a rare level, Pareto-sized groups, heavy tails."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.processes import two_metrics
from metaeval.stats.intervals import DEFAULT, Resampling
from protocols import classification, correlation, retrieval
from protocols.contract import Estimate, Judgements, Protocol

TRUE_GROUPS = 60_000
"""Groups whose value is taken as the true one."""

CLAIMED = 30
"""Effective groups from which on an interval is shown without a warning."""

POOL = 5
"""Rows of a retrieval pool."""

MEASURES: tuple[tuple[Protocol, tuple[str, ...]], ...] = (
    (classification.PROTOCOL, ("fs_ns", "overall", "ap_full")),
    (correlation.PROTOCOL, ("pearson", "spearman", "kendall")),
    (retrieval.PROTOCOL, ("ndcg@5",)),
)


def judgements_of(level: np.ndarray, group: np.ndarray, score: np.ndarray) -> Judgements:
    """Return the rows of a sample; rows of one group make pools of five."""
    starts = np.r_[0, np.flatnonzero(np.diff(group)) + 1]
    place = np.arange(group.size) - starts[np.cumsum(np.r_[0, np.diff(group) > 0])]
    pool = np.cumsum(np.r_[True, (np.diff(group) > 0) | (place[1:] % POOL == 0)]) - 1
    return Judgements(gold=level, score=score, group=group, pool=pool)


def estimates_of(rows: Judgements, keys: Collection[str], resampling: Resampling = DEFAULT) -> dict[str, Estimate]:
    """Return the estimates of the measures `keys`, with default intervals."""
    estimates: dict[str, Estimate] = {}
    for protocol, of_protocol in MEASURES:
        wanted = [key for key in of_protocol if key in keys]
        if wanted:
            found = protocol.evaluate(rows, resampling, {}).estimates
            estimates |= {key: found[key] for key in wanted}
    return estimates


Process = tuple[tuple[str, Any], ...]
"""Arguments of `two_metrics`, by name."""


@cache
def true_values(kind: Any, process: Process, keys: tuple[str, ...]) -> dict[str, float]:
    """Return the measures of 60,000 groups of a process."""
    level, group, score, _ = two_metrics(np.random.default_rng(1), TRUE_GROUPS, kind, **dict(process))
    estimates = estimates_of(judgements_of(level, group, score), keys, Resampling(n=0))
    return {key: float(estimate.value or np.nan) for key, estimate in estimates.items()}


def coverage(
    groups: int, kind: Any, process: Process, keys: tuple[str, ...], rng: np.random.Generator
) -> dict[str, float]:
    """Return whether the interval of each measure holds the true value, and whether it claims 30 effective groups."""
    level, group, score, _ = two_metrics(rng, groups, kind, **dict(process))
    truth = true_values(kind, process, keys)
    quantities: dict[str, float] = {}
    for key, estimate in estimates_of(judgements_of(level, group, score), keys).items():
        given = estimate.low is not None and estimate.high is not None
        claimed = given and (estimate.effective or 0.0) >= CLAIMED
        held = float(estimate.low <= truth[key] <= estimate.high) if given else np.nan  # type: ignore[operator]
        quantities[f"{key} coverage"] = held
        quantities[f"{key} claims 30"] = float(claimed)
        quantities[f"{key} coverage where 30 are claimed"] = held if claimed else np.nan
    return quantities


def _cell(promise: str, groups: int, kind: Any, goals: tuple[Goal, ...], keys: tuple[str, ...], **process: Any) -> Cell:
    words = " ".join(f"{name}={value}" for name, value in process.items())
    sample = partial(coverage, groups, kind, tuple(process.items()), keys)
    true = partial(true_values, kind, tuple(process.items()), keys)
    return Cell(promise, f"{groups} groups, {kind}{', ' if words else ''}{words}", sample, goals, prepare=true)


def _main() -> Iterator[Cell]:
    keys = ("fs_ns", "overall", "spearman", "kendall", "ndcg@5")
    goals = tuple(Goal(f"{key} coverage", 0.94, 0.97, "94-97") for key in keys)
    for kind in ("equal", "poisson"):
        for groups in (15, 30, 60, 100, 300):
            for strength in (1.0, 2.0):
                yield _cell("main", groups, kind, goals, keys, strength=strength)


def _rare() -> Iterator[Cell]:
    keys, before = ("fs_ns", "overall"), {60: "73 / 40", 100: "13-31", 300: "90.6 / 90.4"}
    for groups, all_of_cell in ((60, "85.6 / 86.4"), (100, "85.6-92.1"), (300, "93.9 / 94.2")):
        goals = [Goal(f"{key} coverage where 30 are claimed", 0.93, before=before[groups]) for key in keys]
        goals += [Goal(f"{key} coverage", before=all_of_cell) for key in keys]
        shares = (2.0, 1.5, 0.1)
        yield _cell("rare level", groups, 4, tuple(goals), keys, strength=2.0, heavy=False, shares=shares)
    for shares, before_ap in (((0.1, 1.5, 2.0), "85.7 of 99 %"), ((3.0, 0.1, 0.1), "90.2 of 100 %")):
        ap = (Goal("ap_full coverage where 30 are claimed", 0.93, before=before_ap), Goal("ap_full coverage"))
        yield _cell("rare level", 60, 4, ap, ("ap_full",), strength=2.0, heavy=False, shares=shares)
    for groups, kind in ((60, "equal"), (100, "equal"), (100, "poisson")):
        claims = tuple(Goal(f"{key} claims 30", 0.95, before="100") for key in keys)
        yield _cell("rare level: balanced cells go on claiming 30", groups, kind, claims, keys, strength=2.0)


def _pareto() -> Iterator[Cell]:
    keys = ("overall", "spearman", "kendall", "fs_ns", "ndcg@5")
    for groups, before in ((15, "89.8"), (30, "91.2"), (60, "93.4"), (100, "93.9")):
        goals = tuple(Goal(f"{key} coverage", 0.93, before=before if key == "overall" else "90.7-96.1") for key in keys)
        yield _cell("Pareto sizes", groups, "pareto", goals, keys)


CELLS: list[Cell] = [*_main(), *_rare(), *_pareto()]
