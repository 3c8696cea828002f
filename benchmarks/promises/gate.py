"""The promise of `metaeval gate fit`: of the unsupported citations at most 10 % are missed, with confidence 95 %."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
from scipy.optimize import brentq

from benchmarks.gate_promise import ALPHA, MAX_FLAGGED, Drawn, Made, gate_on, normal_scores
from benchmarks.promises.cells import Cell, Goal
from benchmarks.promises.processes import failing_answers
from metaeval.stats.risk_control import threshold_order

RATE, NO_GOAL = 0.1, -math.inf

Draw = Callable[[np.random.Generator], Drawn]


def answers_that_fail(answers: int, citations: int, failing: float, lost: float, rng: np.random.Generator) -> Drawn:
    """Draw labels of answers of which a share fails; lost: share of their unsupported citations that is missed."""
    bad, group, score, missed_at = failing_answers(rng, answers, citations, failing, lost)
    return Drawn(score, bad, group, threshold_order(score), missed_at)


def answers_of_sizes(answers: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the numbers of citations of answers: lognormal with a median of 5, at least 1."""
    return np.maximum(np.rint(5 * np.exp(spread * rng.normal(size=answers))), 1).astype(np.int64)


@cache
def slope(spread: float, power: float, missed: float) -> float:
    """Return c: answers of n citations that fail with chance min(1, c * n ** power) hold the share `missed`."""
    size = answers_of_sizes(100_000, spread, np.random.default_rng(0))

    def excess(log_slope: float) -> float:
        return float(np.average(np.minimum(np.exp(log_slope) * size**power, 1), weights=size)) - missed

    return float(np.exp(brentq(excess, -30, 0)))


def long_answers_that_fail(answers: int, spread: float, power: float, missed: float, rng: np.random.Generator) -> Drawn:
    """Draw labels of answers that fail more often the more citations they have; missed: share of all citations."""
    size = answers_of_sizes(answers, spread, rng)
    chance = np.minimum(slope(spread, power, missed) * size**power, 1)
    bad, group, score, _ = failing_answers(rng, answers, size, chance)
    return Drawn(score, bad, group, threshold_order(score), failing_answers(rng, 1, 1, missed)[-1])


def fit(draw: Draw, rng: np.random.Generator) -> dict[str, float]:
    """Fit a gate to drawn labels; return whether it breaks its promise, and whether there is a gate."""
    labels = draw(rng)
    gate = gate_on(labels, RATE)
    broken = gate is not None and labels.true(gate.threshold) > RATE
    passes = gate is not None and gate.flagged <= MAX_FLAGGED
    return {"promise broken": float(broken), "passes": float(passes)}


# Answers, citations, share that fails, share lost, least share of fits with a gate, broken on commit 137d1a0.
CLUSTERED = (
    (20, 10, 0.1, 1.0, NO_GOAL, "0.175"),
    (40, 10, 0.12, 1.0, NO_GOAL, "0.170"),
    (40, 5, 0.1, 1.0, NO_GOAL, "0.125"),
    (60, 6, 0.12, 1.0, NO_GOAL, ""),
    (40, 10, 0.18, 0.6, NO_GOAL, ""),
    (29, 10, 0.1, 1.0, NO_GOAL, ""),
    (100, 5, 0.12, 1.0, NO_GOAL, ""),
    (100, 5, 0.06, 1.0, 0.5, ""),  # a ROC-AUC of .97, as in the next
    (100, 5, 0.1, 0.6, 0.5, ""),
)

# Answers, spread of log sizes, power of the size in the chance to fail, share missed, least share of fits with a gate,
# broken on commit 6e1188ce.
LONG = (
    (60, 0.8, 1, 0.15, NO_GOAL, "0.078"),
    (120, 0.8, 1, 0.15, NO_GOAL, "0.108"),
    (250, 0.8, 1, 0.15, NO_GOAL, "0.089"),
    (250, 1.0, 1, 0.11, NO_GOAL, "0.145"),
    (250, 0.8, 2, 0.12, NO_GOAL, "0.145"),
    (250, 0.8, 1, 0.02, 0.5, "0.031"),
)

# Answers, unsupported labels, AUC, icc, share of 1,000 fits on commit 137d1a0 that give a gate.
NORMAL = (
    (30, 45, 0.95, 0.0, 0.586),
    (30, 45, 0.95, 0.3, 0.537),
    (30, 45, 0.98, 0.0, 0.882),
    (30, 45, 0.98, 0.3, 0.807),
    (40, 60, 0.95, 0.0, 0.873),
    (40, 60, 0.95, 0.3, 0.797),
    (40, 60, 0.98, 0.0, 0.99),
    (40, 60, 0.98, 0.3, 0.966),
    (70, 105, 0.95, 0.0, 0.997),
    (70, 105, 0.95, 0.3, 0.985),
    (70, 105, 0.98, 0.0, 1.0),
    (70, 105, 0.98, 0.3, 1.0),
)

UNREACHABLE = ".9 to the power of the answers with an unsupported citation is above .05"
"""Of so few answers none fails with a chance above .05, though a tenth of all answers do.

A gate that passed there would break its promise where answers fail as a whole, which the labels cannot show.
"""


def _cells() -> Iterator[Cell]:
    for answers, citations, failing, lost, least, before in CLUSTERED:
        name = f"{answers} answers x {citations}, {failing:g} fail" + (f", {lost:g} of each lost" if lost < 1 else "")
        draw = partial(answers_that_fail, answers, citations, failing, lost)
        goals = Goal("promise broken", most=ALPHA, before=before), Goal("passes", least=least)
        yield Cell("gate", name, partial(fit, draw), goals)
    for answers, spread, power, missed, least, before in LONG:
        name = f"{answers} answers, log sizes spread by {spread:g}, {missed:g} missed, failing as size ** {power:g}"
        goals = Goal("promise broken", most=ALPHA, before=before), Goal("passes", least=least)
        yield Cell("gate", name, partial(fit, partial(long_answers_that_fail, answers, spread, power, missed)), goals)
    for name, answers, draw, before in _not_clustered():
        unreachable = UNREACHABLE if answers <= 30 else ""
        passes = Goal("passes", least=0.9 * before, before=f"{before:.3f}", unreachable=unreachable)
        yield Cell(
            "gate", f"{answers} answers x 5, {name}", partial(fit, draw), (Goal("promise broken", most=ALPHA), passes)
        )


def _not_clustered() -> Iterator[tuple[str, int, Draw, float]]:
    """Yield cells in which misses do not cluster more than scores: name, answers, labels, share of gates before."""
    for answers, before in ((20, 0.981), (40, 1.0), (60, 1.0), (100, 1.0)):
        yield "none fails", answers, partial(answers_that_fail, answers, 5, 0.0, 1.0), before
    for answers, unsupported, auc, icc, before in NORMAL:
        draw = partial(normal_scores, Made(unsupported, auc, 5, icc, 0.3, 0.3))
        yield f"AUC {auc:g}, icc {icc:g}", answers, draw, before


CELLS = [*_cells()]
