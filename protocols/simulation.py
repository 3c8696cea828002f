"""Simulated power on the rows of an input: how often the test of two metrics finds a true difference.

Groups, with their rows, levels and pools, are resampled from those of the input; scores are drawn from
`metaeval.stats.score_model`, at a value of the measure for each metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from metaeval.stats.arrays import Floats, Ints, numbered
from metaeval.stats.influence import Influence, t_test
from metaeval.stats.resampling import itself
from metaeval.stats.score_model import ScoreModel, correlations_of, draw, fit_scores
from metaeval.stats.significance import power_at, required_groups
from protocols.comparison import influence_of, minus
from protocols.contract import Judgements, Protocol
from protocols.measure_estimates import regroup

_TRIES = 32
"""The number of draws, each with its mirror image, over whose mean a model is adjusted to a value."""

_STREAMS = {"settings": 0, "tests": 2, "designs": 3}
"""What random numbers are used for, with the part of their seed that keeps one use independent of the others."""


@dataclass(frozen=True)
class Task:
    """A protocol's measure (`key`) to simulate. seed: of all draws."""

    protocol: Protocol
    options: Mapping[str, str]
    key: str
    seed: int = 0

    def value(self, rows: Judgements) -> float:
        """Return the measure of rows that all have a score; NaN where it is undefined."""
        used, n_groups = regroup(self.compared(rows))
        replicated = self.protocol.replicate(used, n_groups, itself(n_groups), self.options, [self.key])
        return float(replicated[self.key][0])

    def compared(self, rows: Judgements) -> Judgements:
        """Return rows that all have a score, with the scores replaced by `Protocol.judge` if there is one."""
        return self.protocol.judge(rows, self.options) if self.protocol.judge else rows

    def generator(self, stream: str, run: int) -> np.random.Generator:
        """Return the random generator of one sample, by what it is for (a key of `_STREAMS`) and its number."""
        return np.random.default_rng([self.seed, _STREAMS[stream], run])


@dataclass(frozen=True)
class Share:
    """A proportion: `hits` of `of` samples."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The proportion; NaN without samples."""
        return self.hits / self.of if self.of else math.nan

    @property
    def error(self) -> float:
        """The proportion's Monte Carlo standard error, with one hit and one miss added so that it is never 0."""
        share = (self.hits + 1) / (self.of + 2)
        return math.sqrt(share * (1 - share) / self.of) if self.of else math.nan


@dataclass(frozen=True, eq=False)
class ModelledRows:
    """Two metrics on the same rows: score models; correlations of errors by group, level in a group, and row."""

    rows: Judgements
    models: tuple[ScoreModel, ScoreModel]
    correlations: tuple[float, float, float]


def calibrated(task: Task, rows: Judgements, model: ScoreModel, value: float) -> ScoreModel:
    """Return the model with levels so far apart that the measure is `value` on average over draws and their mirrors.

    Raises ValueError where no distance of the levels gives this value.
    """
    generators = [task.generator("settings", number) for number in range(_TRIES)]
    kept = [generator.bit_generator.state for generator in generators]

    def beyond(turn: float) -> float:
        differences = []
        apart = [model.apart(math.tan(turn))]
        for (generator, state), sign in product(zip(generators, kept, strict=True), (1.0, -1.0)):
            generator.bit_generator.state = state  # the same numbers for every distance
            differences.append(task.value(rows.with_score(draw(generator, apart, sign=sign)[0])))
        return float(np.mean(differences)) - value

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


def influence_of_one(task: Task, rows: Judgements, groups: Ints) -> Influence | None:
    """Return the influence values of the groups, ascending by code, on the task's measure.

    Every row must have a score.
    """
    return influence_of(task.protocol, task.compared(rows), groups, task.options, [task.key]).get(task.key)


def paired(task: Task, metric: Judgements, other: Judgements, values: tuple[float, float]) -> ModelledRows:
    """Return models of two metrics with these values of the measure on average, and the errors of `metric` and `other`.

    Both metrics scored all rows. The models have the same means of the levels, but for one factor each. Raises
    ValueError where no distance of levels gives a value.
    """
    mine, theirs = (fit_scores(rows.score, rows.gold, rows.group) for rows in (metric, other))
    correlations = correlations_of((metric.score, mine), (other.score, theirs))
    means = (mine.mean + theirs.mean) / 2
    first, second = (
        calibrated(task, metric, replace(model, mean=means), value)
        for model, value in zip((mine, theirs), values, strict=True)
    )
    return ModelledRows(metric, (first, second), correlations)


def p_values(task: Task, modelled: ModelledRows, runs: int, groups: int | None = None) -> Floats:
    """Return p of the test of two metrics' difference on simulated samples, (runs,); NaN where undefined.

    The test is Student's t with the cluster standard error. groups:
    number of groups, drawn for each sample from those of `modelled` with replacement; None: those of `modelled`.
    """
    p_values = []
    for run in range(runs):
        sample = modelled if groups is None else _redrawn(modelled, groups, task.generator("designs", run))
        scores = draw(task.generator("tests", run), sample.models, sample.correlations)
        rows = [sample.rows.with_score(score) for score in scores]
        codes = np.unique(sample.rows.group)
        apart = minus(*(influence_of_one(task, judgements, codes) for judgements in rows))
        p_values.append(t_test(apart) if apart else math.nan)
    return np.array(p_values)


def _redrawn(sample: ModelledRows, groups: int, generator: np.random.Generator) -> ModelledRows:
    """Return the models on `groups` groups, drawn with replacement from those of `sample`."""
    codes, compact = np.unique(sample.rows.group, return_inverse=True)
    members = np.split(np.argsort(compact, kind="stable"), np.cumsum(np.bincount(compact))[:-1])
    drawn = [members[number] for number in generator.integers(codes.size, size=groups)]
    rows = np.concatenate(drawn)
    group = np.repeat(np.arange(groups), [len(members) for members in drawn])
    index, pools = numbered(sample.rows.pool)
    pool, _ = numbered(group * pools + index[rows])
    first, second = (model.of_rows(rows, group) for model in sample.models)
    return ModelledRows(replace(sample.rows.rows(rows), group=group, pool=pool), (first, second), sample.correlations)


@dataclass(frozen=True)
class Power:
    """The probability that a true difference is significant, by the number of groups.

    simulated: numbers of groups, and how many of their samples had a significant difference. effect: the true
    difference in standard errors of one group, from which the normal approximation gives the power at any number of
    groups; None where neither the samples nor the pilot's standard error show it. error: relative standard error of the
    effect.
    """

    simulated: Mapping[int, Share]
    effect: float | None
    error: float
    alpha: float

    def at(self, groups: int) -> float:
        """Return the power with this number of groups; alpha where the effect is not known."""
        return power_at(self.effect, *_OF_ONE_GROUP, groups, self.alpha) if self.effect else self.alpha

    def groups(self, power: float) -> int | None:
        """Return the smallest number of groups with this power; None where the effect is unknown."""
        return required_groups(self.effect, *_OF_ONE_GROUP, self.alpha, power) if self.effect else None

    def extrapolated(self, groups: int | None) -> bool:
        """Return whether a number of groups is more than 1.5 times the largest that was simulated; None never is."""
        return groups is not None and groups > _FAR * max(self.simulated)


def simulated_power(
    task: Task, sample: ModelledRows, alpha: float, powers: Sequence[float], runs: int, expected: float | None = None
) -> Power:
    """Return the simulated probability that a true difference is significant, by number of groups.

    Simulated are the groups of the sample, then about as many as each of `powers` takes, as long as samples stay
    below `MOST_ROWS` rows. expected: the effect by the pilot's standard error, which decides where the simulated
    power is near `alpha`.
    """
    here = np.unique(sample.rows.group).size
    most = max(here, MOST_ROWS * here // sample.rows.gold.size)
    simulated = {here: rejected(p_values(task, sample, runs), alpha)}
    for power in powers:
        wanted = _fitted(simulated, alpha, expected).groups(power)
        groups = most if wanted is None else min(max(wanted, _FEWEST), most)
        if groups not in simulated:
            simulated[groups] = rejected(p_values(task, sample, runs, groups), alpha)
    return _fitted(simulated, alpha, expected)


MOST_ROWS = 10_000
"""Rows of a simulated sample; plans with more are extrapolated."""

_FEWEST, _FAR = 4, 1.5

_OF_ONE_GROUP = math.sqrt(0.5), 2
"""A pilot's standard error and groups whose standard error is 1 with one group."""

_APPROXIMATION = 0.25
"""Relative standard error of an effect by the pilot's standard error, in place of simulated tests."""


def _fitted(simulated: Mapping[int, Share], alpha: float, expected: float | None = None) -> Power:
    """Return the power with the maximum-likelihood effect given the observed shares, and its error by the curvature.

    simulated: shares of significant differences by number of groups. expected: centre of a normal prior of the
    logarithm of the effect.
    """
    effects = np.geomspace(1e-5, 30, 4000)
    critical = -float(ndtri(alpha / 2))
    likelihood, information = np.zeros(effects.size), np.zeros(effects.size)
    if expected:
        likelihood -= (np.log(effects / expected) / _APPROXIMATION) ** 2 / 2
        information += _APPROXIMATION**-2
    for groups, share in simulated.items():
        shift = effects * math.sqrt(groups)
        chance = np.clip(ndtr(shift - critical) + ndtr(-shift - critical), 1e-9, 1 - 1e-9)
        slope = np.gradient(chance, np.log(effects))
        likelihood += share.hits * np.log(chance) + (share.of - share.hits) * np.log1p(-chance)
        information += share.of * slope**2 / (chance * (1 - chance))
    best = int(likelihood.argmax())
    error = 1 / math.sqrt(information[best]) if information[best] > 0 else math.inf
    known = expected or any(share.value > alpha + 2 * share.error for share in simulated.values())
    return Power(simulated, float(effects[best]) if known else None, error, alpha)


def rejected(p: Floats, alpha: float) -> Share:
    """Return the share of tests with p of at most `alpha`, among those that could be made (p is not NaN)."""
    known = p[~np.isnan(p)]
    return Share(int(np.count_nonzero(known <= alpha)), known.size)
