"""Coverage of the default intervals: balanced levels, heavy tails, a rare level, Pareto-sized groups, AUCs near 1."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.processes import few_lose, two_metrics
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
"""Arguments of `two_metrics`, by name, or of another process, `draw`."""


def sample_of(groups: int, kind: Any, process: Process, rng: np.random.Generator) -> Judgements:
    """Draw the rows of a sample."""
    arguments = dict(process)
    draw = arguments.pop("draw", two_metrics)
    level, group, score, _ = draw(rng, groups, kind, **arguments)
    return judgements_of(level, group, score)


@cache
def true_values(kind: Any, process: Process, keys: tuple[str, ...]) -> dict[str, float]:
    """Return the measures of 60,000 groups of a process."""
    rows = sample_of(TRUE_GROUPS, kind, process, np.random.default_rng(1))
    estimates = estimates_of(rows, keys, Resampling(n=0))
    return {key: float(estimate.value or np.nan) for key, estimate in estimates.items()}


def coverage(
    groups: int, kind: Any, process: Process, keys: tuple[str, ...], rng: np.random.Generator
) -> dict[str, float]:
    """Return whether the interval of each measure holds the true value, and whether it claims 30 effective groups."""
    rows = sample_of(groups, kind, process, rng)
    truth = true_values(kind, process, keys)
    quantities: dict[str, float] = {}
    for key, estimate in estimates_of(rows, keys).items():
        given = estimate.low is not None and estimate.high is not None
        claimed = given and (estimate.effective or 0.0) >= CLAIMED
        held = float(estimate.low <= truth[key] <= estimate.high) if given else np.nan  # type: ignore[operator]
        quantities[f"{label_of(key)}: coverage"] = held
        quantities[f"{label_of(key)}: claims 30 groups"] = float(claimed)
        quantities[f"{label_of(key)}: coverage where 30 groups are claimed"] = held if claimed else np.nan
    return quantities


SIZES = {"equal": "8 rows each", "poisson": "Poisson sizes", "pareto": "Pareto sizes"}
SIZES |= {4: "4 rows each", 20: "20 rows each"}
"""The sizes of groups in words."""


def label_of(key: str) -> str:
    """Return the heading of a measure."""
    return next(protocol.measure(key).label for protocol, keys in MEASURES if key in keys)


def _cell(promise: str, scores: str, groups: int, kind: Any, goals: tuple[Goal, ...], **process: Any) -> Cell:
    """Make a cell; scores: in words, what the process draws. The measures are those of the goals."""
    measured = {goal.quantity.split(": ")[0] for goal in goals}
    keys = tuple(key for _, of_protocol in MEASURES for key in of_protocol if label_of(key) in measured)
    arguments = kind, tuple(process.items()), keys
    name = f"{groups} groups, {SIZES[kind]}, {scores}"
    return Cell(promise, name, partial(coverage, groups, *arguments), goals, prepare=partial(true_values, *arguments))


def _main() -> Iterator[Cell]:
    kept = Goal("", 0.94, 0.97, "0.94-0.97")
    of_rows = [
        replace(kept, quantity=f"{label_of(key)}: coverage") for key in ("fs_ns", "overall", "spearman", "kendall")
    ]
    of_pools = replace(kept, quantity=f"{label_of('ndcg@5')}: coverage")
    for kind in ("equal", "poisson"):
        for groups in (15, 30, 60, 100, 300):
            # The study found NDCG's intervals to hold from 30 groups on; below, the coverage is shown without a goal.
            goals = (*of_rows, of_pools if groups >= 30 else Goal(of_pools.quantity))
            for strength, scores in ((1.0, "ROC-AUC near .79"), (2.0, "ROC-AUC near .91")):
                yield _cell("balanced levels", scores, groups, kind, goals, strength=strength)


def _rare() -> Iterator[Cell]:
    keys = ("fs_ns", "overall")
    before = {60: ("0.13-0.31", "0.856-0.864"), 100: ("0.13-0.31", "0.856-0.921"), 300: ("0.90", "0.939-0.942")}
    for groups, (where_claimed, everywhere) in before.items():
        goals = [
            Goal(f"{label_of(key)}: coverage where 30 groups are claimed", 0.93, before=where_claimed) for key in keys
        ]
        goals += [Goal(f"{label_of(key)}: coverage", before=everywhere) for key in keys]
        shares, scores = (2.0, 1.5, 0.1), "ROC-AUC near .95, 3 % without support"
        yield _cell("rare level", scores, groups, 4, tuple(goals), strength=2.0, heavy=False, shares=shares)
    label = label_of("ap_full")
    for shares, where_claimed, rare in (((0.1, 1.5, 2.0), "0.857", "full"), ((3.0, 0.1, 0.1), "0.902", "not full")):
        held = Goal(f"{label}: coverage where 30 groups are claimed", 0.93, before=where_claimed)
        goals = [held, Goal(f"{label}: coverage")]
        scores = f"ROC-AUC near .95, 3 % {rare}"
        yield _cell("rare level", scores, 60, 4, tuple(goals), strength=2.0, heavy=False, shares=shares)
    for groups, kind in ((60, "equal"), (100, "equal"), (100, "poisson")):
        claims = tuple(Goal(f"{label_of(key)}: claims 30 groups", 0.95) for key in keys)
        yield _cell("balanced levels", "ROC-AUC near .91, claims", groups, kind, claims, strength=2.0)


def _pareto() -> Iterator[Cell]:
    for groups, before in ((15, "0.898"), (30, "0.912"), (60, "0.934"), (100, "0.939")):
        goals = [Goal(f"{label_of('overall')}: coverage", 0.93, before=before)]
        keys = ("spearman", "kendall", "fs_ns", "ndcg@5")
        goals += [Goal(f"{label_of(key)}: coverage", 0.93, before="0.907-0.961") for key in keys]
        yield _cell("Pareto sizes", "ROC-AUC near .79", groups, "pareto", tuple(goals))


NEAR_ONE: dict[str, tuple[str, dict[str, Any]]] = {
    "ROC-AUC near .98": ("0.905-0.940", {"strength": 3.2, "heavy": False}),
    "ROC-AUC near .96, t errors": ("0.933-0.953", {"strength": 3.0}),
    "ROC-AUC near .98, skewed scores": ("0.905-0.947", {"draw": few_lose, "apart": 6.0, "skewed": 0.8}),
    "ROC-AUC near .97, 5 % of groups fail": ("0.616-0.925", {"draw": few_lose, "apart": 4.0, "failing": 0.05}),
}
"""Coverage before intervals were extended, and a process whose losses come from few groups, by its name in words."""

NONE_DRAWN = "a sample with no or one failing group does not show how many fail"


def _near_one() -> Iterator[Cell]:
    goal = Goal(f"{label_of('fs_ns')}: coverage", 0.93)
    for scores, (before, process) in NEAR_ONE.items():
        goals = (replace(goal, before=before, unreachable=NONE_DRAWN if "failing" in process else ""),)
        for groups in (15, 30, 60, 100):
            yield _cell("near the end of the range", scores, groups, "equal", goals, **process)
    clumped = {"draw": few_lose, "apart": 6.0, "skewed": 0.3, "clumped": 0.2}
    goals = (replace(goal, before="0.933-0.940"),)
    for groups, kind in ((60, 20), (100, 20), (200, "equal")):
        scores = "ROC-AUC near .98, skewed scores, 3 % without support in 20 % of the groups"
        yield _cell("rare level", scores, groups, kind, goals, **clumped)


CELLS: list[Cell] = [*_main(), *_rare(), *_pareto(), *_near_one()]
