"""Tie blocks: the rows that share one score, counted per group, and rows that always move together counted as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metaeval.stats.arrays import Bools, Floats, Ints, SmallInts, column_sum


def tie_blocks(values: Floats) -> tuple[Ints, int]:
    """Return the rank of each row's value among the distinct values, (n,) from 0, and the number of distinct values."""
    if np.unique(values[:1000]).size > 64:
        distinct, block = np.unique(values, return_inverse=True)
    else:  # of few values a search is faster than a sort with the rows' numbers
        distinct = np.unique(values)
        block = np.searchsorted(distinct, values)
    return block.astype(np.int64, copy=False).reshape(values.shape), int(distinct.size)


def midranks(values: Floats) -> Floats:
    """Return the ranks of `values` (n,) from 1, ties at the mean of their ranks; (n,). Agrees with scipy's `rankdata`.

    scipy.stats takes a second to import, a third of a small run: what is needed of it is here and in scipy.special.
    """
    _, block, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(sizes) - (sizes - 1) / 2)[block]
    return ranks


def run_starts(values: NDArray[Any]) -> Bools:
    """Return whether each of `values` (n,) differs from the one before it; True for the first; (n,)."""
    starts = np.ones(values.size, dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts


def block_sizes(
    block: Ints | SmallInts,
    group: Ints | SmallInts,
    n_blocks: int,
    n_groups: int,
    count: Ints | SmallInts | None = None,
) -> Callable[[Floats], Floats]:
    """Return a function from group weights (n_groups, R) to the weight of each block, (n_blocks, R).

    block, group: (n,) of each row. count: (n,) how many rows each stands for; by default one.

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
    """The m distinct (score, level, group) of rows with their counts of rows, in ascending order of score, then level.

    start: the first entry of each tie block (the entries of one score), and m at the end.
    """

    group: SmallInts
    level: SmallInts
    count: SmallInts
    start: SmallInts

    @property
    def n_blocks(self) -> int:
        """Return the number of distinct scores."""
        return self.start.size - 1

    @property
    def block(self) -> SmallInts:
        """Return the number of each entry's tie block, (m,) from 0 for the lowest score."""
        return np.repeat(np.arange(self.n_blocks, dtype=np.int32), np.diff(self.start))


def sorted_entries(score: Floats, level: Ints, group: Ints, n_levels: int, n_groups: int) -> Entries:
    """Return the rows as `Entries`: sorted by score, equal ones counted. score, level, group: (n,), no NaN."""
    if (content := content_of(score)) not in _ORDER:
        _ORDER.clear()
        _ORDER[content] = np.argsort(score)
    order = _ORDER[content]
    # One key for (block, level, group), sorted in place, is several times faster than a lexicographic sort.
    key = np.cumsum(run_starts(score[order]), dtype=np.int64)
    for codes, size in ((level, n_levels), (group, n_groups)):
        key *= size
        key += codes[order]
    key.sort(kind="stable")  # in runs already, which this sort takes as they are
    starts = np.flatnonzero(run_starts(key))
    count = np.diff(np.append(starts, key.size))
    key = key[starts]
    rest = key // max(n_groups, 1)
    block = rest // max(n_levels, 1)
    group, level = key - rest * n_groups, rest - block * n_levels
    start = np.append(np.flatnonzero(run_starts(block)), block.size)
    return Entries(*(column.astype(np.int32) for column in (group, level, count, start)))


def sorted_by_level(score: Floats, gold: Floats, group: Ints, n_groups: int) -> tuple[Entries, int]:
    """Return the rows as `Entries`, with levels 0, 1, ... for the ascending gold values, and the number of levels.

    score, gold: (n,) finite, group: (n,) codes. A second call with the same content returns the same objects, which
    several measures of one metric share.
    """
    rows = content_of(score, gold, group), n_groups
    if rows not in _LAST:
        _LAST.clear()  # before others are sorted, which takes a large part of the memory
        level, n_levels = tie_blocks(gold)
        _LAST[rows] = sorted_entries(score, level, group, n_levels, n_groups), n_levels
    return _LAST[rows]


_LAST: dict[tuple[bytes, int], tuple[Entries, int]] = {}
_ORDER: dict[bytes, NDArray[np.intp]] = {}
"""The row numbers by ascending score of the last scores, which measures of other levels share."""


def content_of(*columns: NDArray[Any]) -> bytes:
    """Return the SHA-256 of the columns' types, shapes and values, as a key for caches."""
    digest = sha256()
    for column in columns:
        digest.update(f"{column.dtype}{column.shape}".encode())
        digest.update(np.ascontiguousarray(column).data)
    return digest.digest()


def float32_collapse(score: Floats) -> tuple[int, int]:
    """Return how many distinct finite scores equal another one in float32, and the number of distinct scores (n,).

    Tools that store float32 rank such scores as ties. Probabilities above 0.99999994 are the usual case: NDCG@5
    fell from 0.713 to 0.204 that way, which keeping log-odds avoids.
    """
    distinct = np.unique(score)
    with np.errstate(over="ignore", under="ignore"):
        new = run_starts(distinct.astype(np.float32))
    counts = np.diff(np.append(np.flatnonzero(new), new.size))
    return int(counts[counts > 1].sum()), int(distinct.size)
