"""The lowest and highest NDCG that missing scores could lead to.

With more than two levels it is not enough to put supporting rows last: a missing PARTIAL row costs a pool more in
front of an observed FULL one than behind it. The observed rows keep their order, the missing ones may go anywhere;
the best merge of the two sequences is found by dynamic programming over (observed blocks placed, missing rows
placed), for all pools at once. Ranks beyond k count nothing, so that at most k of either need placing.
"""

from __future__ import annotations

import numpy as np

from metaeval.stats.ndcg import Gains, discounts_up_to, ideal_dcg, level_gains
from metaeval.stats.pools import rank_pools
from metaeval.stats.resample_sums import Floats, Ints, ratio
from metaeval.stats.ties import run_starts


def ndcg_range(score: Floats, gold: Floats, pool: Ints, k: int, gains: Gains = "linear") -> tuple[Floats, Floats]:
    """Worst and best NDCG@k of each pool over all scores that its missing rows (NaN) could have; (n_pools,) each.

    score, gold, pool: (n,). The ideal order is that of the whole pool. A missing row tied with a block of observed
    ones gives a value between those of standing before and behind the block, so ties need no case of their own. NaN
    for pools without a gain. Raises ValueError as `rank_pools` and `ndcg` do.
    """
    missing = np.isnan(score)
    everything = rank_pools(np.where(missing, 0.0, score), gold, pool)
    gain = level_gains(gold, gains)
    order = np.argsort(pool, kind="stable")
    ideal = ideal_dcg(gain[order], everything.pool, everything.rank, everything.n_pools, k)
    codes, index = np.unique(pool, return_inverse=True)
    worst = _least_dcg(score, gain, index, codes.size, k)
    # The highest DCG is the least one of the negated gains.
    best = -_least_dcg(score, -gain, index, codes.size, k)
    return ratio(worst, ideal), ratio(best, ideal)


def _least_dcg(score: Floats, gain: Floats, pool: Ints, n_pools: int, k: int) -> Floats:
    missing = np.isnan(score)
    block_gain, block_size = _observed_blocks(score[~missing], gain[~missing], pool[~missing], n_pools, k)
    # Among missing rows the lowest gain goes first: exchanging two of them the other way can only add to the DCG.
    free_gain, n_free = _first_by_gain(gain[missing], pool[missing], n_pools, k)
    up_to = np.concatenate((discounts_up_to(k), np.full(k, discounts_up_to(k)[-1])))
    least = np.full((n_pools, free_gain.shape[1] + 1), np.inf)
    least[:, 0] = 0
    placed = np.zeros(n_pools, dtype=np.int64)
    for stage in range(block_gain.shape[1] + 1):
        for j in range(free_gain.shape[1]):
            ahead = np.minimum(placed + j, k)
            step = least[:, j] + free_gain[:, j] * (up_to[ahead + 1] - up_to[ahead])
            least[:, j + 1] = np.minimum(least[:, j + 1], step)
        if stage < block_gain.shape[1]:
            starts = placed[:, None] + np.arange(least.shape[1])
            after = np.minimum(starts + block_size[:, stage, None], k)
            least += block_gain[:, stage, None] * (up_to[after] - up_to[np.minimum(starts, k)])
            placed += block_size[:, stage]
    return np.asarray(least[np.arange(n_pools), n_free])


def _observed_blocks(score: Floats, gain: Floats, pool: Ints, n_pools: int, k: int) -> tuple[Floats, Ints]:
    """Mean gain and size of the first k tie blocks of each pool, from the highest score; (n_pools, up to k) each."""
    order = np.lexsort((-score, pool))
    gain, pool = gain[order], pool[order]
    new = run_starts(pool) | run_starts(score[order])
    block = np.cumsum(new) - 1
    size = np.bincount(block) if block.size else block
    mean_gain = np.bincount(block, weights=gain) / size if block.size else gain
    row_pool = pool[new]
    place = _place_in_pool(row_pool)
    kept = place < k
    shape = (n_pools, int(place[kept].max(initial=-1)) + 1)
    gains, sizes = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    gains[row_pool[kept], place[kept]] = mean_gain[kept]
    sizes[row_pool[kept], place[kept]] = size[kept]
    return gains, sizes


def _first_by_gain(gain: Floats, pool: Ints, n_pools: int, k: int) -> tuple[Floats, Ints]:
    """The k lowest gains of each pool in ascending order, padded with 0, and how many there are."""
    order = np.lexsort((gain, pool))
    gain, pool = gain[order], pool[order]
    place = _place_in_pool(pool)
    kept = place < k
    gains = np.zeros((n_pools, int(place[kept].max(initial=-1)) + 1))
    gains[pool[kept], place[kept]] = gain[kept]
    return gains, np.bincount(pool[kept], minlength=n_pools)


def _place_in_pool(pool: Ints) -> Ints:
    position = np.arange(pool.size)
    return np.asarray(position - np.maximum.accumulate(np.where(run_starts(pool), position, 0)))
