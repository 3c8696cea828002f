"""Pearson's r under group weights."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Bools, Floats, Ints, ratio
from metaeval.stats.resampling import Prepared, Tile
from metaeval.stats.rows import check_rows
from metaeval.stats.sums import group_totals, weighted_sums

SUSPICIOUS = 1e-10
"""Below this share of its sum of squares, a spread may be rounding noise."""


def pearson(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Pearson correlation of score and gold; (n,) each, with group (n,).

    Undefined where the score or the gold is constant. Agrees with scipy's `pearsonr` on repeated rows. Base paper,
    section 3.2.1. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_rows(score, gold, group, n_groups)
    x, y = _centred(score), _centred(gold)
    columns = (np.ones_like(x), x, y, x * x, y * y, x * y)
    moments = np.stack([group_totals(values, group, n_groups) for values in columns], axis=1)
    x_ends, y_ends = _group_ends(score, group, n_groups), _group_ends(gold, group, n_groups)

    def evaluate(tile: Tile) -> Floats:
        n, sx, sy, sxx, syy, sxy = weighted_sums(moments, tile)
        rows = np.maximum(n, 1)
        x_spread, y_spread = sxx - sx * sx / rows, syy - sy * sy / rows
        # The spread of a constant column is rounding noise, not 0: there constancy is read from the ends instead.
        doubtful = (x_spread <= SUSPICIOUS * sxx) | (y_spread <= SUSPICIOUS * syy)
        varies = ~doubtful
        if doubtful.any():
            drawn = tile[:, doubtful] > 0
            varies[doubtful] = _varies(x_ends, drawn) & _varies(y_ends, drawn)
        spread = np.sqrt(np.maximum(x_spread, 0)) * np.sqrt(np.maximum(y_spread, 0))
        return np.clip(ratio(sxy - sx * sy / rows, np.where(varies, spread, 0)), -1, 1)

    return Prepared(evaluate, np.unique(group).size)


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


def _group_ends(values: Floats, group: Ints, n_groups: int) -> tuple[Floats, Floats]:
    lowest, highest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(lowest, group, values)
    np.maximum.at(highest, group, values)
    return lowest, highest


def _varies(ends: tuple[Floats, Floats], drawn: Bools) -> Bools:
    lowest = np.where(drawn, ends[0][:, None], np.inf).min(axis=0, initial=np.inf)
    highest = np.where(drawn, ends[1][:, None], -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray(lowest < highest)
