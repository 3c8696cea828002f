"""What else is known of two metrics' difference: equivalence, closed-form tests, and what it takes to tell it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.resampling import bootstrap, percentile_interval
from metaeval.stats.significance import equivalent_within, required_groups, tost
from protocols.contract import Judgements, Measure, Protocol, Replicates, Resampling

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """A difference of two metrics on the input, `observed`, and its cluster bootstrap.

    replicates: (R,) resampled differences, NaN where undefined. standard_error: their standard deviation, None where
    fewer than half are defined or all are equal. groups: resampled.
    """

    observed: float
    replicates: Floats
    standard_error: float | None
    groups: int


@dataclass(frozen=True)
class Contrast:
    """`one` less `other` under one measure, beside the permutation test; None where undefined or without such a test.

    tost: p of "they differ by the margin or more". equivalent: whether the 1 - 2 alpha interval of the resampled
    differences lies within the margin. equal_within: the smallest margin for which it would. delong, williams,
    steiger: p of the closed forms, which take rows as independent. needed: groups that show a difference of this size
    at 80 % power.
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
    pair: tuple[Judgements, Judgements],
    keys: Collection[str],
) -> dict[str, Spread]:
    """The resampled differences of two metrics under each measure, on the rows that both scored: those of the table.

    Empty without a row that both scored.
    """
    both = _both(*pair)
    mine, theirs = (_replicates(protocol, options, resampling, rows, both, keys) for rows in pair)
    return _spreads(pair[0], both, mine, theirs)


def spread_of(differences: Floats, groups: int) -> Spread:
    """From differences (1 + R,), the first of them that of the input."""
    defined = differences[1:][~np.isnan(differences[1:])]
    enough = defined.size > 1 and 2 * defined.size >= differences.size - 1
    error = float(defined.std(ddof=1)) if enough else 0.0
    return Spread(float(differences[0]), differences[1:], error if error > 0 else None, groups)


def contrasts(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    metrics: Mapping[str, Judgements],
    keys: Sequence[str],
    margin: float,
    alpha: float,
) -> list[Contrast]:
    """Every pair of metrics (by name, on the same rows) under the measures `keys`, measure by measure.

    Raises ValueError unless margin is positive and 0 < alpha < 0.5.
    """
    pairs = list(combinations(metrics, 2))
    # A metric that scored the same rows in several pairs is resampled once for them all.
    kept: dict[tuple[str, bytes], Replicates] = {}
    found: dict[tuple[str, str], dict[str, Spread]] = {}
    for pair in pairs:
        both = _both(metrics[pair[0]], metrics[pair[1]])
        for name in pair:
            if (name, both.tobytes()) not in kept:
                replicates = _replicates(protocol, options, resampling, metrics[name], both, keys)
                kept[name, both.tobytes()] = replicates
        mine, theirs = (kept[name, both.tobytes()] for name in pair)
        found[pair] = _spreads(metrics[pair[0]], both, mine, theirs)
    return [
        _contrast(
            measure, one, other, found[one, other].get(measure.key), (metrics[one], metrics[other]), margin, alpha
        )
        for measure in map(protocol.measure, keys)
        for one, other in pairs
    ]


def closed_forms(measure: Measure, one: Judgements, other: Judgements) -> dict[str, float | None]:
    """p of DeLong's, Williams' and Steiger's test under a measure, on the rows that both scored; None without one."""
    both = _both(one, other)
    nothing: dict[str, float | None] = {"delong": None, "williams": None, "steiger": None}
    found = measure.closed_forms(one.gold[both], one.score[both], other.score[both]) if measure.closed_forms else {}
    return nothing | {name: _or_none(p) for name, p in found.items()}


def _both(one: Judgements, other: Judgements) -> NDArray[np.bool_]:
    return ~(np.isnan(one.score) | np.isnan(other.score))


def _spreads(rows: Judgements, both: NDArray[np.bool_], mine: Replicates, theirs: Replicates) -> dict[str, Spread]:
    groups = int(np.unique(rows.group).size)
    return {key: spread_of(mine[key] - theirs[key], groups) for key in mine} if both.any() else {}


def _replicates(
    protocol: Protocol,
    options: Mapping[str, str],
    resampling: Resampling,
    rows: Judgements,
    both: NDArray[np.bool_],
    keys: Collection[str],
) -> Replicates:
    if not both.any():
        return {}
    # As in the table's intervals: what is resampled are the groups of the whole input.
    codes, compact = np.unique(rows.group, return_inverse=True)
    used = rows.with_group(compact.astype(np.int64)).rows(both)
    decided = protocol.judge(used, options) if protocol.judge else used
    draws = bootstrap(codes.size, resampling.n, resampling.seed)
    return protocol.replicate(decided, codes.size, draws, options, keys)


def _contrast(
    measure: Measure,
    one: str,
    other: str,
    spread: Spread | None,
    pair: tuple[Judgements, Judgements],
    margin: float,
    alpha: float,
) -> Contrast:
    error = spread.standard_error if spread else None
    ends = percentile_interval(spread.replicates, 1 - 2 * alpha) if spread else None
    observed = spread.observed if spread else math.nan
    told = spread is not None and error is not None and not math.isnan(observed) and observed != 0
    return Contrast(
        measure=measure.key,
        one=one,
        other=other,
        standard_error=error,
        groups=spread.groups if spread else 0,
        equivalent=equivalent_within(spread.replicates, margin, alpha) if spread else None,
        equal_within=max(abs(end) for end in ends) if ends else None,
        tost=None if error is None else _or_none(tost(observed, error, margin)),
        **closed_forms(measure, *pair),
        needed=required_groups(observed, error, spread.groups) if told and spread and error else None,
    )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
