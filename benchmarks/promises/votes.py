"""Coverage of intervals where the gold is the mean of annotators' votes.

Annotators differ in how strict and how attentive they are. The true value is the mean of the measure over other groups
and over other annotators, as many of them and with as many votes of a row: not its value without any error of
annotators.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from benchmarks.promises.cells import Cell, Goal
from metaeval.stats.intervals import DEFAULT, studentised_interval
from metaeval.stats.resampling import bootstrap
from metaeval.stats.vote_choices import votes_of_gold
from protocols import classification, correlation
from protocols.comparison import influence_of
from protocols.contract import Judgements

MEASURES = ((classification.PROTOCOL, "concordance"), (correlation.PROTOCOL, "spearman"))
LABELS = {key: protocol.measure(key).label for protocol, key in MEASURES}

TRUE_SAMPLES, TRUE_GROUPS = 300, 200
"""Draws of annotators whose mean is taken as the true value, and groups in each."""


class Voted(NamedTuple):
    """Rows with `votes` votes each, of `annotators` in all; spread: how much these differ."""

    annotators: int
    votes: int
    spread: float


def drawn(rng: np.random.Generator, groups: int, case: Voted) -> Judgements:
    """Draw groups of six rows, their votes of yes or no, and the scores of a metric."""
    group = np.repeat(np.arange(groups), 6)
    support = 0.6 * rng.normal(size=groups)[group] + rng.normal(size=group.size)
    strict = case.spread * rng.normal(size=case.annotators)
    noise = np.exp(case.spread * rng.normal(size=case.annotators))
    said = (support[:, None] + noise * rng.normal(size=(group.size, case.annotators)) > strict).astype(float)
    asked = rng.random(said.shape).argsort(axis=1) < case.votes
    votes = np.where(asked, said, np.nan)
    score = 0.8 * support + 0.5 * rng.normal(size=groups)[group] + rng.normal(size=group.size)
    gold = np.nanmean(votes, axis=1)
    return Judgements(gold, score, group, np.arange(group.size), levels=False, votes=votes_of_gold(votes, gold, None))


@cache
def true_values(case: Voted) -> dict[str, float]:
    """Return the mean of the measures over draws of annotators."""
    rng, once = np.random.default_rng(1), bootstrap(TRUE_GROUPS, 0, 0)
    samples = [drawn(rng, TRUE_GROUPS, case) for _ in range(TRUE_SAMPLES)]
    return {
        key: float(np.mean([protocol.replicate(rows, TRUE_GROUPS, once, {}, [key])[key][0] for rows in samples]))
        for protocol, key in MEASURES
    }


def coverage(groups: int, case: Voted, sampled: bool, rng: np.random.Generator) -> dict[str, float]:
    """Return whether intervals hold the true values. sampled: annotators are taken as sampled too."""
    rows = drawn(rng, groups, case)
    if not sampled:
        rows = Judgements(rows.gold, rows.score, rows.group, rows.pool, levels=False)
    quantities: dict[str, float] = {}
    for protocol, key in MEASURES:
        influence = influence_of(protocol, rows, np.arange(groups), {}, [key])[key]
        interval, _, _ = studentised_interval(influence, groups, DEFAULT)
        held = interval is not None and interval[0] <= true_values(case)[key] <= interval[1]
        quantities[f"{LABELS[key]}: coverage"] = float(held) if interval else np.nan
        quantities[f"{LABELS[key]}: interval given"] = float(interval is not None)
    return quantities


BEFORE = {Voted(5, 5, 0.0): "0.93", Voted(5, 5, 0.7): "0.87-0.90", Voted(20, 3, 0.7): "0.91"}
BEFORE |= {Voted(3, 3, 0.7): "0.79-0.80"}
"""Coverage with groups alone, 100 samples."""

FEW = "three annotators, two degrees of freedom, seldom show how much annotators differ"


def _cells() -> Iterator[Cell]:
    for case, held in BEFORE.items():
        why = FEW if case.annotators < 5 else ""
        goals = [Goal(f"{LABELS[key]}: coverage", 0.93, before=held, unreachable=why) for _, key in MEASURES]
        goals += [Goal(f"{LABELS[key]}: interval given", 0.9, before="1.00", unreachable=why) for _, key in MEASURES]
        name = f"60 groups, {case.votes} votes a row of {case.annotators} annotators who differ by {case.spread:g}"
        sample, true = partial(coverage, 60, case, True), partial(true_values, case)
        yield Cell("votes", name, sample, tuple(goals), prepare=true)


CELLS = [*_cells()]
