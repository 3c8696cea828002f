"""Binary rank measures of every pool at once: reciprocal rank, average precision, P@1, recall@k.

Relevant means level >= 1. Each value is the exact expectation over random orders of tied rows. Closed forms for
ties: McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence of tied
scores" (ECIR 2008). In a tie block of t rows on ranks a .. b, r of them relevant, each rank of the block holds a
relevant row with chance r / t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from metaeval.stats.pools import RankedPools
from metaeval.stats.resample_sums import Bools, Floats, Ints, ratio


@dataclass(frozen=True)
class _Blocks:
    """Of each row's tie block: rows, relevant rows, and relevant rows ranked above it in the pool; (n,) each."""

    rows: Ints
    relevant: Ints
    above: Ints


def _blocks(ranked: RankedPools, relevant: Bools) -> _Blocks:
    counted = np.concatenate(([0], np.cumsum(relevant)))
    position = np.arange(ranked.rank.size)
    pool_start = position - ranked.rank + 1
    start, stop = pool_start + ranked.first - 1, pool_start + ranked.last
    above = counted[start] - counted[pool_start]
    return _Blocks(ranked.last - ranked.first + 1, counted[stop] - counted[start], above)


def reciprocal_rank(ranked: RankedPools) -> Floats:
    """Expected 1 / rank of the first relevant row of each pool, (n_pools,); NaN without a relevant row.

    The first of r relevant rows among t shuffled ones is the j-th with chance C(t - j, r - 1) / C(t, r).
    """
    relevant = ranked.gold >= 1
    blocks = _blocks(ranked, relevant)
    place = ranked.rank - ranked.first + 1
    reached = (blocks.above == 0) & (blocks.relevant > 0) & (place <= blocks.rows - blocks.relevant + 1)
    t, r, j = blocks.rows[reached], blocks.relevant[reached], place[reached]
    terms = np.zeros(ranked.rank.size)
    terms[reached] = np.exp(_log_choose(t - j, r - 1) - _log_choose(t, r)) / ranked.rank[reached]
    return _defined(ranked, relevant, ranked.total(terms))


def average_precision_of_pools(ranked: RankedPools) -> Floats:
    """Expected average precision of each pool, (n_pools,); NaN without a relevant row.

    A relevant row on rank p of its block stands below `above` relevant rows, itself, and of the p - a block rows in
    front of it (r - 1) / (t - 1) each.
    """
    relevant = ranked.gold >= 1
    blocks = _blocks(ranked, relevant)
    in_front = (ranked.rank - ranked.first) * (blocks.relevant - 1) / np.maximum(blocks.rows - 1, 1)
    precision = (blocks.above + 1 + in_front) / ranked.rank
    return _per_relevant(ranked, relevant, blocks.relevant / blocks.rows * precision)


def precision_at_1(ranked: RankedPools) -> Floats:
    """Chance that the first row of each pool is relevant, (n_pools,); NaN without a relevant row."""
    relevant = ranked.gold >= 1
    blocks = _blocks(ranked, relevant)
    return _defined(ranked, relevant, ranked.total(np.where(ranked.rank == 1, blocks.relevant / blocks.rows, 0.0)))


def recall_at(ranked: RankedPools, k: int) -> Floats:
    """Expected share of each pool's relevant rows on ranks 1 .. k, (n_pools,); NaN without one. ValueError if k < 1."""
    if k < 1:
        raise ValueError(f"the cut-off k must be at least 1, got {k}")
    relevant = ranked.gold >= 1
    blocks = _blocks(ranked, relevant)
    return _per_relevant(ranked, relevant, np.where(ranked.rank <= k, blocks.relevant / blocks.rows, 0.0))


def _per_relevant(ranked: RankedPools, relevant: Bools, terms: Floats) -> Floats:
    return ratio(ranked.total(terms), ranked.total(relevant.astype(np.float64)))


def _defined(ranked: RankedPools, relevant: Bools, values: Floats) -> Floats:
    return np.where(ranked.total(relevant.astype(np.float64)) > 0, values, np.nan)


def _log_choose(n: Ints, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
