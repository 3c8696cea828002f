"""What one group's rows contribute to the counts of who scores above whom: inside the group, and against everyone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.ties import Entries, run_starts


def outranked(entries: Entries, n_levels: int) -> Iterator[tuple[Ints, Ints]]:
    """For each level from the lowest, twice the rows of it that each entry outranks, a tie counting one: (m,), twice.

    First among the rows of all groups, then among those of the entry's own. O(m) a level.
    """
    order = np.argsort(entries.group, kind="stable")  # entries of one group, in ascending order of score
    new_group = run_starts(entries.group[order])
    new_run = new_group | run_starts(entries.block[order])
    first, end = _runs(new_run)
    opening, _ = _runs(new_group)
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    start = entries.start
    for level in range(n_levels):
        rows = np.where(entries.level == level, entries.count, 0)
        total = _running(rows)
        own = _running(rows[order])
        inside = own[first] + own[end] - 2 * own[opening]
        yield total[start[entries.block]] + total[start[entries.block + 1]], inside[back]


def _runs(starts: Bools) -> tuple[Ints, Ints]:
    """Where the run of each entry starts and ends, (m,) each, from whether each entry starts one."""
    edges = np.append(np.flatnonzero(starts), starts.size)
    number = np.cumsum(starts) - 1
    return edges[number], edges[number + 1]


def _running(rows: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(rows)))


def inside_groups(entries: Entries, n_levels: int, n_groups: int, apart: bool = False) -> Ints:
    """Pairs of rows of each group: twice those won by the higher level, those of unlike level, and twice those of
    unlike score; (n_groups, 3).

    A tie counts one. apart: the first two for each two levels, level h over level l < h at h (h - 1) / 2 + l:
    (n_groups, L (L - 1) + 1).
    """
    members = _by_level(entries.count, entries, n_levels, n_groups)
    pairs = n_levels * (n_levels - 1) // 2
    won = np.zeros((pairs if apart else 1, n_groups), dtype=np.int64)
    unlike = np.zeros_like(won)
    for lower, (_, inside) in enumerate(outranked(entries, n_levels)):
        above = entries.level > lower
        higher = entries.level[above]
        place = higher * (higher - 1) // 2 + lower if apart else np.zeros_like(higher)
        np.add.at(won, (place, entries.group[above]), entries.count[above] * inside[above])
        for level in range(lower + 1, n_levels) if apart else ():
            unlike[level * (level - 1) // 2 + lower] = members[level] * members[lower]
    rows = members.sum(axis=0)
    if not apart:
        unlike[0] = (rows * rows - (members * members).sum(axis=0)) // 2
    return np.concatenate((won, unlike, [rows * rows - _tied(entries, n_groups)])).T


def _tied(entries: Entries, n_groups: int) -> Ints:
    """Sum over each group's scores of the squared number of its rows with that score, (n_groups,)."""
    cells, index = np.unique(entries.block * max(n_groups, 1) + entries.group, return_inverse=True)
    rows = np.zeros(cells.size, dtype=np.int64)
    np.add.at(rows, index, entries.count)
    tied = np.zeros(n_groups, dtype=np.int64)
    np.add.at(tied, cells % max(n_groups, 1), rows * rows)
    return tied


def level_wins(entries: Entries, n_levels: int, n_groups: int) -> tuple[Ints, Ints]:
    """Rows of each level in each group, (L, G), and twice the rows of each level that they outrank, (L, L, G).

    The second by the level of the group's rows, then by the level that they outrank, a tie counting one.
    """
    members = _by_level(entries.count, entries, n_levels, n_groups)
    wins = [
        _by_level(entries.count * everyone, entries, n_levels, n_groups) for everyone, _ in outranked(entries, n_levels)
    ]
    return members, np.stack(wins, axis=1) if wins else np.zeros((0, 0, n_groups), dtype=np.int64)


def _by_level(values: Ints, entries: Entries, n_levels: int, n_groups: int) -> Ints:
    """Sum of `values` (m,) over the entries of each level and group, (L, G)."""
    total = np.zeros((n_levels, n_groups), dtype=np.int64)
    np.add.at(total, (entries.level, entries.group), values)
    return total


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
    group, level, count = entries.group, entries.level, entries.count
    members = _by_level(count, entries, n_levels, n_groups)
    size = members.sum(axis=1)
    everything, own, lower, own_lower, higher = (np.zeros_like(count) for _ in range(5))
    beaten_by = np.zeros_like(members)
    for below, (everyone, inside) in enumerate(outranked(entries, n_levels)):
        everything += everyone
        own += inside
        lower += np.where(below < level, everyone, 0)
        own_lower += np.where(below < level, inside, 0)
        higher += np.where(below > level, 2 * size[below] - everyone, 0)
        # Twice the rows of this level that outrank the group's.
        np.add.at(beaten_by[below], group, count * (2 * size[below] - everyone))
    over = _by_level(count * everything, entries, n_levels, n_groups)
    lost = over - _by_level(count * own, entries, n_levels, n_groups) + beaten_by
    upward = np.zeros(n_groups, dtype=np.int64)
    np.add.at(upward, group, count * (lower + higher - own_lower))
    tied = np.bincount(entries.block, weights=count, minlength=entries.n_blocks)
    cells, cell = np.unique(entries.block * max(n_groups, 1) + group, return_inverse=True)
    mine = np.bincount(cell, weights=count, minlength=cells.size)
    cell_block, cell_group = np.divmod(cells, max(n_groups, 1))
    rest = tied[cell_block] - mine
    squares, cubes = (
        (tied**power).sum()
        + np.bincount(cell_group, weights=rest**power - tied[cell_block] ** power, minlength=n_groups)
        for power in (2, 3)
    )
    won = int((count * lower).sum())
    return LeftOut(
        size[:, None] - members, over.sum(axis=1)[:, None] - lost, won - upward, squares.astype(np.int64), cubes
    )
