"""A nested simulation on the rows of an input: how often intervals hold the true value, and tests reject.

Rows, groups, levels and pools are those of the input; scores are drawn from `metaeval.stats.simulation`, at the value
that a metric has there. True is what the measure is on average over all samples drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, get_args

import numpy as np
from scipy.optimize import brentq

from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.influence import Influence
from metaeval.stats.resampling import bootstrap
from metaeval.stats.simulation import ScoreModel, correlation_of, draw, fit_scores
from protocols.comparison import compared_by, exchange_p_values, influence_of
from protocols.contract import Judgements, Protocol, Resampling
from protocols.estimation import regroup, studentised_interval

CLASSES = (0.0, 6.0, 30.0, 60.0, math.inf)
"""Ends of the classes of effective groups: intervals of one class hold the true value about equally often."""

RUNS = 300
"""Samples of a simulation."""

_EXTENDED = 4
"""A class in which less than a quarter of the samples lie gets up to this many times as many."""

_TRIES = 8
"""Draws, each with its mirror image, over which a model's value is adjusted."""

Stream = Literal["settings", "at the value", "tests", "designs"]


@dataclass(frozen=True)
class Task:
    """One measure of one protocol, whose simulation is asked for. seed: of all draws."""

    protocol: Protocol
    options: Mapping[str, str]
    key: str
    seed: int = 0

    def value(self, rows: Judgements) -> float:
        """The measure of rows that all have a score; NaN where it is undefined."""
        every = np.ones(rows.score.size, dtype=np.bool_)
        used, n_groups = regroup(compared_by(self.protocol, rows, every, self.options))
        once = bootstrap(n_groups, 0, 0)
        return float(self.protocol.replicate(used, n_groups, once, self.options, [self.key])[self.key][0])

    def generator(self, stream: Stream, run: int) -> np.random.Generator:
        """The random numbers of one sample."""
        return np.random.default_rng([self.seed, get_args(Stream).index(stream), run])


@dataclass(frozen=True)
class Share:
    """`hits` of `of` samples."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The share; NaN of no samples."""
        return self.hits / self.of if self.of else math.nan

    @property
    def error(self) -> float:
        """Its Monte Carlo error, one standard deviation, of a share that one hit and one miss more would give."""
        share = (self.hits + 1) / (self.of + 2)
        return math.sqrt(share * (1 - share) / self.of) if self.of else math.nan


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of simulated samples hold the true value.

    true: mean of the measure over the samples. effective: groups of the input, None where nothing is known of it.
    alike: correlation of two rows of one group and level in the samples. every: of all samples with an interval.
    likewise: of those whose effective groups lie in the class (`CLASSES`) of the input's. below, above: of all,
    intervals that end below the true value, and that begin above it. without: samples in which no interval is given.
    usual: median of the samples' effective groups; NaN where none has any.
    """

    true: float
    effective: float | None
    alike: float
    every: Share
    likewise: Share
    below: int
    above: int
    without: int
    usual: float


@dataclass(frozen=True, eq=False)
class Pair:
    """Two metrics on the same rows: the models of their scores, and the correlation of what they err by."""

    rows: Judgements
    models: tuple[ScoreModel, ScoreModel]
    correlation: float


def class_of(effective: float) -> int:
    """The number of the class of effective groups, from 0; of none, -1."""
    return -1 if math.isnan(effective) else int(np.searchsorted(CLASSES, effective, side="right")) - 1


def calibrated(task: Task, rows: Judgements, model: ScoreModel, value: float) -> ScoreModel:
    """The model with its levels so far apart that the measure is `value` on average over a few draws.

    Raises ValueError where no distance gives it.
    """
    generators = [task.generator("settings", number) for number in range(_TRIES)]
    kept = [generator.bit_generator.state for generator in generators]

    def beyond(turn: float) -> float:
        found = []
        apart = [model.apart(math.tan(turn))]
        for (generator, state), sign in product(zip(generators, kept, strict=True), (1.0, -1.0)):
            generator.bit_generator.state = state  # the same numbers for every distance
            found.append(task.value(rows.with_score(draw(generator, apart, sign=sign)[0])))
        return float(np.mean(found)) - value

    for factor in (0.2, 5.0), (-100.0, 100.0):
        low, high = map(math.atan, factor)
        ends = beyond(low), beyond(high)
        if min(ends) <= 0 <= max(ends):
            return model.apart(math.tan(brentq(beyond, low, high, xtol=_NEAR)))
    closest = min(ends, key=abs)
    if abs(closest) > _SLACK:
        reach = f"{value + min(ends):.3f} to {value + max(ends):.3f}"
        raise ValueError(f"scores with these groups, levels and ties reach {reach} on average, and not {value:.3f}")
    return model.apart(factor[ends.index(closest)])


_NEAR = 2e-3
_SLACK = 1e-3


def coverage(
    task: Task,
    rows: Judgements,
    model: ScoreModel,
    resampling: Resampling,
    effective: float | None = None,
    runs: int = RUNS,
) -> Coverage:
    """Draw scores for the rows, and hold each sample's interval against the mean of all.

    effective: groups of the input, which say what samples are like it.
    """
    rows, n_groups = regroup(rows)
    # Where the input has no interval, its samples have those that it would have if they were asked for.
    few = effective is not None and effective < resampling.fewest
    asked = replace(resampling, fewest=0.0) if few else resampling
    values: list[float] = []
    ends: list[tuple[float, float]] = []
    groups: list[float] = []
    own = None if effective is None else class_of(effective)
    while len(values) < runs or (
        own is not None
        and len(values) < _EXTENDED * runs
        and 4 * [class_of(number) for number in groups].count(own) < runs
    ):
        scores = draw(task.generator("at the value", len(values)), [model])[0]
        found = influence_of_one(task, rows.with_score(scores), np.arange(n_groups))
        interval, _, behind = studentised_interval(found, n_groups, n_groups, asked)
        values.append(math.nan if found is None else found.value)
        ends.append(interval or (math.nan, math.nan))
        groups.append(math.nan if behind is None else behind)
    true = float(np.nanmean(values)) if not np.isnan(values).all() else math.nan
    low, high = np.array(ends).T
    given = ~np.isnan(low)
    like = given & (np.array([class_of(number) for number in groups]) == own)
    held = given & (low <= true) & (true <= high)
    return Coverage(
        true=true,
        effective=effective,
        alike=model.alike,
        every=_share(held[given]),
        likewise=_share(held[like]),
        below=int((high[given] < true).sum()),
        above=int((low[given] > true).sum()),
        without=int((~given).sum()),
        usual=float(np.nanmedian(groups)) if not np.isnan(groups).all() else math.nan,
    )


def influence_of_one(task: Task, rows: Judgements, groups: Ints) -> Influence | None:
    """What each of the groups, codes in ascending order, contributes to the measure of rows that all have a score."""
    used = compared_by(task.protocol, rows, np.ones(rows.score.size, dtype=np.bool_), task.options)
    return influence_of(task.protocol, used, groups, task.options, [task.key]).get(task.key)


def paired(task: Task, one: Judgements, other: Judgements, values: tuple[float, float] | None = None) -> Pair:
    """Two metrics whose measures are these on average (by default, equal and the mean of theirs) and which else err as
    these do.

    Both scored all rows. Their levels stand apart alike, but for one factor each. Raises ValueError as `calibrated`.
    """
    mine, theirs = (fit_scores(rows.score, rows.gold, rows.group) for rows in (one, other))
    correlation = correlation_of((one.score, mine), (other.score, theirs))
    if values is None:
        middle = (task.value(one) + task.value(other)) / 2
        values = middle, middle
    means = (mine.mean + theirs.mean) / 2
    first, second = (
        calibrated(task, one, replace(model, mean=means), value)
        for model, value in zip((mine, theirs), values, strict=True)
    )
    return Pair(one, (first, second), correlation)


def p_values(task: Task, pair: Pair, permutations: int, runs: int, first: int = 0) -> Floats:
    """P of the test of two metrics' difference on samples of the pair, (runs,); NaN where undefined.

    first: number of the first sample, which its random numbers depend on.
    """
    found = []
    for run in range(first, first + runs):
        scores = draw(task.generator("tests", run), pair.models, pair.correlation)
        one, other = (
            compared_by(task.protocol, pair.rows.with_score(score), np.ones(score.size, dtype=np.bool_), task.options)
            for score in scores
        )
        p = exchange_p_values(task.protocol, (one, other), permutations, run, task.options, [task.key])
        found.append(p.get(task.key, math.nan))
    return np.array(found)


def rejected(p: Floats, alpha: float) -> Share:
    """How many of the tests that could be made reject."""
    return _share(p[~np.isnan(p)] <= alpha)


def permutations_for(alpha: float) -> int:
    """Permutations that a test at `alpha` needs at least in a simulation: with them it may reject `alpha` exactly."""
    return max(99, math.ceil(5 / alpha) - 1)


def _share(hits: Bools) -> Share:
    return Share(int(np.count_nonzero(hits)), int(hits.size))
