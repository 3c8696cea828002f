"""Equivalence of two metrics within a margin, from the interval of their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from metaeval.stats.intervals import studentised
from protocols.comparison import both_scored, compared_by, influence_of, minus
from protocols.contract import Influences, Judgements, Protocol, Resampling


@dataclass(frozen=True)
class Contrast:
    """The difference `one` minus `other` (metrics) under a measure, beside its test; None where undefined.

    groups: number of the input's, 0 where no row was scored by both. equivalent: whether the 1 - 2 alpha interval of
    the difference lies inside the margin, as two one-sided tests at alpha. equal_within: the smallest margin for which
    it would.
    """

    measure: str
    one: str
    other: str
    standard_error: float | None = None
    groups: int = 0
    equivalent: bool | None = None
    equal_within: float | None = None


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
    if not margin > 0:
        raise ValueError(f"the margin must be positive, got {margin}")
    wide = replace(resampling, level=1 - 2 * alpha)
    # A metric that scored the same rows in several pairs is evaluated once for them all.
    kept: dict[tuple[str, bytes], Influences] = {}
    by_place: dict[tuple[str, str, str], Contrast] = {}
    for pair in combinations(metrics, 2):
        both, codes = both_scored(metrics[pair[0]], metrics[pair[1]]), np.unique(metrics[pair[0]].group)
        if not both.any():
            continue
        places = [(name, both.tobytes()) for name in pair]
        for name, rows in places:
            if (name, rows) not in kept:
                used = compared_by(protocol, metrics[name], both, options)
                kept[name, rows] = influence_of(protocol, used, codes, options, keys)
        mine, theirs = (kept[place] for place in places)
        for key in keys:
            apart = minus(mine.get(key), theirs.get(key))
            error = apart.standard_error if apart and apart.standard_error > 0 else None
            ends = studentised(apart.value, apart, codes.size, wide).interval if apart else None
            within = (-margin < ends[0] and ends[1] < margin, max(map(abs, ends))) if ends else (None, None)
            by_place[key, *pair] = Contrast(key, *pair, error, codes.size, *within)
    in_order = product(keys, combinations(metrics, 2))
    return [by_place.get((key, *pair), Contrast(key, *pair)) for key, pair in in_order]
