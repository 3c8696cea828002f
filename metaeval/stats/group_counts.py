"""What one group's rows contribute to the counts of who scores above whom: inside the group, and against everyone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.ties import Entries, run_starts


def outranked(entries: Entries, level: int) -> Ints:
    """Twice the rows of a level that each entry outranks, a tie counting one, (m,)."""
    total = _running(np.where(entries.level == level, entries.count, 0))
    return np.asarray(total[entries.start[entries.block]] + total[entries.start[entries.block + 1]])


@dataclass(frozen=True, eq=False)
class GroupedEntries:
    """The entries (m,) group by group, each in ascending order of score.

    runs: the first entry of each group's rows of one score. first, end: where the run of each entry lies; opening:
    where its group starts.
    """

    group: Ints
    level: Ints
    count: Ints
    block: Ints
    runs: Ints
    first: Ints
    end: Ints
    opening: Ints

    def outranked(self, level: int) -> Ints:
        """As `outranked`, among the rows of the entry's own group."""
        total = _running(np.where(self.level == level, self.count, 0))
        return np.asarray(total[self.first] + total[self.end] - 2 * total[self.opening])

    def tied(self) -> Ints:
        """The group's rows of each run, (runs,)."""
        return np.asarray(np.diff(np.append(_running(self.count)[self.runs], self.count.sum())))


def entries_by_group(entries: Entries, n_groups: int) -> GroupedEntries:
    """The entries, each group's together."""
    # Numbers of two bytes are sorted several times faster.
    order = np.argsort(entries.group.astype(np.min_scalar_type(n_groups)), kind="stable")
    group, block = entries.group[order], entries.block[order]
    new_group = run_starts(group)
    new_run = new_group | run_starts(block)
    runs = np.flatnonzero(new_run)
    number = np.cumsum(new_run) - 1
    opening = np.flatnonzero(new_group)[np.cumsum(new_group) - 1]
    end = np.append(runs, order.size)[number + 1]
    return GroupedEntries(group, entries.level[order], entries.count[order], block, runs, runs[number], end, opening)


def _running(rows: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(rows)))


def by_level(values: Ints, level: Ints, group: Ints, shape: tuple[int, int]) -> Ints:
    """Sum of `values` (m,), whole numbers below 2**53, over each level and group; shape, (L, G)."""
    cells = np.bincount(level * shape[1] + group, weights=values, minlength=shape[0] * shape[1])
    return cells.astype(np.int64).reshape(shape)


def inside_groups(entries: Entries, n_levels: int, n_groups: int, apart: bool = False) -> Ints:
    """Pairs of rows of each group: twice those won by the higher level, those of unlike level, and twice those of
    unlike score; (n_groups, 3).

    A tie counts one. apart: the first two for each two levels, level h over level l < h at h (h - 1) / 2 + l:
    (n_groups, L (L - 1) + 1).
    """
    own = entries_by_group(entries, n_groups)
    members = by_level(own.count, own.level, own.group, (n_levels, n_groups))
    pairs = n_levels * (n_levels - 1) // 2
    won = np.zeros((pairs if apart else 1, n_groups), dtype=np.int64)
    unlike = np.zeros_like(won)
    for lower in range(n_levels):
        above = own.level > lower
        higher = own.level[above]
        place = higher * (higher - 1) // 2 + lower if apart else np.zeros_like(higher)
        won += by_level(own.count[above] * own.outranked(lower)[above], place, own.group[above], won.shape)
        for level in range(lower + 1, n_levels) if apart else ():
            unlike[level * (level - 1) // 2 + lower] = members[level] * members[lower]
    rows = members.sum(axis=0)
    if not apart:
        unlike[0] = (rows * rows - (members * members).sum(axis=0)) // 2
    squares = np.bincount(own.group[own.runs], weights=own.tied() ** 2, minlength=n_groups)
    return np.concatenate((won, unlike, [rows * rows - squares.astype(np.int64)])).T


def level_wins(entries: Entries, n_levels: int, n_groups: int) -> tuple[Ints, Ints]:
    """Rows of each level in each group, (L, G), and twice the rows of each level that they outrank, (L, L, G).

    The second by the level of the group's rows, then by the level that they outrank, a tie counting one.
    """
    shape = n_levels, n_groups
    members = by_level(entries.count, entries.level, entries.group, shape)
    wins = [
        by_level(entries.count * outranked(entries, lower), entries.level, entries.group, shape)
        for lower in range(n_levels)
    ]
    return members, np.stack(wins, axis=1) if wins else np.zeros((0, 0, n_groups), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Counts without each group in turn, as `rank_counts.Orders` names them; (L, G) or (G,)."""

    rows: Ints
    over: Ints
    upward: Ints
    squares: Ints
    cubes: Floats


def left_out_counts(entries: Entries, n_levels: int, n_groups: int) -> LeftOut:
    """The counts of `LeftOut` in one pass; all are whole numbers.

    What goes with a group is what its rows outrank, and are outranked by, less what is both: the pairs inside it.
    """
    group, level, count, shape = entries.group, entries.level, entries.count, (n_levels, n_groups)
    own = entries_by_group(entries, n_groups)
    members = by_level(count, level, group, shape)
    size = members.sum(axis=1)
    everything, lower, higher = (np.zeros_like(count) for _ in range(3))
    inside, inside_lower = np.zeros_like(count), np.zeros_like(count)
    beaten_by = np.zeros_like(members)
    for below in range(n_levels):
        everyone, mine = outranked(entries, below), own.outranked(below)
        everything += everyone
        inside += mine
        lower += np.where(below < level, everyone, 0)
        inside_lower += np.where(below < own.level, mine, 0)
        beaten = 2 * size[below] - everyone
        higher += np.where(below > level, beaten, 0)
        # Twice the rows of this level that outrank the group's.
        beaten_by[below] = np.bincount(group, weights=count * beaten, minlength=n_groups)
    over = by_level(count * everything, level, group, shape)
    lost = over - by_level(own.count * inside, own.level, own.group, shape) + beaten_by
    upward = np.bincount(group, weights=count * (lower + higher), minlength=n_groups)
    upward -= np.bincount(own.group, weights=own.count * inside_lower, minlength=n_groups)
    # Floats: the cube of two million tied rows is no 64-bit integer.
    tied = np.bincount(entries.block, weights=count, minlength=entries.n_blocks)
    shared = tied[own.block[own.runs]]
    rest = shared - own.tied()
    squares, cubes = (
        (tied**power).sum() + np.bincount(own.group[own.runs], weights=rest**power - shared**power, minlength=n_groups)
        for power in (2, 3)
    )
    won = int((count * lower).sum())
    return LeftOut(
        size[:, None] - members,
        over.sum(axis=1)[:, None] - lost,
        won - upward.astype(np.int64),
        squares.astype(np.int64),
        cubes,
    )
