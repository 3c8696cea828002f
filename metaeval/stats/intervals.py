"""Intervals of measures from influence values: a cluster standard error, and Student's t.

A measure under weightings of groups (`Draws`) is all that `intervals` takes, so that all tables share one method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import Ends, Influence, of_left_out, t_interval
from metaeval.stats.resampling import Draws, itself, jackknife

ONE_GROUP = "no interval: all pairs come from one group"
ONE_GROUP_OF_LEVEL = "no interval: all pairs of one level come from one group"
LOST_WITHOUT_A_GROUP = "no interval: undefined without one of the groups"


@dataclass(frozen=True)
class Resampling:
    """The settings of cluster intervals.

    Parameters
    ----------
    n : int, default 1000
        Resamples of whole groups, for measures that change in steps, such as ranks of systems, whose intervals are
        percentiles; 0: no intervals.
    seed : int, default 0
        Seed of the resamples.
    level : float, default 0.95
        Level of the intervals.
    fewest : float, default 6.0
        Effective groups that any other interval needs.
    """

    n: int = 1000
    seed: int = 0
    level: float = 0.95
    fewest: float = 6.0


DEFAULT = Resampling()


def intervals(
    run: Callable[[Draws], Floats], rows: Ints, resampling: Resampling, ends: Ends | None = None
) -> list[Estimate]:
    """Return the values of K measures, each with its interval.

    run: from `Draws` of n weightings to values (n,), or (K, n), the first those of the input. rows: (G,) number of rows
    of the measures in each group; a group without rows is not part of the sample. ends: lowest and highest value that
    the measures can have; None: they have no range.
    """
    held = int(np.count_nonzero(rows))
    sampled = bool(resampling.n) and held > 1
    estimates = []
    for values in np.atleast_2d(run(jackknife(rows.size) if sampled else itself(rows.size))):
        influence = of_left_out(values, rows, ends) if sampled else None
        estimates.append(studentised(float(values[0]), influence, held, resampling))
    return estimates


def studentised(value: float, influence: Influence | None, groups: int, resampling: Resampling) -> Estimate:
    """Return a measure's value (NaN: undefined) with its interval, or the reason why there is none.

    groups: number of groups with rows of the measure.
    """
    if np.isnan(value):
        return Estimate(None)
    if not resampling.n:
        return Estimate(value)
    if groups < 2:
        return Estimate(value, note=ONE_GROUP)
    if influence is None:
        return Estimate(value, note=LOST_WITHOUT_A_GROUP)
    if np.isnan(influence.standard_error):
        return Estimate(value, note=ONE_GROUP_OF_LEVEL)
    effective = influence.effective_groups
    if effective < resampling.fewest:
        note = f"no interval: fewer than {resampling.fewest:g} effective groups"
        return Estimate(value, note=note, effective=effective)
    low, high = t_interval(influence, resampling.level) or (None, None)
    return Estimate(value, low, high, effective=effective)
