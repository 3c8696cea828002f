"""Sums over groups under a weighting."""

from __future__ import annotations

import numpy as np

from metaeval.stats.kernels import compiled
from metaeval.stats.resample_sums import Floats, column_sum
from metaeval.stats.resampling import Tile


def weighted_sums(moments: Floats, tile: Tile | Floats) -> Floats:
    """Sum weight x moment over groups; moments (n_groups, K), weights in `tile` (n_groups, R) -> (K, R).

    Groups are added in their order, so that no digit depends on R or on the machine's matrix product.
    """
    total = np.zeros((moments.shape[1], tile.shape[1]))
    loops = compiled(moments.size * tile.shape[1])
    if loops is not None:
        loops.sum_groups(np.ascontiguousarray(moments), tile, total)
        return total
    weights = tile.astype(np.float64)
    for own, moment in enumerate(moments.T):
        total[own] = column_sum(weights * moment[:, None])
    return total


def group_totals(values: Floats, group: np.ndarray[tuple[int], np.dtype[np.int64]], n_groups: int) -> Floats:
    """Sum of `values` (n,) over the rows of each group; (n_groups,)."""
    return np.asarray(np.bincount(group, weights=values, minlength=n_groups), dtype=np.float64)
