"""What the rows of each gold level outrank: the counts that Spearman, Kendall and concordance are made of.

A level's rank sum is the number of rows that its rows outrank, so no resample needs ranks of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from metaeval.stats.kernels import compiled
from metaeval.stats.resample_sums import STRIP_FLOATS, Floats, Ints, column_sum, ratio
from metaeval.stats.resampling import Tile
from metaeval.stats.row_aggregation import Entries, self_ties, sorted_entries
from metaeval.stats.rows import check_rows
from metaeval.stats.ties import tie_blocks


@dataclass(frozen=True, eq=False)
class Orders:
    """Counts under R weightings, of L levels from the lowest; all are whole numbers.

    rows: (L, R) rows of each level. over: (L, R) twice the rows that the rows of each level outrank, a tie (a row's
    with itself too) counting one. upward: (R,) the same over lower levels only, summed over levels. squares, cubes:
    (R,) sums of t**2 and t**3 over blocks of t tied rows.
    """

    rows: Ints
    over: Ints
    upward: Ints
    squares: Ints
    cubes: Floats

    def kendall(self) -> Floats:
        """Kendall's tau-b of score and level; NaN where either is constant."""
        total, pairs = self.rows.sum(axis=0), self._pairs()
        untied = total * total - self.squares
        spread = (np.sqrt(2.0 * pairs) * np.sqrt(1.0 * untied)).astype(np.float64)
        # (concordant - discordant) / sqrt(pairs * untied / 2): `pairs` differ in gold, half of `untied` in score.
        return np.clip(ratio(2 * (self.upward - pairs), spread), -1, 1)

    def concordance(self) -> Floats:
        """Share of the pairs with unlike gold in which the higher gold has the higher score, ties counting one half."""
        return ratio(self.upward, 2 * self._pairs())

    def spearman(self) -> Floats:
        """Spearman's rho of score and level, midranks for ties; NaN where either is constant."""
        total = self.rows.sum(axis=0)
        ahead = np.cumsum(self.rows, axis=0) - self.rows
        # Twice the sum over a level, and twice the rank of the level, both less the mean rank.
        score_ranks = (self.over - self.rows * total).astype(np.float64)
        product = column_sum(score_ranks * (2 * ahead + self.rows - total))
        cubed = total.astype(np.float64) ** 3
        score_spread = np.where(self.squares < total * total, cubed - self.cubes, 0.0)
        gold_spread = cubed - column_sum(self.rows.astype(np.float64) ** 3)
        spread = np.sqrt(np.maximum(score_spread, 0)) * np.sqrt(np.maximum(gold_spread, 0))
        return np.clip(ratio(3.0 * product, np.where((self.rows == total).any(axis=0), 0.0, spread)), -1, 1)

    def _pairs(self) -> Ints:
        ahead = np.cumsum(self.rows, axis=0) - self.rows
        return np.asarray((self.rows * ahead).sum(axis=0), dtype=np.int64)


def count_orders(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Orders]:
    """Prepare the function from a tile of weights (n_groups, R) to the counts; score, gold, group: (n,).

    For any gold; with few levels `metaeval.stats.level_wins` is faster. Raises ValueError on NaN or infinity, or on
    columns of unlike length.
    """
    check_rows(score, gold, group, n_groups)
    level, n_levels = tie_blocks(gold)
    entries = sorted_entries(score, level, group, n_levels, n_groups)
    members = csr_array((np.ones(level.size, dtype=np.int64), (level, group)), shape=(n_levels, n_groups))
    alone = self_ties(entries, n_groups)
    by_numpy = _numpy_pass(entries, n_levels, n_groups)

    def evaluate(tile: Tile) -> Orders:
        weights = tile.astype(np.int64)
        rows = np.asarray(members @ weights)
        squares, cubes = alone(tile)
        loops = compiled(entries.group.size * tile.shape[1] * n_levels)
        if loops is None or rows.sum(axis=0).max(initial=0) > np.iinfo(np.int32).max:
            over, upward, more_squares, more_cubes = by_numpy(weights)
        else:
            over, upward = np.zeros_like(rows), np.zeros(tile.shape[1], dtype=np.int64)
            more_squares, more_cubes = np.zeros(tile.shape[1], dtype=np.int64), np.zeros(tile.shape[1])
            loops.count_orders(
                *(entries.group, entries.level, entries.count, entries.start),
                *(tile, n_levels, over, upward, more_squares, more_cubes),
            )
        return Orders(rows, over, upward, squares + more_squares, cubes + more_cubes)

    return evaluate


_Counts = tuple[Ints, Ints, Ints, Floats]


def _numpy_pass(entries: Entries, n_levels: int, n_groups: int) -> Callable[[Ints], _Counts]:
    """The counts without compiled loops: level by level from the lowest, a strip of weightings at a time."""
    shared = np.ones(entries.n_blocks, dtype=np.bool_)
    shared[entries.block[entries.solo]] = False
    shape = (entries.n_blocks, n_groups)
    by_level = []
    for value in range(n_levels):
        own = entries.level == value
        by_level.append(csr_array((entries.count[own], (entries.block[own], entries.group[own])), shape=shape))

    def strip(weights: Ints) -> _Counts:
        lower = np.zeros((entries.n_blocks, weights.shape[1]), dtype=np.int64)
        upward = np.zeros(weights.shape[1], dtype=np.int64)
        sizes = []
        for counts in by_level:
            size = np.asarray(counts @ weights)
            upward += (size * _outranked(lower)).sum(axis=0)
            lower += size
            sizes.append(size)
        everything = _outranked(lower)
        over = np.array([(size * everything).sum(axis=0) for size in sizes]).reshape(n_levels, weights.shape[1])
        tied = lower[shared]
        return over, upward, (tied * tied).sum(axis=0), column_sum(tied.astype(np.float64) ** 3)

    def evaluate(weights: Ints) -> _Counts:
        width = max(1, STRIP_FLOATS // max(entries.n_blocks * n_levels, 1))
        strips = [strip(weights[:, at : at + width]) for at in range(0, weights.shape[1], width)]
        over, upward, squares, cubes = zip(*strips, strict=True)
        return np.concatenate(over, axis=1), np.concatenate(upward), np.concatenate(squares), np.concatenate(cubes)

    return evaluate


def _outranked(sizes: Ints) -> Ints:
    """Twice the rows below each block and one time those in it, from block sizes (m, R)."""
    return np.asarray(2 * np.cumsum(sizes, axis=0) - sizes)
