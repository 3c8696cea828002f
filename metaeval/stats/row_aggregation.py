"""Rows in order of score, those that always move together counted as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaeval.stats.resample_sums import Bools, Floats, Ints
from metaeval.stats.resampling import Tile
from metaeval.stats.sums import group_totals, weighted_sums
from metaeval.stats.ties import run_starts


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


def sorted_entries(score: Floats, level: Ints, group: Ints, n_levels: int, n_groups: int) -> Entries:
    """Sort and count rows; score: (n,) finite, level, group: (n,) codes."""
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
    return Entries(group, level, count, block, size[block] == 1, start)


@dataclass(frozen=True, eq=False)
class SelfTies:
    """Sums over the entries that are a tie block of their own: a weight of two ties a row with its own copy.

    squared, cubed: (n_groups, 1) sums of count**2 and count**3.
    """

    squared: Floats
    cubed: Floats

    def __call__(self, tile: Tile) -> tuple[Ints, Floats]:
        """Sums of t**2 and t**3, (R,) each, over blocks of t = weight x count rows; tile (n_groups, R)."""
        weights = tile.astype(np.float64)
        squares = weights * weights
        return weighted_sums(self.squared, squares)[0].astype(np.int64), weighted_sums(self.cubed, squares * weights)[0]


def self_ties(entries: Entries, n_groups: int) -> SelfTies:
    """Count the lone entries of each group."""
    group, count = entries.group[entries.solo], entries.count[entries.solo].astype(np.float64)
    squared, cubed = (group_totals(count**power, group, n_groups)[:, None] for power in (2, 3))
    return SelfTies(squared, cubed)
