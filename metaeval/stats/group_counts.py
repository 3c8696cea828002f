"""What one group's rows contribute to the counts of who scores above whom: inside the group, and against everyone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metaeval.stats.arrays import Bools, Ints
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
    members = np.zeros((n_levels, n_groups), dtype=np.int64)
    np.add.at(members, (entries.level, entries.group), entries.count)
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
