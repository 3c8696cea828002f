"""Retrieval pools in rank order, all at once, and the rank measures of each: reciprocal rank, AP, P@1, recall@k, NDCG.

Relevant means level >= 1. Each value is the exact expectation over random orders of tied rows. Closed forms for
ties: McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence of tied
scores" (ECIR 2008). In a tie block of t rows on ranks a .. b, r of them relevant, each rank of the block holds a
relevant row with chance r / t.

NDCG is computed for every pool, and so are its lowest and highest value that missing scores could lead to. With more
than two levels it is not enough to put supporting rows last: a missing PARTIAL row costs a pool more in front of an
observed FULL one than behind it. The observed rows keep their order, the missing ones may go anywhere; the best merge
of the two sequences is found by dynamic programming over (observed blocks placed, missing rows placed), for all pools
at once. Ranks beyond k count nothing, so that at most k of either need placing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from metaeval.stats import arrays
from metaeval.stats.arrays import Bools, Floats, Ints, SmallInts
from metaeval.stats.resampling import Prepared
from metaeval.stats.ties import run_starts

Ties = Literal["expected", "worst", "best"]


@dataclass(frozen=True, eq=False)
class RankedPools:
    """The rows (n,) of retrieval pools, sorted by pool, then from the highest score down, ties from the lowest level.

    pool: index of the row's pool, 0 .. n_pools - 1, in ascending order of the pools' codes. gold: the row's level.
    rank: its position in the pool, from 1. first, last: the first and last rank of its tie block; equal to rank where
    nothing is tied. best_first: the levels of each pool's rows sorted from the highest down, pool after pool, (n,).
    """

    pool: SmallInts
    gold: Floats
    rank: SmallInts
    first: SmallInts
    last: SmallInts
    best_first: Floats
    n_pools: int

    @cached_property
    def relevant(self) -> Bools:
        """Return whether each row is relevant (level >= 1), (n,)."""
        return self.gold >= 1

    @cached_property
    def n_relevant(self) -> Floats:
        """Return the number of relevant rows of each pool, (n_pools,)."""
        return self.total(self.relevant.astype(np.float64))

    @cached_property
    def blocks(self) -> tuple[SmallInts, SmallInts, SmallInts]:
        """Return, for each row's tie block, its rows, relevant rows, and relevant rows ranked above it; (n,) each."""
        counted = np.cumsum(np.append(False, self.relevant), dtype=np.int32)
        pool_start = np.arange(1, self.rank.size + 1, dtype=np.int32) - self.rank
        above, up_to = counted[pool_start + self.first - 1], counted[pool_start + self.last]
        return self.last - self.first + 1, up_to - above, above - counted[pool_start]

    def in_order(self, ties: Ties) -> RankedPools:
        """Return pools, ranked with ties "expected", as `rank_pools` ranks them with `ties`; "expected": unchanged."""
        if ties == "expected" or np.array_equal(self.first, self.last):
            return self
        mirrored = np.arange(self.rank.size) + self.first + self.last - 2 * self.rank
        gold = self.gold if ties == "worst" else self.gold[mirrored]
        return replace(self, gold=gold, first=self.rank, last=self.rank)

    def total(self, values: Floats) -> Floats:
        """Return the sum of `values` (n,), one per ranked row, over each pool; (n_pools,)."""
        return np.asarray(np.bincount(self.pool, weights=values, minlength=self.n_pools), dtype=np.float64)


def rank_pools(score: Floats, gold: Floats, pool: Ints, ties: Ties = "expected") -> RankedPools:
    """Return every pool's rows ranked by descending score; score, gold, pool: (n,).

    ties: "expected" keeps tied rows together as a block, over whose random orders measures take the expectation;
    "worst" and "best" put the rows of a block in ascending and descending order of gold, each with a rank of its own.
    Raises ValueError on NaN, infinity, a negative level or columns of different lengths.
    """
    arrays.check_lengths(score=score, gold=gold, pool=pool)
    arrays.check_finite("score", score)
    arrays.check_finite("gold", gold)
    if gold.size and gold.min() < 0:
        raise ValueError(f"gold levels must not be negative in a retrieval pool, got {gold.min()}")
    order, perfect = (np.lexsort((gold, -values, pool)) for values in (score, gold))
    start = np.append(np.flatnonzero(run_starts(pool[order])), pool.size)
    size = np.diff(start)
    rank = (np.arange(1, order.size + 1) - np.repeat(start[:-1], size)).astype(np.int32)
    opening = np.flatnonzero(run_starts(score[order]) | (rank == 1))
    rows = np.diff(np.append(opening, order.size))
    first = np.repeat(rank[opening], rows)
    last = first + np.repeat(rows.astype(np.int32), rows) - 1
    index = np.repeat(np.arange(size.size, dtype=np.int32), size)
    return RankedPools(index, gold[order], rank, first, last, gold[perfect], size.size).in_order(ties)


def pool_mean(values: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return the mean over P pools of a measure, as a function of group weights: (R,), or (K, R) for K measures.

    values: (P,) or (K, P); NaN ones are left out of their measure's mean, which is NaN without others. group: (P,)
    codes; a pool weighs as much as its group. Raises ValueError on a group code out of range.
    """
    arrays.check_lengths(values=values[0] if values.ndim > 1 else values, group=group)
    arrays.check_codes("group", group, n_groups)
    measures = np.atleast_2d(values)
    defined = ~np.isnan(measures)
    sums = [
        arrays.group_totals(row[known], group[known], n_groups) for row, known in zip(measures, defined, strict=True)
    ]
    counts = [np.bincount(group[known], minlength=n_groups).astype(np.float64) for known in defined]
    moments = np.stack([*sums, *counts], axis=1)

    def means(total: Floats) -> Floats:
        means_of_measures = arrays.ratio(total[: len(measures)], total[len(measures) :])
        return means_of_measures if values.ndim > 1 else means_of_measures[0]

    return Prepared(
        lambda tile: means(arrays.weighted_sums(moments, tile)),
        arrays.distinct(group[defined.any(axis=0)]).size,
        lambda: means(arrays.left_out_sums(moments)),
    )


def reciprocal_rank(ranked: RankedPools) -> Floats:
    """Return the expected 1 / rank of the first relevant row of each pool, (n_pools,); NaN without a relevant row.

    The first of r relevant rows among t shuffled ones is the j-th with chance C(t - j, r - 1) / C(t, r).
    """
    rows, hits, above = ranked.blocks
    place = ranked.rank - ranked.first + 1
    reached = np.flatnonzero((above == 0) & (hits > 0) & (place <= rows - hits + 1))
    t, r, j = rows[reached], hits[reached], place[reached]
    terms = np.exp(_log_ways(t - j, r - 1) - _log_ways(t, r)) / ranked.rank[reached]
    expected = np.bincount(ranked.pool[reached], weights=terms, minlength=ranked.n_pools)
    return np.where(ranked.n_relevant > 0, expected, np.nan)


def _log_ways(n: SmallInts, k: SmallInts) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def average_precision_of_pools(ranked: RankedPools) -> Floats:
    """Return the expected average precision of each pool, (n_pools,); NaN without a relevant row.

    Up to a relevant row on rank p of a block on ranks a .. b there are the relevant rows above the block, the row
    itself, and (p - a) (r - 1) / (t - 1) expected ones of the block.
    """
    rows, hits, above = ranked.blocks
    in_front = (ranked.rank - ranked.first) * (hits - 1.0) / np.maximum(rows - 1, 1)
    precision = (above + 1 + in_front) / ranked.rank
    return arrays.ratio(ranked.total(hits / rows * precision), ranked.n_relevant)


def precision_at_1(ranked: RankedPools) -> Floats:
    """Return the probability that the first row of each pool is relevant, (n_pools,); NaN without a relevant row."""
    (rows, hits, _), top = ranked.blocks, ranked.rank == 1
    return np.where(ranked.n_relevant > 0, hits[top] / rows[top], np.nan)


def recall_at(ranked: RankedPools, k: int) -> Floats:
    """Return the expected share of each pool's relevant rows on ranks 1 .. k, NaN without any; ValueError if k < 1."""
    if k < 1:
        raise ValueError(f"the cut-off k must be at least 1, got {k}")
    rows, hits, _ = ranked.blocks
    return arrays.ratio(ranked.total(np.where(ranked.rank <= k, hits / rows, 0.0)), ranked.n_relevant)


Gains = Literal["linear", "exponential"]


def ndcg(ranked: RankedPools, k: int, gains: Gains = "linear") -> Floats:
    """Return NDCG@k of each pool, (n_pools,), expected over random orders of tied rows; NaN where no row has a gain.

    Gain is the level (linear) or 2**level - 1 (exponential), discount log2(rank + 1), ideal order from the pool. Each
    row of a tie block gets the mean discount of the block's ranks: McSherry and Najork, "Computing information
    retrieval performance measures efficiently in the presence of tied scores" (ECIR 2008), the default of
    scikit-learn's `ndcg_score`. Base paper, section 3.2.3. Raises ValueError if k < 1 or a gain overflows.
    """
    gain = level_gains(ranked.gold, gains)
    up_to = discounts_up_to(k)
    last, before = np.minimum(ranked.last, k), np.minimum(ranked.first - 1, k)
    mean_discount = (up_to[last] - up_to[before]) / (ranked.last - ranked.first + 1)
    ideal = ideal_dcg(level_gains(ranked.best_first, gains), ranked.pool, ranked.rank, ranked.n_pools, k)
    return arrays.ratio(ranked.total(gain * mean_discount), ideal)


def level_gains(gold: Floats, gains: Gains) -> Floats:
    """Return each level's gain, (n,): itself, or 2**level - 1 if "exponential" (ValueError for levels above 1023)."""
    if gains == "linear":
        return gold
    if gold.size and gold.max() > 1023:
        raise ValueError(f"exponential gains need levels up to 1023, got {gold.max()}")
    return np.asarray(np.exp2(gold) - 1)


def discounts_up_to(k: int) -> Floats:
    """Return the sums of discounts 1 / log2(rank + 1) over ranks 1 .. r, r = 0 .. k; (k + 1,). ValueError if k < 1."""
    if k < 1:
        raise ValueError(f"the cut-off k must be at least 1, got {k}")
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))))


def ideal_dcg(best_first: Floats, pool: SmallInts, rank: SmallInts, n_pools: int, k: int) -> Floats:
    """Return the ideal DCG@k of each pool, (n_pools,), for rows sorted by pool, then falling gain; rank: from 1."""
    up_to = discounts_up_to(k)
    discount = up_to[np.minimum(rank, k)] - up_to[np.minimum(rank - 1, k)]
    return np.asarray(np.bincount(pool, weights=best_first * discount, minlength=n_pools), dtype=np.float64)


def ndcg_ranges(
    score: Floats, gold: Floats, pool: Ints, cutoffs: tuple[int, ...], gains: Gains = "linear"
) -> list[tuple[Floats, Floats]]:
    """Return for each cut-off the worst and the best NDCG of each pool over all scores that its missing rows may have.

    score, gold, pool: (n,), NaN for a missing score; both results: (n_pools,), NaN for pools without a gain. The ideal
    order is that of the whole pool. A missing row tied with a block of observed ones gives a value between those of
    standing before and behind the block, so ties need no case of their own. Raises ValueError for a cut-off below 1 and
    a gold that is negative, not finite or overflows.
    """
    missing, most = np.isnan(score), max(cutoffs)
    perfect, gain = rank_pools(gold, gold, pool), level_gains(gold, gains)
    index, n_pools = arrays.numbered(pool)
    block_gain, sizes = _observed_blocks(score[~missing], gain[~missing], index[~missing], n_pools, most)
    # Among missing rows the lowest gain goes first: exchanging two of them the other way can only add to the DCG.
    lowest, highest = (_lowest(sign * gain[missing], index[missing], n_pools, most) for sign in (1, -1))
    n_free = np.bincount(index[missing], minlength=n_pools)
    ranges = []
    for k in cutoffs:
        ideal = ideal_dcg(level_gains(perfect.gold, gains), perfect.pool, perfect.rank, n_pools, k)
        worst = _least_dcg(block_gain, sizes, lowest, n_free, k)
        # The highest DCG is the least one of the negated gains.
        best = -_least_dcg(-block_gain, sizes, highest, n_free, k)
        ranges.append((arrays.ratio(worst, ideal), arrays.ratio(best, ideal)))
    return ranges


def _least_dcg(block_gain: Floats, block_size: Ints, free_gain: Floats, n_free: Ints, k: int) -> Floats:
    """Return each pool's lowest DCG@k, (n_pools,), over all places of its n_free unscored rows among its tie blocks.

    block_gain, block_size: mean gain and size of its first blocks, best first. free_gain: gains of its unscored rows,
    ascending. Each (n_pools, at least k), padded with 0.
    """
    block_gain, free_gain = block_gain[:, :k], free_gain[:, :k]
    up_to = np.concatenate((discounts_up_to(k), np.full(k, discounts_up_to(k)[-1])))
    least = np.full((len(free_gain), free_gain.shape[1] + 1), np.inf)
    least[:, 0] = 0
    placed = np.zeros(len(free_gain), dtype=np.int64)
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
    return np.asarray(least[np.arange(len(least)), np.minimum(n_free, k)])


def _observed_blocks(score: Floats, gain: Floats, pool: Ints, n_pools: int, k: int) -> tuple[Floats, Ints]:
    """Return mean gain and size of the first k tie blocks of each pool, best first; (n_pools, up to k) each."""
    order = np.lexsort((-score, pool))
    gain, pool = gain[order], pool[order]
    new = run_starts(pool) | run_starts(score[order])
    block = np.cumsum(new) - 1
    size = np.bincount(block) if block.size else block
    mean_gain = np.bincount(block, weights=gain) / size if block.size else gain
    return _first(mean_gain, pool[new], n_pools, k), _first(size, pool[new], n_pools, k)


def _lowest(gain: Floats, pool: Ints, n_pools: int, k: int) -> Floats:
    """Return the k lowest gains of each pool in ascending order, (n_pools, up to k), padded with 0."""
    order = np.lexsort((gain, pool))
    return _first(gain[order], pool[order], n_pools, k)


def _first(values: NDArray[Any], pool: Ints, n_pools: int, k: int) -> NDArray[Any]:
    """Return the first k values of each pool, (n_pools, up to k), padded with 0; pool: in ascending order."""
    position = np.arange(pool.size)
    place = position - np.maximum.accumulate(np.where(run_starts(pool), position, 0))
    kept = place < k
    grid = np.zeros((n_pools, int(place[kept].max(initial=-1)) + 1), values.dtype)
    grid[pool[kept], place[kept]] = values[kept]
    return grid
