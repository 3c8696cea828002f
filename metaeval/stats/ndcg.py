"""NDCG of every pool at once, exact under ties."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metaeval.stats.kernels import compiled
from metaeval.stats.pools import RankedPools, check_pools, pool_starts, rank_pools
from metaeval.stats.resample_sums import Floats, Ints, ratio

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
