"""Measures that are made of counts alone, from what each group contributes to them: for rows that no memory holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from metaeval.stats.classification import area_influence
from metaeval.stats.group_counts import GroupTotals, Orders
from metaeval.stats.influence import of_left_out
from metaeval.stats.resampling import Draws, bootstrap
from protocols.contract import Estimate, Floats, Resampling
from protocols.estimation import NO_SCORES, ONE_LEVEL, Qualities, estimate

COUNTED: Mapping[str, tuple[str, ...]] = {
    "classification": ("auc", "concordance"),
    "correlation": ("spearman", "kendall"),
}
"""The measures that counts tell, by protocol; of the first two, the one that the gold's levels ask for."""


def counted(totals: GroupTotals, resampled: Callable[[Draws], Orders], resampling: Resampling) -> dict[str, Estimate]:
    """The estimates of one metric, with intervals as the protocols make them in memory.

    resampled: the counts under weightings of the groups, where the interval's method needs them.
    """
    n_levels, n_groups = totals.members.shape
    rows = totals.members.sum(axis=0)
    qualities = Qualities(int(np.count_nonzero(rows)), _why_undefined(totals))
    area = "auc" if n_levels == 2 else "concordance"
    values = _measures(totals.orders(), area)
    drawn: Mapping[str, Floats] = {}
    if not resampling.studentised and resampling.n:
        drawn = _measures(resampled(bootstrap(n_groups, resampling.n, resampling.seed)), area)
    found: dict[str, Estimate] = {}
    for key, jackknifed in values.items():
        moved = None
        if key == "auc" and not np.isnan(jackknifed[0]):
            nothing = np.zeros_like(totals.downward)
            wins = np.array([[nothing, totals.upward], [totals.downward, nothing]])
            moved = area_influence(totals.members, wins)(1, 0)
        elif key != "auc":
            moved = of_left_out(jackknifed, rows, (0.0, 1.0) if key == area else (-1.0, 1.0))
        left_out = jackknifed if resampling.method == "bca" else None
        own = drawn.get(key, jackknifed[:1])
        found[key] = estimate(own, left_out, moved, qualities, n_groups, resampling)
    return found


def _measures(orders: Orders, area: str) -> dict[str, Floats]:
    return {area: orders.concordance(), "spearman": orders.spearman(), "kendall": orders.kendall()}


def _why_undefined(totals: GroupTotals) -> str:
    size = totals.members.sum(axis=1)
    if not size.any():
        return NO_SCORES
    return ONE_LEVEL if np.count_nonzero(size) < 2 else "constant score"
