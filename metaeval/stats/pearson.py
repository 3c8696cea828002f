"""Pearson's r under group weights."""

from __future__ import annotations

import numpy as np

from metaeval.stats.columns import Bools, Floats, Ints, column_sum, ratio
from metaeval.stats.resampling import Prepared
from metaeval.stats.rows import check_rows


def pearson(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Pearson correlation of score and gold; (n,) each, with group (n,).

    Undefined where the score or the gold is constant. Agrees with scipy's `pearsonr` on repeated rows. Base paper,
    section 3.2.1. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_rows(score, gold, group, n_groups)
    x, y = _centred(score), _centred(gold)
    moments = [_group_sum(v, group, n_groups) for v in (np.ones_like(x), x, y, x * x, y * y, x * y)]
    x_ends, y_ends = _group_ends(score, group, n_groups), _group_ends(gold, group, n_groups)

    def evaluate(weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (column_sum(weights * moment[:, None]) for moment in moments)
        rows = np.maximum(n, 1)
        # sxx - sx**2 / n of a constant column is rounding noise, not 0: constancy is read from the ends instead.
        varies = _varies(x_ends, weights) & _varies(y_ends, weights)
        spread = np.sqrt(np.maximum(sxx - sx * sx / rows, 0)) * np.sqrt(np.maximum(syy - sy * sy / rows, 0))
        return np.clip(ratio(sxy - sx * sy / rows, np.where(varies, spread, 0)), -1, 1)

    return Prepared(evaluate, n_groups, np.unique(group).size)


def _centred(values: Floats) -> Floats:
    """Shift to the median and scale by powers of two, so that sums of squares neither cancel nor overflow.

    The mean lies within one standard deviation of the median, so at most one bit is lost when the mean is taken out
    later; and one wild value, which could drag the mean far from all others, leaves the median where it is.
    Scaling by a power of two is exact and leaves r as it is.
    """
    if values.size == 0:
        return values
    unit = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    shifted = unit - np.median(unit)
    return np.asarray(np.ldexp(shifted, -int(np.frexp(np.abs(shifted).max())[1])))


def _group_sum(values: Floats, group: Ints, n_groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=values, minlength=n_groups), dtype=np.float64)


def _group_ends(values: Floats, group: Ints, n_groups: int) -> tuple[Floats, Floats]:
    lowest, highest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(lowest, group, values)
    np.maximum.at(highest, group, values)
    return lowest, highest


def _varies(ends: tuple[Floats, Floats], weights: Floats) -> Bools:
    drawn = weights > 0
    lowest = np.where(drawn, ends[0][:, None], np.inf).min(axis=0, initial=np.inf)
    highest = np.where(drawn, ends[1][:, None], -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray(lowest < highest)
