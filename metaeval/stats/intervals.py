"""Intervals of measures by the chosen method: from influence values (t), or from resampled values (percentile).

A measure under weightings of groups (`Draws`) is all that `intervals` takes, so that all tables share one method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.influence import Ends, Influence, of_left_out, t_interval
from metaeval.stats.resampling import Draws, bootstrap, jackknife, percentile_interval

ONE_GROUP = "no interval: all pairs come from one group"
ONE_GROUP_OF_LEVEL = "no interval: all pairs of one level come from one group"
LOST_WITHOUT_A_GROUP = "no interval: undefined without one of the groups"


@dataclass(frozen=True)
class Resampling:
    """The settings of cluster intervals: `level` and `method`. n = 0: no interval, by either method.

    method: "t", from a cluster standard error without resamples, or "percentile", from `n` resamples of whole groups.
    fewest: effective groups that an interval by "t" needs.
    """

    n: int = 1000
    seed: int = 0
    level: float = 0.95
    method: Literal["t", "percentile"] = "t"
    fewest: float = 6.0

    @property
    def studentised(self) -> bool:
        """Return whether intervals come from influence values and their standard error: method "t"."""
        return self.method == "t"


DEFAULT = Resampling()


class ValueWithInterval(NamedTuple):
    """A value, None if undefined, and its interval from low to high, None if there is none.

    note: why there is no interval, or what it leaves out; or "". effective: effective number of groups, for "t" alone.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    effective: float | None = None


def intervals(
    run: Callable[[Draws], Floats], rows: Ints, resampling: Resampling, ends: Ends | None = None
) -> list[ValueWithInterval]:
    """Return the values of K measures, each with its interval by the method of `resampling`.

    run: from `Draws` of n weightings to values (n,), or (K, n), the first those of the input. rows: (G,) number of rows
    of the measures in each group; a group without rows is not part of the sample. ends: lowest and highest value that
    the measures can have; None: they have no range.
    """
    held = int(np.count_nonzero(rows))
    has_interval = resampling.n > 0 and held > 1
    draws = bootstrap(rows.size, resampling.n if has_interval and not resampling.studentised else 0, resampling.seed)
    values = np.atleast_2d(run(draws))
    if not has_interval or not resampling.studentised:
        return [_found(replicated, None, rows, resampling, ends) for replicated in values]
    left_out = np.atleast_2d(run(jackknife(rows.size)))
    return [_found(*pair, rows, resampling, ends) for pair in zip(values, left_out, strict=True)]


def _found(
    values: Floats, left_out: Floats | None, rows: Ints, resampling: Resampling, ends: Ends | None
) -> ValueWithInterval:
    """Return a value with its interval. values: (1 + R,) of input and R >= 0 resamples. left_out: (1 + G,), for t."""
    if np.isnan(values[0]):
        return ValueWithInterval(None)
    held, effective = int(np.count_nonzero(rows)), None
    if resampling.studentised:
        influence = None if left_out is None else of_left_out(left_out, rows, ends)
        interval, note, effective = studentised_interval(influence, held, resampling)
    else:
        interval, note = replicated_interval(values, held, resampling.level)
    low, high = interval or (None, None)
    return ValueWithInterval(float(values[0]), low, high, note, effective)


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


def replicated_interval(values: Floats, groups: int, level: float) -> tuple[tuple[float, float] | None, str]:
    """Return the percentile interval or None, and why there is none or what it leaves out; values: (1 + B,)."""
    resampled = values[1:]
    if resampled.size == 0:
        return None, ""
    if groups < 2:
        return None, ONE_GROUP
    lost = int(np.isnan(resampled).sum())
    interval = percentile_interval(resampled, level)
    if interval is None:
        return None, f"no interval: undefined in {lost} of {resampled.size} resamples"
    return interval, f"interval leaves out {lost} of {resampled.size} resamples, undefined there" if lost else ""
