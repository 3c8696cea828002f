"""Intervals of measures from influence values: a cluster standard error, and Student's t.

A measure under weightings of groups (`Draws`) is all that `intervals` takes, so that all tables share one method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.influence import Ends, Influence, of_left_out, t_interval
from metaeval.stats.resampling import Draws, bootstrap, jackknife

ONE_GROUP = "no interval: all pairs come from one group"
ONE_GROUP_OF_LEVEL = "no interval: all pairs of one level come from one group"
LOST_WITHOUT_A_GROUP = "no interval: undefined without one of the groups"


@dataclass(frozen=True)
class Resampling:
    """The settings of cluster intervals. n = 0: no intervals.

    n, seed: resamples of whole groups, for measures that change in steps, such as ranks of systems, whose intervals are
    percentiles. fewest: effective groups that any other interval needs.
    """

    n: int = 1000
    seed: int = 0
    level: float = 0.95
    fewest: float = 6.0


DEFAULT = Resampling()


class ValueWithInterval(NamedTuple):
    """A value, None if undefined, and its interval from low to high, None if there is none.

    note: why there is no interval; or "". effective: effective number of groups.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    effective: float | None = None


def intervals(
    run: Callable[[Draws], Floats], rows: Ints, resampling: Resampling, ends: Ends | None = None
) -> list[ValueWithInterval]:
    """Return the values of K measures, each with its interval.

    run: from `Draws` of n weightings to values (n,), or (K, n), the first those of the input. rows: (G,) number of rows
    of the measures in each group; a group without rows is not part of the sample. ends: lowest and highest value that
    the measures can have; None: they have no range.
    """
    held = int(np.count_nonzero(rows))
    if not (resampling.n > 0 and held > 1):
        return [_found(value, None, held, resampling) for value in np.atleast_2d(run(bootstrap(rows.size, 0, 0)))[:, 0]]
    left_out = np.atleast_2d(run(jackknife(rows.size)))
    return [_found(values[0], of_left_out(values, rows, ends), held, resampling) for values in left_out]


def _found(value: float, influence: Influence | None, groups: int, resampling: Resampling) -> ValueWithInterval:
    if np.isnan(value):
        return ValueWithInterval(None)
    interval, note, effective = studentised_interval(influence, groups, resampling)
    low, high = interval or (None, None)
    return ValueWithInterval(float(value), low, high, note, effective)


def studentised_interval(
    influence: Influence | None, groups: int, resampling: Resampling
) -> tuple[tuple[float, float] | None, str, float | None]:
    """Return the interval (low, high) or None, a note on why there is none, and effective groups. groups: with rows."""
    if not resampling.n:
        return None, "", None
    if groups < 2:
        return None, ONE_GROUP, None
    if influence is None:
        return None, LOST_WITHOUT_A_GROUP, None
    if np.isnan(influence.standard_error):
        return None, ONE_GROUP_OF_LEVEL, None
    effective = influence.effective_groups
    if effective < resampling.fewest:
        return None, f"no interval: fewer than {resampling.fewest:g} effective groups", effective
    return t_interval(influence, resampling.level), "", effective
