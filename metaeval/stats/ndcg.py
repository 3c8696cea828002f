"""NDCG of every pool at once, exact under ties, and the lowest and highest NDCG that missing scores could lead to.

The range: with more than two levels it is not enough to put supporting rows last. A missing PARTIAL row costs a pool
more in front of an observed FULL one than behind it. The observed rows keep their order, the missing ones may go
anywhere; the best merge of the two sequences is found by dynamic programming over (observed blocks placed, missing rows
placed), for all pools at once. Ranks beyond k count nothing, so that at most k of either need placing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from metaeval.stats.arrays import Floats, Ints, compiled, ratio
from metaeval.stats.pools import RankedPools, check_pools, pool_starts, rank_pools
from metaeval.stats.ties import run_starts

Gains = Literal["linear", "exponential"]


def ndcg(ranked: RankedPools, k: int, gains: Gains = "linear") -> Floats:
    """NDCG@k of each pool, (n_pools,): expected over random orders of tied rows; NaN where no row has a gain.

    Gain is the level (linear) or 2**level - 1 (exponential), discount log2(rank + 1), ideal order from the pool. Each
    row of a tie block gets the mean discount of the block's ranks: McSherry and Najork, "Computing information
    retrieval performance measures efficiently in the presence of tied scores" (ECIR 2008), the default of
    scikit-learn's `ndcg_score`. Base paper, section 3.2.3. Raises ValueError if k < 1 or a gain overflows.
    """
    gain = level_gains(ranked.gold, gains)
    up_to = discounts_up_to(k)
    last, before = np.minimum(ranked.last, k), np.minimum(ranked.first - 1, k)
    mean_discount = (up_to[last] - up_to[before]) / (ranked.last - ranked.first + 1)
    return ratio(ranked.total(gain * mean_discount), ideal_dcg(gain, ranked.pool, ranked.rank, ranked.n_pools, k))


def ndcg_at(score: Floats, gold: Floats, pool: Ints, cutoffs: tuple[int, ...], gains: Gains = "linear") -> Floats:
    """NDCG of each pool at several cut-offs, (len(cutoffs), n_pools), pools in ascending order of their code.

    score, gold, pool: (n,). The values of `ndcg` on `rank_pools`, to the digit. Raises ValueError as those do.
    """
    loops = compiled(score.size * len(cutoffs) * 20)
    if loops is None:
        ranked = rank_pools(score, gold, pool)
        return np.stack([ndcg(ranked, k, gains) for k in cutoffs])
    check_pools(score, gold, pool)
    order, start = pool_starts(pool)
    values = np.empty((len(cutoffs), start.size - 1))
    up_to = discounts_up_to(max(cutoffs))
    loops.ndcg_pools(score, level_gains(gold, gains), start, order, up_to, np.array(cutoffs), values)
    return values


def level_gains(gold: Floats, gains: Gains) -> Floats:
    """Gain of each level in `gold` (n,); raises ValueError if one is too large for a float."""
    if gains == "linear":
        return gold
    if gold.size and gold.max() > 1023:
        raise ValueError(f"exponential gains need levels up to 1023, got {gold.max()}")
    return np.asarray(np.exp2(gold) - 1)


def discounts_up_to(k: int) -> Floats:
    """Sum of the discounts 1 / log2(rank + 1) of ranks 1 .. r, for r = 0 .. k; (k + 1,). ValueError if k < 1."""
    if k < 1:
        raise ValueError(f"the cut-off k must be at least 1, got {k}")
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))))


def ideal_dcg(gain: Floats, pool: Ints, rank: Ints, n_pools: int, k: int) -> Floats:
    """DCG@k of each pool in descending order of gain; (n_pools,). Rows (n,) sorted by pool, rank from 1 in each."""
    up_to = discounts_up_to(k)
    discount = up_to[np.minimum(rank, k)] - up_to[np.minimum(rank - 1, k)]
    best_first = gain[np.lexsort((-gain, pool))]
    return np.asarray(np.bincount(pool, weights=best_first * discount, minlength=n_pools), dtype=np.float64)


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
