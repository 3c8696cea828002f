"""Cluster standard errors and intervals of a measure from what each group contributes to it.

The influence values of a measure say how far each group moves it. Their spread gives the standard error, in one pass:
Obuchowski's for ROC-AUC ("Nonparametric analysis of clustered ROC curve data", 1997), the jackknife over groups for the
rest, and the infinitesimal jackknife for partial correlations of ranks with many groups. The interval is taken on a
scale on which it cannot leave the measure's range, with a quantile of Student's t at the effective number of groups:
the number of equal groups from which the standard error would be known as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from metaeval.stats.arrays import Floats, Ints, group_totals, weighted_sums
from metaeval.stats.resampling import Draws

Ends = tuple[float, float]
"""Lowest and highest value that a measure can have."""

SHARES: Ends = (0.0, 1.0)
COUNTS: Ends = (0.0, math.inf)
SIGNED: Ends = (-1.0, 1.0)

LOST = 0.25
"""What one group more is taken to lose, in the measure's units, of a measure near an end of its range.

Chosen by simulation (`benchmarks.promises`): less leaves out the truth where few groups lose much, more widens the
intervals of a ROC-AUC near .9.
"""


@dataclass(frozen=True, eq=False)
class Influence:
    """A measure's value and the contributions of P parts of the rows (of an AUC: its two levels) in G groups.

    parts: (P, G), in the measure's own units, each part summing to 0. rows: (P, G) rows of each part in each group.
    levels: (L, G) rows of each level that the measure reads, where the parts are not its levels.
    ends: the measure's range, within which its interval is taken on the logit scale (of a correlation: Fisher's z).
    With ends None, or one of them infinite, the interval is value +- t x error, cut at a finite end.
    error: standard error that groups have no part in, such as a Monte Carlo error.
    """

    value: float
    parts: Floats
    rows: Ints
    ends: Ends | None = None
    levels: Ints | None = None
    error: float = 0.0

    @property
    def groups(self) -> int:
        """Groups that hold a row."""
        return int(np.count_nonzero(self.rows.any(axis=0)))

    @property
    def clusterings(self) -> tuple[Influence, ...]:
        """The influence values by each clustering of the rows: here, by groups alone."""
        return (self,)

    @cached_property
    def standard_error(self) -> float:
        """Cluster standard error; NaN where a part lies in fewer than two groups.

        With the two levels of an AUC as parts it is equation 7 of Obuchowski (1997), with one part the jackknife's.
        """
        lies_in = np.count_nonzero(self.rows, axis=1)
        if lies_in[lies_in > 0].min(initial=self.groups) < 2:
            return math.nan
        shared = self.groups / (self.groups - 1)
        factor = lies_in / np.maximum(lies_in - 1, 1) - shared
        whole = self.parts.sum(axis=0)
        return math.sqrt(shared * (whole**2).sum() + (factor * (self.parts**2).sum(axis=1)).sum() + self.error**2)

    @cached_property
    def effective_groups(self) -> float:
        """Effective number of groups: (sum q)**2 / sum q**2, q from each group's numbers of rows.

        q is the squared influence that these numbers lead to expect. A level with m rows in all and n in the group adds
        n**1.5 / m**2: half way between rows of a group that are independent (n) and equal (n**2), as in
        `prediction_powered`; a rare level moves the measure most. Nothing of it is fitted to the influence values:
        intervals given where a fit looks good hold the true value less often.
        """
        rows = self.rows if self.levels is None else self.levels
        held = rows[rows.any(axis=1)].astype(np.float64)
        expected = (held**1.5 / held.sum(axis=1, keepdims=True) ** 2).sum(axis=0)
        squares = (expected**2).sum()
        # Rounding must not make 29.999 groups of 30 equal ones.
        return round(float(expected.sum() ** 2 / squares), 9) if squares > 0 else float(self.groups)

    def __sub__(self, other: Influence) -> Influence:
        """Return the influence values of the difference of one measure of two metrics on the same rows."""
        ends = self.ends and (self.ends[0] - self.ends[1], self.ends[1] - self.ends[0])
        difference, error = self.value - other.value, math.hypot(self.error, other.error)
        return replace(self, value=difference, parts=self.parts - other.parts, ends=ends, error=error)


def minus_known(influence: Influence, known: float, error: float = 0.0) -> Influence:
    """Return the influence values of a measure minus `known`; `error`, that of `known`, replaces the measure's own."""
    ends = influence.ends and (influence.ends[0] - known, influence.ends[1] - known)
    return replace(influence, value=influence.value - known, ends=ends, error=error)


def mean_of(some: Sequence[Influence]) -> Influence:
    """Return the influence values of the mean of several measures whose parts have the same shape and range."""
    rows = np.max([influence.rows for influence in some], axis=0)
    parts = np.mean([influence.parts for influence in some], axis=0)
    return Influence(float(np.mean([influence.value for influence in some])), parts, rows, some[0].ends)


def of_left_out(values: Floats, rows: Ints, ends: Ends | None = None) -> Influence | None:
    """Return jackknife influence values, from a measure's values (1 + G,) on the input and without each group in turn.

    rows: (G,) number of rows of each group; a group without rows is not one of the sample. The standard error is the
    jackknife's. None with fewer than two groups, or where the measure is NaN on the input or without some group.
    """
    held = rows > 0
    left_out = values[1:][held]
    if left_out.size < 2 or np.isnan(values[0]) or np.isnan(left_out).any():
        return None
    part = np.zeros(rows.size)
    part[held] = (1 - 1 / left_out.size) * (left_out.mean() - left_out)
    return Influence(float(values[0]), part[None], rows[None], ends)


def of_rows(value: float, contributions: Floats, group: Ints, n_groups: int, ends: Ends) -> Influence:
    """Return a measure's influence values, of one part, from the contributions of its rows, (n,), added up by group."""
    rows = np.bincount(group, minlength=n_groups)
    return Influence(value, group_totals(contributions, group, n_groups)[None], rows[None], ends)


def t_interval(influence: Influence, level: float) -> tuple[float, float] | None:
    """Return the interval (low, high) at `level`, with Student's t at effective groups - 1 degrees of freedom.

    Near an end of its range, a measure's losses may come from few groups, and the groups that lose most may not be
    among those drawn: there the interval is extended away from that end (`_away_from_end`). At an end no spread is
    seen, and the interval is that of the rule of three: it leaves out the values that would have led elsewhere with
    chance `level`. A measure that no group moves, such as the AUC of a constant, is its own interval. None where the
    standard error is undefined.
    """
    from scipy.special import expit, logit, stdtrit  # a third of a process's start, which none needs that only scores

    error, ends, half = influence.standard_error, influence.ends, (1 + level) / 2
    if math.isnan(error):
        return None
    reach = float(stdtrit(max(influence.effective_groups - 1, 1.0), half))
    if not _bounded(ends):
        low, high = ends or (-math.inf, math.inf)
        return max(low, influence.value - reach * error), min(high, influence.value + reach * error)
    width, at = ends[1] - ends[0], _share(influence.value, ends)
    if not _NEAR < at < 1 - _NEAR:
        least = (1 - level) ** (1 / _unseen_in(influence))
        return (ends[0] + width * least, ends[1]) if at > _NEAR else (ends[0], ends[1] - width * least)
    if error < _NOISE:
        return influence.value, influence.value
    unit, side = error / (width * at * (1 - at)), -1 if at > 0.5 else 1
    shares = [expit(logit(at) - reach * unit), expit(logit(at) + reach * unit)]
    shares += [
        expit(logit(centre) + side * stdtrit(freedom, half) * spread)
        for centre, spread, freedom in _away_from_end(influence, ends, at)
    ]
    return float(ends[0] + width * min(shares)), float(ends[0] + width * max(shares))


def t_test(influence: Influence, null: float = 0.0) -> float:
    """Return the two-sided p of the hypothesis that the measure is `null`: `t_interval` at level 1 - p ends there.

    NaN without a standard error. Where no group moves the measure, p is 1 if the value is `null`, else that of a sign
    test in which all effective groups agree.
    """
    from scipy.special import logit, stdtr

    error, ends = influence.standard_error, influence.ends
    if math.isnan(error) or abs(influence.value - null) < _NOISE:
        return error if math.isnan(error) else 1.0
    freedom = max(influence.effective_groups - 1, 1.0)
    if not _bounded(ends):
        if error < _NOISE:
            return _sign_test(influence)
        return float(2 * stdtr(freedom, -abs(influence.value - null) / error))
    width, at, chance = ends[1] - ends[0], _share(influence.value, ends), _share(null, ends)
    if not _NEAR < at < 1 - _NEAR:
        return float((chance if at > _NEAR else 1 - chance) ** _unseen_in(influence))
    if error < _NOISE:
        return _sign_test(influence)
    side, away = -1 if at > 0.5 else 1, logit(chance) - logit(at)
    p = [2 * stdtr(freedom, -abs(away) * width * at * (1 - at) / error)]
    if math.copysign(1, away) == side:
        p += [
            2 * stdtr(degrees, min(0.0, side * (logit(centre) - logit(chance)) / spread))
            for centre, spread, degrees in _away_from_end(influence, ends, at)
        ]
    return float(max(p))


def resampled(influence: Influence, draws: Draws) -> tuple[Floats, Floats]:
    """Return the value's change and its standard error in each of R resamples (`draws` but the first), (R,) each."""
    whole = influence.parts.sum(axis=0)
    moments = np.stack((whole, whole**2), axis=1)
    shifts, squares = np.concatenate([weighted_sums(moments, tile) for tile in draws], axis=1)[:, 1:]
    scale = influence.groups / max(influence.groups - 1, 1)
    return shifts, np.sqrt(np.maximum(squares - shifts**2 / influence.groups, 0) * scale)


_NOISE = 1e-13
"""A contribution this small is rounding: no group moves the measure."""

_NEAR = 1e-12
"""A value this close to an end of its range, as a share of the range, lies at it."""


def _bounded(ends: Ends | None) -> TypeGuard[Ends]:
    return ends is not None and math.isfinite(ends[0]) and math.isfinite(ends[1])


def _share(values: Any, ends: Ends) -> Any:
    return (values - ends[0]) / (ends[1] - ends[0])


def _away_from_end(influence: Influence, ends: Ends, at: float) -> list[tuple[float, float, float]]:
    """Return what may set the interval's end that is away from an end of the range near which the value lies.

    at: the value as a share of its range, `ends`. Two (share, standard error on the logit scale, degrees of freedom),
    of which the farther counts: the value, with the degrees of freedom of its variance, 2 / (kurtosis - 1) a group and
    at least 4; and the value with one group more, which loses `LOST`. [] where the value is not near an end, or its
    variance, made up by many groups, has as many degrees of freedom as they.
    """
    width, effective = ends[1] - ends[0], influence.effective_groups
    by_groups, lost, most = max(effective - 1, 1.0), min(at, 1 - at), LOST / width
    squares = influence.parts.sum(axis=0) ** 2
    total = squares.sum()
    excess = (squares**2).sum() / total**2 - 1 / influence.groups if total else 0.0
    if lost >= most or excess * by_groups <= 2:
        return []
    error, more = influence.standard_error / width, (effective * lost + most) / (effective + 1)
    with_one = math.hypot(error * effective, most - more) / (effective + 1)
    return [
        (at, error / (at * (1 - at)), min(max(2 / excess, 4.0), by_groups)),
        (more if at < 0.5 else 1 - more, with_one / (more * (1 - more)), by_groups),
    ]


def _unseen_in(influence: Influence) -> float:
    """Return the effective number of groups, (sum n)**2 / sum n**2 of their rows n, in the part with the fewest."""
    by_clustering = [each.rows[each.rows.any(axis=1)].astype(np.float64) for each in influence.clusterings]
    return min(float((rows.sum(axis=1) ** 2 / (rows**2).sum(axis=1)).min()) for rows in by_clustering)


def _sign_test(influence: Influence) -> float:
    return float(2 * 0.5 ** _unseen_in(influence))
