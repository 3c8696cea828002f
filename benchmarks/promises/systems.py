"""Values of systems' means, now and in the limit; the control `system`; tests against random scores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
from scipy.stats import spearmanr

from benchmarks.promises.cells import Cell, Goal
from metaeval.corpus.ratings import Rating, RatingColumns
from metaeval.scoring.controls import rated_controls
from metaeval.stats.intervals import DEFAULT
from metaeval.stats.systems import coefficients
from protocols import preference
from protocols.comparison import tested_against
from protocols.contract import Judgements
from protocols.systems import LIMIT, evaluate

NOISE, SHARED = 10.0, 0.4
"""Variance of a text about its system, and the correlation of these errors of score and gold."""


@cache
def true_means(systems: int, limit: float) -> np.ndarray:
    """Return the systems' true means of score and gold, (2, S), with variance 1 and correlation `limit`."""
    drawn = np.random.default_rng(7).normal(size=(systems, 3))
    drawn[:, 0] = 1
    basis = np.linalg.qr(drawn)[0].T[1:] * np.sqrt(systems - 1)
    return np.stack([basis[0], limit * basis[0] + np.sqrt(1 - limit**2) * basis[1]])


def texts(systems: int, inputs: int, limit: float, rng: np.random.Generator) -> np.ndarray:
    """Return the scores and the gold of every system on each input, (2, S, N)."""
    error = rng.normal(size=(2, systems, inputs))
    error[1] = SHARED * error[0] + np.sqrt(1 - SHARED**2) * error[1]
    return np.asarray(true_means(systems, limit)[..., None] + rng.normal(size=(2, 1, inputs)) + NOISE**0.5 * error)


@cache
def at_so_many(systems: int, inputs: int, limit: float) -> float:
    """Return the mean of Pearson's r of the systems' means over `inputs` inputs."""
    rng = np.random.default_rng(8)
    means = np.stack([texts(systems, inputs, limit, rng).mean(axis=2) for _ in range(4000)], axis=2)
    return float(coefficients(*means)[0].mean())


def system_level(systems: int, inputs: int, limit: float, rng: np.random.Generator) -> dict[str, float]:
    """Return whether the intervals hold the value at so many inputs, and the limit."""
    score, gold = texts(systems, inputs, limit, rng).reshape(2, -1)
    system, pool = np.divmod(np.arange(systems * inputs), inputs)
    estimates = evaluate(Judgements(gold, score, pool, pool, system, levels=False), DEFAULT, {}).estimates
    at, free = estimates["sys_pearson"], estimates[LIMIT]

    def holds(low: float | None, high: float | None, value: float) -> float:
        return np.nan if low is None or high is None else float(low <= value <= high)

    return {
        "coverage of the value at so many inputs": holds(at.low, at.high, at_so_many(systems, inputs, limit)),
        "coverage of the limit, disattenuated": holds(free.low, free.high, limit),
        "coverage of the limit, not disattenuated": holds(at.low, at.high, limit),
        "disattenuated minus limit": np.nan if free.value is None else free.value - limit,
    }


def system_control(rng: np.random.Generator) -> dict[str, float]:
    """Return Spearman's rho of the control `system` where systems do not differ: 8 systems, 40 inputs."""
    gold = rng.normal(size=(8, 40)) + 0.5 * rng.normal(size=40)
    rows = [
        Rating(f"{system}-{number}", str(number), float(value), f"s{system}")
        for system, values in enumerate(gold)
        for number, value in enumerate(values)
    ]
    columns = RatingColumns.of(rows)
    return {"Spearman of the control": float(spearmanr(rated_controls(columns)["system"], columns.gold).statistic)}


def against_random(rng: np.random.Generator) -> dict[str, float]:
    """Test a random score against the expected pairwise accuracy, which has no closed form where gold ties."""
    pool = np.repeat(np.arange(40), 4)
    rows = Judgements(rng.integers(0, 3, pool.size).astype(float), rng.random(pool.size), pool, pool)
    outcome = preference.PROTOCOL.evaluate(rows, DEFAULT, {"equal": "lost"})
    tests = tested_against(
        *(preference.PROTOCOL, {"equal": "lost"}, DEFAULT, {"m": (rows, outcome)}, {"m": {"random": None}}),
        *(["pairwise", "consistency"], 0),
    )
    return {f"{key}: test rejects": float((test.p or 1.0) <= 0.05) for key, test in tests["m", "random"].items()}


def _cells() -> Iterator[Cell]:
    for systems, inputs, limit in ((12, 30, 0.88), (12, 30, 0.6), (12, 30, 0.0), (12, 100, 0.88), (6, 30, 0.88)):
        goals = (
            Goal("coverage of the value at so many inputs", 0.93),
            Goal("coverage of the limit, disattenuated", 0.93, before="0.76-0.84"),
            Goal("coverage of the limit, not disattenuated"),
            Goal("disattenuated minus limit", -0.05, 0.05),
        )
        sample = partial(system_level, systems, inputs, limit)
        prepare = partial(at_so_many, systems, inputs, limit)
        name = f"{systems} systems, {inputs} inputs, limit {limit:g}"
        yield Cell("system level", name, sample, goals, prepare=prepare)
    spearman_goal = Goal("Spearman of the control", -0.08, 0.08, "0.12")
    yield Cell("system control", "8 systems that do not differ", system_control, (spearman_goal,))
    goals = Goal("pairwise: test rejects", most=0.06), Goal("consistency: test rejects", most=0.06)
    yield Cell("chance", "random scores, 40 inputs of 4 texts", against_random, goals)


CELLS = list(_cells())
