"""Plans beyond the pilot: the power that the planned number of groups has in samples of the pilot's process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.intervals import judgements_of
from benchmarks.promises.processes import two_metrics
from metaeval.stats.influence import t_test
from protocols import classification
from protocols.comparison import minus
from protocols.contract import Judgements
from protocols.simulation import Power, Share, Task, _fitted, influence_of_one, paired, simulated_power

TASK = Task(classification.PROTOCOL, {}, "fs_ns")
ROWS, RUNS, ALPHA, TRUE_SAMPLES = 4, 40, 0.05, 500


def pilot(rng: np.random.Generator, groups: int) -> tuple[Judgements, Judgements]:
    """Return the rows of the two metrics of the study."""
    level, group, score, verdict = two_metrics(rng, groups, ROWS)
    return judgements_of(level, group, score), judgements_of(level, group, verdict)


@cache
def true_power() -> tuple[float, Power]:
    """Return the true difference, and the power that samples of the process have."""
    large = pilot(np.random.default_rng(1), 60_000)
    simulated = {}
    for groups in (60, 200, 500):
        differ = []
        for number in range(TRUE_SAMPLES):
            rows = pilot(np.random.default_rng([groups, number]), groups)
            apart = minus(*(influence_of_one(TASK, each, np.arange(groups)) for each in rows))
            differ.append(apart is not None and t_test(apart) <= ALPHA)
        simulated[groups] = Share(int(np.sum(differ)), len(differ))
    return TASK.value(large[0]) - TASK.value(large[1]), _fitted(simulated, ALPHA)


def power_of_plan(groups: int, factor: float, rng: np.random.Generator) -> dict[str, float]:
    """Return the true power with the groups that a pilot plans for; factor: of the difference, 1 for the true one."""
    difference, power = true_power()
    rows = pilot(rng, groups)
    spread = minus(*(influence_of_one(TASK, each, np.arange(groups)) for each in rows))
    middle, half = sum(map(TASK.value, rows)) / 2, factor * difference / 2
    try:
        modelled = paired(TASK, *rows, (middle + half, middle - half))
    except ValueError:
        return {}
    expected = abs(factor * difference) / (spread.standard_error * np.sqrt(groups)) if spread else None
    plan = simulated_power(TASK, modelled, ALPHA, (0.8,), RUNS, expected)
    needed = plan.groups(0.8)
    if needed is None:
        return {"has a number": 0.0}
    # A difference k times as large takes k**2 times fewer groups, so the true power is that at needed * factor**2.
    reached = power.at(max(round(needed * factor**2), 1))
    return {"has a number": 1.0, "power": reached, "below .7": float(reached < 0.7), "above .9": float(reached > 0.9)}


def _cells() -> Iterator[Cell]:
    for groups in (15, 30, 60):
        for factor in (1.0, 0.3):
            goals = (
                Goal("has a number", 1.0, before=""),
                # The median power lies within .7 and .9 where at most half of the pilots lie on either side.
                *(Goal(quantity, most=0.5) for quantity in ("below .7", "above .9")),
                Goal("power"),
            )
            sample = partial(power_of_plan, groups, factor)
            yield Cell(
                "plan beyond the pilot", f"{groups} groups, {factor:g} x the difference", sample, goals, 30, true_power
            )


CELLS: list[Cell] = [*_cells()]
