"""Differences of two metrics and their variance: equivalence within a margin, closed-form tests, and groups needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from types import MappingProxyType

import numpy as np

from metaeval.stats.arrays import Floats
from metaeval.stats.influence import Influence, t_test
from metaeval.stats.intervals import studentised_interval
from metaeval.stats.resampling import percentile_interval
from metaeval.stats.significance import bootstrap_p, equivalent_within, required_groups, tost
from protocols.comparison import both_scored, compared_by, influence_of, minus, replicates_of
from protocols.contract import Influences, Judgements, Measure, Protocol, Replicates, Resampling


@dataclass(frozen=True)
class Spread:
    """The observed difference of two metrics on the input, with its standard error and interval.

    standard_error: None where it is undefined or 0. groups: number of the input's. interval: level -> (low, high), None
    where undefined. test: supposed true difference -> two-sided p, at whose level 1 - p the interval just leaves it
    out.
    """

    observed: float
    standard_error: float | None
    groups: int
    interval: Callable[[float], tuple[float, float] | None]
    test: Callable[[float], float]


@dataclass(frozen=True)
class Contrast:
    """Further statistics of the difference `one` minus `other` (metrics) under a measure; None where undefined.

    Tests, and `needed`, are None where the interval of the difference is withheld, too.

    groups: number of the input's. tost: p-value of the hypothesis "they differ by the margin or more". equivalent:
    whether the 1 - 2 alpha interval of the difference lies within the margin. equal_within: the smallest margin for
    which it would. delong, williams, steiger: p-values of closed-form tests, which treat rows as independent. needed:
    number of groups with which a difference of this size is detected with 80 % power.
    """

    measure: str
    one: str
    other: str
    standard_error: float | None
    groups: int
    equivalent: bool | None
    equal_within: float | None
    tost: float | None
    delong: float | None
    williams: float | None
    steiger: float | None
    needed: int | None


def spreads(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    metrics: Mapping[str, Judgements],
    keys: Collection[str],
) -> dict[tuple[str, str], dict[str, Spread]]:
    """Return the spread of the difference of every two metrics, by (name, name) and measure key.

    metrics: by name, on the same rows. Differences are those of the table, on the rows that both scored; a pair without
    such a row has an empty mapping.
    """
    # A metric that scored the same rows in several pairs is evaluated once for them all.
    kept: dict[tuple[str, bytes], tuple[Replicates, Influences]] = {}
    spread_by_pair: dict[tuple[str, str], dict[str, Spread]] = {}
    for pair in combinations(metrics, 2):
        both, codes = both_scored(metrics[pair[0]], metrics[pair[1]]), np.unique(metrics[pair[0]].group)
        names = [(name, both.tobytes()) for name in pair if both.any()]
        for name, rows in names:
            if (name, rows) not in kept:
                used = compared_by(protocol, metrics[name], both, options)
                values = replicates_of(protocol, used, codes, resampling, options, keys)
                moved = influence_of(protocol, used, codes, options, keys) if resampling.studentised else {}
                kept[name, rows] = values, moved
        (mine, influence), (theirs, others) = (kept[name] for name in names) if names else (({}, {}), ({}, {}))
        spread_by_pair[pair] = {
            key: spread_of(mine[key] - theirs[key], minus(influence.get(key), others.get(key)), codes.size, resampling)
            for key in mine
        }
    return spread_by_pair


def spread_of(differences: Floats, influence: Influence | None, groups: int, resampling: Resampling) -> Spread:
    """Return the spread of a difference. differences: (1 + R,), on the input and R resamples. groups: number of groups.

    The standard error is that of `influence` with the method t, else the standard deviation of the resampled
    differences, if at least half of these are defined.
    """
    if resampling.studentised:
        error = influence.standard_error if influence else np.nan

        def interval(level: float) -> tuple[float, float] | None:
            return studentised_interval(influence, groups, replace(resampling, level=level))[0]

        def test(null: float) -> float:
            beyond = influence and influence.ends and not influence.ends[0] < null < influence.ends[1]
            return 0.0 if beyond or influence is None else t_test(influence, null)
    else:
        defined = differences[1:][~np.isnan(differences[1:])]
        enough = defined.size > 1 and 2 * defined.size >= differences.size - 1
        error = float(defined.std(ddof=1)) if enough else 0.0
        interval = partial(percentile_interval, differences[1:])

        def test(null: float) -> float:
            return bootstrap_p(differences - null)

    return Spread(float(differences[0]), error if error > 0 else None, groups, interval, test)


def contrasts(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    metrics: Mapping[str, Judgements],
    keys: Sequence[str],
    margin: float,
    alpha: float,
) -> list[Contrast]:
    """Return the contrasts of every pair of metrics (by name, on the same rows) for each measure of `keys` in turn.

    Raises ValueError unless margin is positive and 0 < alpha < 0.5.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, got {alpha}")
    spread_by_pair = spreads(protocol, options, resampling, metrics, keys)
    nothing = Spread(math.nan, None, 0, lambda level: None, lambda null: math.nan)  # no row that both scored
    contrasts = []
    for measure, ((first, other), by_key) in product(map(protocol.measure, keys), spread_by_pair.items()):
        spread = by_key.get(measure.key, nothing)
        error, observed, ends = spread.standard_error, spread.observed, spread.interval(1 - 2 * alpha)
        differs = not math.isnan(observed) and observed != 0
        contrast = Contrast(
            measure=measure.key,
            one=first,
            other=other,
            standard_error=error,
            groups=spread.groups,
            equivalent=equivalent_within(ends, margin),
            equal_within=max(abs(end) for end in ends) if ends else None,
            tost=None if error is None or ends is None else _known(tost(observed, margin, spread.test)),
            **(closed_forms(measure, metrics[first], metrics[other], options) if ends else _WITHHELD),
            needed=required_groups(observed, error, spread.groups) if differs and error and ends else None,
        )
        contrasts.append(contrast)
    return contrasts


def closed_forms(
    measure: Measure, first: Judgements, other: Judgements, options: Mapping[str, str] = MappingProxyType({})
) -> dict[str, float | None]:
    """Return p by test (delong, williams, steiger) on the rows that both scored; None if undefined for the measure."""
    both = both_scored(first, other)
    scores = (measure.scores_read(metric.score[both], options) for metric in (first, other))
    p_values = measure.closed_forms(first.gold[both], *scores) if measure.closed_forms else {}
    return {name: _known(p_values.get(name, math.nan)) for name in _WITHHELD}


_WITHHELD = dict.fromkeys(("delong", "williams", "steiger"))
"""The closed-form tests of a difference whose interval is withheld."""


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
