"""The paired test of two metrics: its level, its power for judges with few levels, and that its interval agrees.

In the null cells two metrics have one true value: continuous scores, judges with three verdicts, or a judge and a
continuous score whose mean is calibrated, measure by measure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.intervals import MEASURES, judgements_of, label_of
from benchmarks.promises.processes import metrics_of_one_value
from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.intervals import DEFAULT
from metaeval.stats.resampling import bootstrap
from protocols.contract import Estimate, Floats, Judgements, Outcome, Protocol

KEYS = tuple(key for _, keys in MEASURES for key in keys)

ALPHA = 0.05

CUTS = (0.3, 1.0)
"""Scores between which a judge's verdict changes."""

MEAN = 1.3
"""Mean score of full support in the null cells; none has mean 0."""

CALIBRATION_GROUPS = 8_000
"""Groups on which two metrics are given one true value: with these many its error is .09 standard errors at 60."""

FORMS = ("continuous", "tied", "tied against continuous")


def judge(score: Floats) -> Floats:
    """Cut scores into three verdicts."""
    return np.searchsorted(CUTS, score).astype(np.float64)


def tests_of(pair: tuple[Judgements, Judgements], keys: tuple[str, ...]) -> dict[str, tuple[float, bool]]:
    """Return p of the tables' test of two metrics, and whether their interval agrees with it, by measure.

    Where no interval is given, none contradicts the test.
    """
    tests: dict[str, tuple[float, bool]] = {}
    for protocol, of_protocol in MEASURES:
        if wanted := [key for key in of_protocol if key in keys]:
            scored = {name: (rows, _outcome(protocol, rows, wanted)) for name, rows in zip("ab", pair, strict=True)}
            tested = significance(protocol, {}, DEFAULT, ComparisonConfig(), scored, wanted)
            for test in tested.comparisons if tested else ():
                p, low, high = (np.nan if x is None else x for x in (test.p, test.low, test.high))
                tests[test.measure] = p, bool(np.isnan(low)) or (p <= ALPHA) != (low <= 0 <= high)
    return tests


def _outcome(protocol: Protocol, rows: Judgements, keys: Collection[str]) -> Outcome:
    """Return what a paired test reads of a table: the values; influence values are computed where it has none."""
    groups = int(rows.group.max()) + 1
    values = protocol.replicate(rows, groups, bootstrap(groups, 0, 0), {}, keys)
    estimates = {key: Estimate(None if np.isnan(value) else float(value)) for key, (value,) in values.items()}
    return Outcome(estimates, rows.score.size, rows.score.size, ())


def shown(tests: Mapping[str, tuple[float, bool]]) -> dict[str, float]:
    """Return whether each test rejects and contradicts its interval."""
    rejects = {
        f"{label_of(key)}: test rejects": float(p <= ALPHA) if p == p else np.nan for key, (p, _) in tests.items()
    }
    return {**rejects, "tests that contradict their interval": float(not all(agrees for _, agrees in tests.values()))}


def equal_metrics(groups: int, kind: Any, form: str, rng: np.random.Generator) -> dict[str, float]:
    """Test two metrics of one true value."""
    level, group, (first, second) = metrics_of_one_value(rng, groups, kind, 2)
    mine = first + MEAN * level / 2
    rows = partial(judgements_of, level, group)
    if form == "tied against continuous":
        of_key = {key: rows(second + twin_mean(kind, key) * level / 2) for key in KEYS}
        tests = [tests_of((rows(judge(mine)), other), (key,)) for key, other in of_key.items()]
        return shown({key: test for by_key in tests for key, test in by_key.items()})
    theirs = second + MEAN * level / 2
    pair = (mine, theirs) if form == "continuous" else (judge(mine), judge(theirs))
    return shown(tests_of((rows(pair[0]), rows(pair[1])), KEYS))


@cache
def twin_mean(kind: Any, key: str) -> float:
    """Return the mean at which a continuous score has the true value of the judge of the null cells."""
    rng = np.random.default_rng(3)
    level, group, (first, second) = metrics_of_one_value(rng, CALIBRATION_GROUPS, kind, 2)
    protocol = next(protocol for protocol, keys in MEASURES if key in keys)

    def value(score: Floats) -> float:
        rows, once = judgements_of(level, group, score), bootstrap(CALIBRATION_GROUPS, 0, 0)
        return float(protocol.replicate(rows, CALIBRATION_GROUPS, once, {}, [key])[key][0])

    true = value(judge(first + MEAN * level / 2))
    return float(brentq(lambda mean: value(second + mean * level / 2) - true, 0.3, 2.5, xtol=1e-3))


def calibrate(kind: Any) -> None:
    """Compute the mean of each measure before samples are drawn."""
    for key in KEYS:
        twin_mean(kind, key)


def unequal_judges(groups: int, tied: bool, rng: np.random.Generator) -> dict[str, float]:
    """Test two judges, or the scores behind them, whose means of full support are 1.3 and 1.8."""
    level, group, scores = metrics_of_one_value(rng, groups, "equal", 2)
    first, second = (score + mean * level / 2 for score, mean in zip(scores, (1.3, 1.8), strict=True))
    pair = (judge(first), judge(second)) if tied else (first, second)
    return shown(tests_of(tuple(judgements_of(level, group, score) for score in pair), KEYS))


def _cells() -> Iterator[Cell]:
    agree = Goal("tests that contradict their interval", most=0.0, before="0.014")
    power = (
        Goal(f"{label_of('overall')}: test rejects", least=0.6, before="0.476"),
        *(Goal(f"{label_of(key)}: test rejects") for key in ("fs_ns", "spearman")),
    )
    yield Cell("judges with few levels", "60 groups", partial(unequal_judges, 60, True), (*power, agree))
    yield Cell("judges with few levels", "60 groups, uncut", partial(unequal_judges, 60, False), (agree,))
    level = tuple(Goal(f"{label_of(key)}: test rejects", most=ALPHA, before="0.020-0.095") for key in KEYS)
    for form in FORMS:
        for kind in ("equal", "poisson", "pareto"):
            prepare = partial(calibrate, kind) if form == FORMS[-1] else lambda: None
            for groups in (5, 15, 30, 60) if kind == "equal" else (15, 30, 60):
                sample = partial(equal_metrics, groups, kind, form)
                yield Cell("paired test", f"{groups} groups, {kind}, {form}", sample, (*level, agree), prepare=prepare)


CELLS: list[Cell] = [*_cells()]
