"""Retrieval pools in rank order, all at once, with the tie blocks that a rank measure has to average over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from metaeval.stats.columns import Floats, Ints, column_sum, ratio
from metaeval.stats.resampling import Prepared
from metaeval.stats.rows import check_codes, check_finite, check_lengths
from metaeval.stats.ties import run_starts

Ties = Literal["expected", "worst", "best"]


@dataclass(frozen=True)
class RankedPools:
    """Rows (n,) sorted by pool, then from the highest score down.

    pool: index of the row's pool, 0 .. n_pools - 1, in ascending order of the codes given.
    gold: the row's level. rank: its position in the pool, from 1.
    first, last: the first and last rank of its tie block; equal to rank where nothing is tied.
    """

    pool: Ints
    gold: Floats
    rank: Ints
    first: Ints
    last: Ints
    n_pools: int

    def total(self, values: Floats) -> Floats:
        """Sum of `values` (n,), one per ranked row, over each pool; (n_pools,)."""
        return np.asarray(np.bincount(self.pool, weights=values, minlength=self.n_pools), dtype=np.float64)


def rank_pools(score: Floats, gold: Floats, pool: Ints, ties: Ties = "expected") -> RankedPools:
    """Sort every pool by descending score; score, gold, pool: (n,).

    ties: "expected" keeps tied rows together as a block, over whose random orders measures take the expectation;
    "worst" and "best" put the rows of a block in ascending and descending order of gold, each with a rank of its own.
    Raises ValueError on NaN, infinity, a negative level or columns of unlike length.
    """
    check_lengths(score=score, gold=gold, pool=pool)
    check_finite("score", score)
    check_finite("gold", gold)
    if gold.size and gold.min() < 0:
        raise ValueError(f"gold levels must not be negative in a retrieval pool, got {gold.min()}")
    order = np.lexsort((-gold if ties == "best" else gold, -score, pool))
    codes, index = np.unique(pool[order], return_inverse=True)
    position = np.arange(order.size)
    new_pool = run_starts(index)
    new_block = new_pool | run_starts(score[order])
    if ties != "expected":
        new_block[:] = True
    pool_start = np.maximum.accumulate(np.where(new_pool, position, 0))
    block_start = np.maximum.accumulate(np.where(new_block, position, 0))
    block = np.cumsum(new_block) - 1
    size = np.bincount(block)[block] if block.size else block
    first = block_start - pool_start + 1
    return RankedPools(index, gold[order], position - pool_start + 1, first, first + size - 1, codes.size)


def pool_mean(values: Floats, group: Ints, n_groups: int) -> Prepared:
    """Mean over pools of `values` (P,), a pool weighing as much as its group (P,); NaN values are left out.

    Undefined where no pool is left. Raises ValueError on a group code out of range.
    """
    check_lengths(values=values, group=group)
    check_codes("group", group, n_groups)
    defined = ~np.isnan(values)
    sums = np.bincount(group[defined], weights=values[defined], minlength=n_groups)
    counts = np.bincount(group[defined], minlength=n_groups)

    def evaluate(weights: Floats) -> Floats:
        return ratio(column_sum(weights * sums[:, None]), column_sum(weights * counts[:, None]))

    return Prepared(evaluate, n_groups, np.unique(group[defined]).size)
