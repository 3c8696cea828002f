"""Tie blocks: the rows that share one score, counted per group, and rows that always move together counted as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metaeval.stats.arrays import Bools, Floats, Ints, column_sum, group_totals, in_strips, weighted_sums
from metaeval.stats.resampling import Tile


def tie_blocks(values: Floats) -> tuple[Ints, int]:
    """Number the distinct values from the lowest: block of each row (n,), and the number of blocks."""
    distinct, block = np.unique(values, return_inverse=True)
    return block.astype(np.int64).reshape(values.shape), int(distinct.size)


def midranks(values: Floats) -> Floats:
    """Return the ranks of `values` (n,) from 1, ties at the mean of their ranks; (n,). Agrees with scipy's `rankdata`.

    scipy.stats takes a second to import, a third of a small run: what is needed of it is here and in scipy.special.
    """
    _, block, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(sizes) - (sizes - 1) / 2)[block]
    return ranks


def run_starts(values: NDArray[Any]) -> Bools:
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
    """Return the midrank of each block less the mean rank, from block sizes (m, R) in ascending order of value; (m, R).

    A block of size t with c rows up to its end has midrank c - t/2 + 1/2; the mean of ranks 1 .. N is N/2 + 1/2.
    All terms are multiples of one half below 2**53, so the result is exact.
    """
    ranks = np.cumsum(sizes, axis=0)
    ranks -= sizes / 2
    ranks -= column_sum(sizes) / 2
    return ranks


@dataclass(frozen=True, eq=False)
class Entries:
    """Rows alike in score, level and group, counted; in ascending order of score (m entries).

    solo: the entry is a tie block by itself. start: the first entry of each block, and m at the end.
    """

    group: Ints
    level: Ints
    count: Ints
    block: Ints
    solo: Bools
    start: Ints

    @property
    def n_blocks(self) -> int:
        """Distinct scores."""
        return self.start.size - 1

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Return where the block of each entry begins, and where it ends, (m,) each."""
        return self.start[self.block], self.start[self.block + 1]


def sorted_entries(score: Floats, level: Ints, group: Ints, n_levels: int, n_groups: int) -> Entries:
    """Sort and count rows; score: (n,) finite, level, group: (n,) codes."""
    order = np.argsort(score)
    block = np.cumsum(run_starts(score[order]), dtype=np.int64)
    # One key for (block, level, group), sorted in place, is several times faster than a lexicographic sort.
    key = (block * n_levels + level[order]) * n_groups + group[order]
    key.sort()
    starts = np.flatnonzero(run_starts(key))
    count = np.diff(np.append(starts, key.size))
    rest, group = np.divmod(key[starts], max(n_groups, 1))
    block, level = np.divmod(rest, max(n_levels, 1))
    opens = run_starts(block)
    start = np.append(np.flatnonzero(opens), opens.size)
    block = np.cumsum(opens) - 1
    return Entries(group, level, count, block, np.diff(start)[block] == 1, start)


@dataclass(frozen=True, eq=False)
class Sorted:
    """Rows sorted and counted (`entries`), with the level of each, (n,), and the number of levels."""

    level: Ints
    n_levels: int
    entries: Entries


def sorted_by_level(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Sorted:
    """Number the levels of the gold, then sort and count; score, gold: (n,) finite, group: (n,) codes.

    The last rows are kept, by their content: several measures of one metric read the same order.
    """
    arguments = score, gold, group
    for columns, groups, result in _LAST:
        if groups == n_groups and all(map(np.array_equal, columns, arguments)):
            return result
    level, n_levels = tie_blocks(gold)
    result = Sorted(level, n_levels, sorted_entries(score, level, group, n_levels, n_groups))
    _LAST[:] = [((score.copy(), gold.copy(), group.copy()), n_groups, result)]
    return result


_LAST: list[tuple[tuple[Floats, Floats, Ints], int, Sorted]] = []


def lone_powers(entries: Entries, n_groups: int) -> Floats:
    """Return the sums of count**2 and count**3 over the lone entries of each group, (n_groups, 2)."""
    group, count = entries.group[entries.solo], entries.count[entries.solo].astype(np.float64)
    return np.stack([group_totals(count**power, group, n_groups) for power in (2, 3)], axis=1)


def self_ties(powers: Floats, tile: Tile) -> tuple[Ints, Floats]:
    """Sums of t**2 and t**3 under each weighting, (R,) each, over the lone entries, from their `lone_powers`.

    A lone entry is a block of t = weight x count rows: a weight of two ties a row with its own copy.
    """
    if tile.max(initial=0) <= 1:  # an exchange, whose weights are their own powers
        both = weighted_sums(powers, tile)
        return both[0].astype(np.int64), both[1]

    def strip(some: Tile) -> Floats:
        weights = some.astype(np.float64)
        squares = weights * weights
        return np.concatenate(
            (weighted_sums(powers[:, :1], squares), weighted_sums(powers[:, 1:], squares * weights)), axis=0
        )

    squared, cubed = in_strips(strip, tile, len(powers))
    return squared.astype(np.int64), cubed


def float32_collapse(score: Floats) -> tuple[int, int]:
    """Count the distinct finite scores (n,) that share their float32 value with another; returns (those, distinct).

    Tools that store float32 rank such scores as ties. Probabilities above 0.99999994 are the usual case: NDCG@5 fell
    from 0.713 to 0.204 that way, which keeping log-odds avoids.
    """
    distinct = np.unique(score)
    with np.errstate(over="ignore", under="ignore"):
        new = run_starts(distinct.astype(np.float32))
    counts = np.diff(np.append(np.flatnonzero(new), new.size))
    return int(counts[counts > 1].sum()), int(distinct.size)
