"""Who scores above whom, level against level: the counts that ROC-AUC, Spearman and Kendall are made of.

With few gold levels a resample needs no ranks. One pass over the rows in order of score counts, for every two levels,
the pairs in which the higher level has the higher score; AUC is that count over all pairs, Kendall's tau-b their
balance, and Spearman's rho follows from the levels' rank sums, which are sums of wins. All counts are integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from metaeval.stats.columns import Bools, Floats, Ints, column_sum, ratio
from metaeval.stats.draws import Tile
from metaeval.stats.kernels import compiled
from metaeval.stats.rows import check_rows
from metaeval.stats.ties import run_starts, tie_blocks

MAX_LEVELS = 8
"""Gold values up to which wins are counted level against level."""

_STRIP = 4_000_000
"""Integers in the largest array that the numpy path holds at a time."""


@dataclass(frozen=True, eq=False)
class Wins:
    """Counts under R weightings, of L levels from the lowest.

    rows: (L, R) rows of each level. wins: (L (L - 1) / 2, R), for level h over level l < h at h (h - 1) / 2 + l, twice
    the pairs in which h scores above l, a tie counting one. squares, cubes: (R,) sums of t**2 and t**3 over blocks of
    t tied rows.
    """

    rows: Ints
    wins: Ints
    squares: Ints
    cubes: Floats

    def auc(self, higher: int, lower: int) -> Floats:
        """ROC-AUC of one level against another; NaN where either is empty."""
        wins = self.wins[higher * (higher - 1) // 2 + lower].astype(np.float64)
        return ratio(wins, 2.0 * self.rows[higher] * self.rows[lower])

    def kendall(self) -> Floats:
        """Kendall's tau-b of score and level; NaN where either is constant."""
        total = self.rows.sum(axis=0)
        levels = range(len(self.rows))
        pairs = sum((self.rows[h] * self.rows[m] for h in levels for m in range(h)), np.zeros_like(total))
        surplus = self.wins.sum(axis=0) - pairs
        untied = total * total - self.squares
        spread = np.sqrt(2.0 * pairs) * np.sqrt(untied.astype(np.float64))
        # surplus / sqrt(pairs * untied / 2), with both in pairs counted once.
        return np.clip(ratio(2.0 * surplus, spread), -1, 1)

    def spearman(self) -> Floats:
        """Spearman's rho of score and level, midranks for ties; NaN where either is constant."""
        total = self.rows.sum(axis=0)
        levels = range(len(self.rows))
        product = np.zeros(total.size)
        ahead = np.zeros_like(total)
        for own in levels:
            size = self.rows[own]
            # Twice the level's sum of midranks less the mean rank: a row outranks what it beats, and half its ties.
            score_rank = sum((self._wins_over(own, other) for other in levels), np.zeros_like(total)) - size * total
            gold_rank = 2 * ahead + size - total
            product += score_rank.astype(np.float64) * gold_rank
            ahead += size
        cubed = total.astype(np.float64) ** 3
        score_spread = np.where(self.squares < total * total, cubed - self.cubes, 0.0)
        gold_spread = cubed - column_sum(self.rows.astype(np.float64) ** 3)
        spread = np.sqrt(np.maximum(score_spread, 0)) * np.sqrt(np.maximum(gold_spread, 0))
        return np.clip(ratio(3.0 * product, np.where((self.rows == total).any(axis=0), 0.0, spread)), -1, 1)

    def _wins_over(self, one: int, other: int) -> Ints:
        if one == other:
            return np.asarray(self.rows[one] ** 2)
        if one > other:
            return np.asarray(self.wins[one * (one - 1) // 2 + other])
        return np.asarray(2 * self.rows[one] * self.rows[other] - self.wins[other * (other - 1) // 2 + one])


@dataclass(frozen=True, eq=False)
class _Entries:
    """Rows alike in score, level and group, counted; in ascending order of score (m entries).

    solo: the entry is a tie block by itself. start: the first entry of each block, and m at the end.
    """

    group: Ints
    level: Ints
    count: Ints
    block: Ints
    solo: Bools
    start: Ints


def count_wins(score: Floats, gold: Floats, group: Ints, n_groups: int, ties: bool = True) -> Callable[[Tile], Wins]:
    """Prepare the function from a tile of weights (n_groups, R) to the counts; score, gold, group: (n,).

    ties: count tied scores too, which AUC does not need. Levels are the distinct gold values, at most `MAX_LEVELS`. Raises ValueError on more, on NaN or infinity, or on
    columns of unlike length.
    """
    check_rows(score, gold, group, n_groups)
    level, n_levels = tie_blocks(gold)
    if n_levels > MAX_LEVELS:
        raise ValueError(f"wins are counted for up to {MAX_LEVELS} gold levels, got {n_levels}")
    entries = _entries(score, level, group, n_levels, n_groups)
    members = np.bincount(group * max(n_levels, 1) + level, minlength=n_groups * n_levels).reshape(n_groups, n_levels)
    alone = entries.solo
    squared = _per_group(entries.count[alone] ** 2, entries.group[alone], n_groups)
    cubed = _per_group(entries.count[alone] ** 3, entries.group[alone], n_groups)
    by_numpy = _numpy_pass(entries, n_levels, n_groups)

    def evaluate(tile: Tile) -> Wins:
        weights = tile.astype(np.int64)
        rows = (weights.T @ members).T
        # A weight of two ties a row with its own copy, so a lone entry is a block of `weight * count` rows.
        squares = (weights**2).T @ squared
        cubes = column_sum(tile.astype(np.float64) ** 3 * cubed[:, None])
        loops = compiled(entries.group.size * tile.shape[1])
        if loops is None or rows.sum(axis=0).max(initial=0) > np.iinfo(np.int32).max:
            wins, more_squares, more_cubes = by_numpy(weights)
        else:
            wins = np.zeros((n_levels * (n_levels - 1) // 2, tile.shape[1]), dtype=np.int64)
            more_squares, more_cubes = np.zeros(tile.shape[1], dtype=np.int64), np.zeros(tile.shape[1])
            loops.count_wins(
                *(entries.group, entries.level, entries.count, entries.start),
                *(tile, n_levels, ties, wins, more_squares, more_cubes),
            )
        if not ties:
            # As of a constant score: nothing but AUC can be read from these counts.
            return Wins(rows, wins, rows.sum(axis=0) ** 2, cubes)
        return Wins(rows, wins, squares + more_squares, cubes + more_cubes)

    return evaluate


def _entries(score: Floats, level: Ints, group: Ints, n_levels: int, n_groups: int) -> _Entries:
    order = np.argsort(score)
    block = np.cumsum(run_starts(score[order])) - 1
    # One key for (block, level, group), sorted in place, is several times faster than a lexicographic sort.
    key = (block * n_levels + level[order]) * n_groups + group[order]
    key.sort()
    starts = np.flatnonzero(run_starts(key))
    count = np.diff(np.append(starts, key.size))
    rest, group = np.divmod(key[starts], max(n_groups, 1))
    block, level = np.divmod(rest, max(n_levels, 1))
    size = np.bincount(block) if block.size else block
    start = np.concatenate(([0], np.cumsum(size)))
    return _Entries(group, level, count, block, size[block] == 1, start)


def _per_group(values: Ints, group: Ints, n_groups: int) -> Ints:
    return np.bincount(group, weights=values, minlength=n_groups).astype(np.int64)


def _numpy_pass(entries: _Entries, n_levels: int, n_groups: int) -> Callable[[Ints], tuple[Ints, Ints, Floats]]:
    """The counts without compiled loops: sparse products and running sums, a strip of weightings at a time."""
    n_blocks = int(entries.block[-1]) + 1 if entries.block.size else 0
    shared = np.ones(n_blocks, dtype=np.bool_)
    shared[entries.block[entries.solo]] = False
    by_level = []
    for value in range(n_levels):
        own = entries.level == value
        places = (entries.block[own], entries.group[own])
        by_level.append(csr_array((entries.count[own].astype(np.int64), places), shape=(n_blocks, n_groups)))

    def strip(weights: Ints) -> tuple[Ints, Ints, Floats]:
        sizes = [np.asarray(counts @ weights) for counts in by_level]
        # Twice the rows of a level that a block outranks: all those below, and half of its own block's.
        outranked = [2 * np.cumsum(size, axis=0) - size for size in sizes]
        wins = [(sizes[h] * outranked[m]).sum(axis=0) for h in range(n_levels) for m in range(h)]
        tied = sum((size[shared] for size in sizes), np.zeros((int(shared.sum()), weights.shape[1]), dtype=np.int64))
        found = np.array(wins, dtype=np.int64).reshape(len(wins), weights.shape[1])
        return found, (tied * tied).sum(axis=0), column_sum(tied.astype(np.float64) ** 3)

    def evaluate(weights: Ints) -> tuple[Ints, Ints, Floats]:
        width = max(1, _STRIP // max(n_blocks, 1))
        strips = [strip(weights[:, at : at + width]) for at in range(0, weights.shape[1], width)]
        wins, squares, cubes = zip(*strips, strict=True)
        return np.concatenate(wins, axis=1), np.concatenate(squares), np.concatenate(cubes)

    return evaluate
