"""Counts of who scores above whom: what ROC-AUC, Spearman, Kendall and concordance are made of. All are integers.

`Orders` counts, for the rows of each gold level, the rows that they outrank. A level's rank sum is that number, so no
resample needs ranks of its own. `Wins` counts level against level, in one pass over the rows in order of score: for
every two levels, the pairs in which the higher level has the higher score. AUC is that count over all pairs, Kendall's
tau-b their balance, and Spearman's rho follows from the levels' rank sums, which are sums of wins.

Two rows of one group are one pair, however often the group is drawn: it counts w, not w squared, in AUC, concordance
and Kendall's tau-b. Copies of a group are one observation drawn again, and a row compared with the copy of another is
a pair that nobody observed. Rank sums have no pairs to leave out: Spearman's rho is that of repeated rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from metaeval.stats import arrays
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.group_counts import Orders, group_totals_of, inside_groups
from metaeval.stats.resampling import Tile
from metaeval.stats.ties import Entries, lone_powers, self_ties, sorted_by_level


def count_orders(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Orders]:
    """Return a function from group weights (n_groups, R) to the pair counts for rank correlations (`Orders`).

    score, gold, group: (n,). For any gold; with few levels `count_wins` is faster. Raises ValueError for NaN, infinity
    or columns of different lengths.
    """
    arrays.check_rows(score, gold, group, n_groups)
    entries, n_levels = sorted_by_level(score, gold, group, n_groups)
    members = csr_array((entries.count.astype(np.int64), (entries.level, entries.group)), shape=(n_levels, n_groups))
    of_group = arrays.group_totals(np.ones(group.size), group, n_groups)[:, None]
    alone = lone_powers(entries, n_groups)
    by_numpy = _orders_by_numpy(entries, n_levels, n_groups)
    inside = cache(lambda: group_totals_of(entries, n_levels, n_groups).pairs_inside())

    def evaluate(tile: Tile) -> Orders:
        squares, cubes = self_ties(alone, tile)
        loops = arrays.compiled(entries.group.size * tile.shape[1] * n_levels)
        if loops is None or arrays.weighted_sums(of_group, tile).max(initial=0) > np.iinfo(np.int32).max:
            weights = tile.astype(np.int64)
            rows = np.asarray(members @ weights)
            over, upward, more_squares, more_cubes = by_numpy(weights)
        else:
            rows, over = (np.zeros((n_levels, tile.shape[1]), dtype=np.int64) for _ in range(2))
            upward, more_squares = (np.zeros(tile.shape[1], dtype=np.int64) for _ in range(2))
            more_cubes = np.zeros(tile.shape[1])
            loops.count_orders(
                *(entries.group, entries.level, entries.count, entries.start),
                *(arrays.for_loops(tile), n_levels, rows, over, upward, more_squares, more_cubes),
            )
        copies = between_copies(inside, tile, 3)
        return Orders(rows, over, upward, squares + more_squares, cubes + more_cubes, copies)

    return evaluate


def between_copies(inside: Callable[[], Ints], tile: Tile, counts: int) -> Ints:
    """Return the counts of pairs between two copies of one group, summed over groups, (counts, R).

    inside: returns the counts of pairs inside each group, (n_groups, counts), which a weight w multiplies by w**2 - w.
    """
    if tile.max(initial=0) <= 1:
        return np.zeros((counts, tile.shape[1]), dtype=np.int64)
    pairs, totals = inside(), np.zeros((counts, tile.shape[1]), dtype=np.int64)
    for strip in arrays.strips(len(tile), tile.shape[1]):
        weights = tile[strip].astype(np.int64)
        totals += csr_array(pairs[strip].T) @ (weights * weights - weights)
    return totals


def _orders_by_numpy(entries: Entries, n_levels: int, n_groups: int) -> Callable[[Ints], list[Any]]:
    """Return a function from weights (n_groups, R) to [over, upward, squares, cubes] of `Orders` less `self_ties`."""
    prepared = cache(partial(_blocks_by_level, entries, n_levels, n_groups))

    def strip(weights: Ints) -> tuple[Ints, Ints, Ints, Floats]:
        shared, by_level = prepared()
        sizes = np.asarray(by_level @ weights).reshape(n_levels, entries.n_blocks, weights.shape[1])
        lower = np.zeros((entries.n_blocks, weights.shape[1]), dtype=np.int64)
        upward = np.zeros(weights.shape[1], dtype=np.int64)
        for size in sizes:
            upward += (size * _outranked(lower)).sum(axis=0)
            lower += size
        everything = _outranked(lower)
        over = np.array([(size * everything).sum(axis=0) for size in sizes]).reshape(n_levels, weights.shape[1])
        tied = lower[shared]
        return over, upward, (tied * tied).sum(axis=0), arrays.column_sum(tied.astype(np.float64) ** 3)

    return partial(_in_strips, strip, entries.n_blocks * n_levels)


def _blocks_by_level(entries: Entries, n_levels: int, n_groups: int) -> tuple[Bools, Any]:
    """Return which blocks (of tied scores) have several entries, (n_blocks,), and one sparse matrix of numbers of rows.

    The matrix, (n_levels * n_blocks, n_groups), has a block's rows of a level, by group, in row level * n_blocks +
    block.
    """
    shared = np.ones(entries.n_blocks, dtype=np.bool_)
    shared[entries.block[entries.solo]] = False
    places = (entries.level.astype(np.int64) * entries.n_blocks + entries.block, entries.group)
    shape = (n_levels * entries.n_blocks, n_groups)
    return shared, csr_array((entries.count.astype(np.int64), places), shape=shape)


def _in_strips(strip: Callable[[Ints], tuple[Any, ...]], height: int, weights: Ints) -> list[Any]:
    """Return the arrays that `strip` gives for weights, a few columns at a time, joined. height: rows of its arrays."""
    counted = [strip(weights[:, columns]) for columns in arrays.strips(weights.shape[1], height)]
    return [np.concatenate(part, axis=-1) for part in zip(*counted, strict=True)]


def _outranked(sizes: Ints) -> Ints:
    """Return twice the number of rows below each block plus the rows in it, (m, R), from ascending block sizes."""
    return np.asarray(2 * np.cumsum(sizes, axis=0) - sizes)


MAX_LEVELS = 8
"""Largest number of distinct gold values for which wins are counted level against level."""


@dataclass(frozen=True, eq=False)
class Wins:
    """Counts of correctly ordered pairs under R weightings of the groups, with L gold levels.

    rows: (L, R) number of rows of each level. wins: (L (L - 1) / 2, R), for level h over level l < h in row h (h - 1) /
    2 + l, twice the pairs in which h scores above l, plus the tied pairs. squares, cubes: (R,) sums of t**2 and t**3
    over blocks of t tied rows. copies: (L (L - 1) + 1, R) what pairs between two copies of one group add to `wins`,
    then to the numbers of pairs of two levels, then to twice the pairs of different scores.
    """

    rows: Ints
    wins: Ints
    squares: Ints
    cubes: Floats
    copies: Ints

    def auc(self, higher: int, lower: int) -> Floats:
        """Return the ROC-AUC, (R,), of level `higher` as positives against level `lower`; NaN where either is empty."""
        place = higher * (higher - 1) // 2 + lower
        wins = self.wins[place] - self.copies[place]
        pairs = self.rows[higher] * self.rows[lower] - self.copies[len(self.wins) + place]
        return arrays.ratio(wins.astype(np.float64), 2.0 * pairs)

    def orders(self) -> Orders:
        """Return the counts in the form that correlations need (`Orders`): each level against all rows together."""
        levels = range(len(self.rows))
        nothing = np.zeros_like(self.squares)
        over = [sum((self._over(level, other) for other in levels), nothing) for level in levels]
        won, unlike = self.copies[: len(self.wins)].sum(axis=0), self.copies[len(self.wins) : -1].sum(axis=0)
        return Orders(
            self.rows,
            np.array(over).reshape(self.rows.shape),
            self.wins.sum(axis=0),
            self.squares,
            self.cubes,
            np.array([won, unlike, self.copies[-1]]),
        )

    def _over(self, level: int, other: int) -> Ints:
        if level == other:
            return np.asarray(self.rows[level] ** 2)
        if level > other:
            return np.asarray(self.wins[level * (level - 1) // 2 + other])
        return np.asarray(2 * self.rows[level] * self.rows[other] - self.wins[other * (other - 1) // 2 + level])


def count_wins(score: Floats, gold: Floats, group: Ints, n_groups: int, ties: bool = True) -> Callable[[Tile], Wins]:
    """Return a function from group weights (n_groups, R) to the counts of correctly ordered pairs (`Wins`).

    score, gold, group: (n,). ties: False skips `squares` and `cubes`, which ROC-AUC does not need. Levels are the
    distinct gold values, at most `MAX_LEVELS`. Raises ValueError for more, NaN, infinity or columns of different
    lengths.
    """
    arrays.check_rows(score, gold, group, n_groups)
    entries, n_levels = sorted_by_level(score, gold, group, n_groups)
    if n_levels > MAX_LEVELS:
        raise ValueError(f"wins are counted for up to {MAX_LEVELS} distinct gold values, got {n_levels}")
    by_numpy, n_rows = _wins_by_numpy(entries, n_levels, n_groups), int(entries.count.sum())
    alone = lone_powers(entries, n_groups)
    inside = cache(partial(inside_groups, entries, n_levels, n_groups))

    def evaluate(tile: Tile) -> Wins:
        loops = arrays.compiled(entries.group.size * tile.shape[1])
        if loops is None or n_rows * int(tile.max(initial=0)) > np.iinfo(np.int32).max:
            rows, wins, squares, cubes = by_numpy(tile.astype(np.int64))
        else:
            rows = np.zeros((n_levels, tile.shape[1]), dtype=np.int64)
            wins = np.zeros((n_levels * (n_levels - 1) // 2, tile.shape[1]), dtype=np.int64)
            squares, cubes = np.zeros(tile.shape[1], dtype=np.int64), np.zeros(tile.shape[1])
            loops.count_wins(
                *(entries.group, entries.level, entries.count, entries.start),
                *(arrays.for_loops(tile), n_levels, ties, rows, wins, squares, cubes),
            )
        copies = between_copies(inside, tile, 2 * len(wins) + 1)
        if not ties:
            # As of a constant score: nothing but AUC can be read from these counts.
            return Wins(rows, wins, rows.sum(axis=0) ** 2, cubes, copies)
        lone_squares, lone_cubes = self_ties(alone, tile)
        return Wins(rows, wins, lone_squares + squares, lone_cubes + cubes, copies)

    return evaluate


def _wins_by_numpy(entries: Entries, n_levels: int, n_groups: int) -> Callable[[Ints], list[Any]]:
    """Return a function from weights (n_groups, R) to [rows, wins, squares, cubes] of `Wins` less `self_ties`."""
    prepared = cache(partial(_blocks_by_level, entries, n_levels, n_groups))

    def strip(weights: Ints) -> tuple[Ints, Ints, Ints, Floats]:
        shared, by_level = prepared()
        sizes = np.asarray(by_level @ weights).reshape(n_levels, entries.n_blocks, weights.shape[1])
        outranked = [_outranked(size) for size in sizes]
        wins = [(sizes[h] * outranked[m]).sum(axis=0) for h in range(n_levels) for m in range(h)]
        tied = sizes[:, shared].sum(axis=0)
        rows = sizes.sum(axis=1)
        won = np.array(wins, dtype=np.int64).reshape(len(wins), weights.shape[1])
        return rows, won, (tied * tied).sum(axis=0), arrays.column_sum(tied.astype(np.float64) ** 3)

    return partial(_in_strips, strip, entries.n_blocks)
