"""Tie blocks: the rows that share one value, counted per group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from metaeval.stats.resample_sums import Bools, Floats, Ints, column_sum


def tie_blocks(values: Floats) -> tuple[Ints, int]:
    """Number the distinct values from the lowest: block of each row (n,), and the number of blocks."""
    distinct, block = np.unique(values, return_inverse=True)
    return block.astype(np.int64).reshape(values.shape), int(distinct.size)


def run_starts(values: Floats | Ints) -> Bools:
    """True where a value differs from the one before it in `values` (n,), and at the first; (n,)."""
    starts = np.ones(values.size, dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts


def block_sizes(
    block: Ints, group: Ints, n_blocks: int, n_groups: int, count: Ints | None = None
) -> Callable[[Floats], Floats]:
    """Prepare the function from weights (n_groups, R) to the weight of each block, (n_blocks, R); block, group: (n,).

    count: (n,) how many rows each stands for; by default one.

    Rows are counted once per (block, group) in a sparse matrix, which is small for a score with few distinct values,
    however many rows there are.
    """
    held = np.ones(block.size) if count is None else count.astype(np.float64)
    counts = csr_array((held, (block, group)), shape=(n_blocks, n_groups))

    def sizes(weights: Floats) -> Floats:
        return np.asarray(counts @ weights, dtype=np.float64)

    return sizes


def centred_midranks(sizes: Floats) -> Floats:
    """Midrank of each block less the mean rank, from block sizes (m, R) in ascending order of value; (m, R).

    A block of size t with c rows up to its end has midrank c - t/2 + 1/2; the mean of ranks 1 .. N is N/2 + 1/2.
    All terms are multiples of one half below 2**53, so the result is exact.
    """
    ranks = np.cumsum(sizes, axis=0)
    ranks -= sizes / 2
    ranks -= column_sum(sizes) / 2
    return ranks
