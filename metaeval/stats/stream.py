"""Counts of who scores above whom over more rows than memory holds: one pass over rows in order of score.

Rows come in chunks in ascending order of score, and no two chunks share a score. What a chunk's rows outrank is counted
within the chunk as in memory, and below it from how many rows of each level came before, of all groups and of each.
All counts are integers, so that they are those of the same rows in memory, whatever the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.group_counts import by_level, entries_by_group, outranked
from metaeval.stats.rank_counts import Orders, Wins, between_copies, wins_of_entries
from metaeval.stats.resampling import Draws, Tile
from metaeval.stats.ties import Entries


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """What each of G groups contributes to the counts of L levels.

    members: (L, G) rows. wins: (L, L, G) by the level of the group's rows, twice the rows of each level that they
    outrank, a tie counting one; inside: the same among the group's own rows. squares, cubes: sums of t**2 and t**3 over
    blocks of t tied rows, first of all rows and then without each group, (1 + G,). own_squares: (G,) sum of t**2 over
    the blocks of the group's own rows.
    """

    members: Ints
    wins: Ints
    inside: Ints
    squares: Ints
    cubes: Floats
    own_squares: Ints

    def orders(self) -> Orders:
        """Counts of all rows, then without each group in turn: 1 + G weightings."""
        levels, groups = self.members.shape
        size = self.members.sum(axis=1)
        beaten = 2 * size[None, :, None] * self.members[:, None, :] - self.wins
        lower = np.tril(np.ones((levels, levels), dtype=np.bool_), -1)[:, :, None]
        over = self.wins.sum(axis=1)
        lost = over - self.inside.sum(axis=1) + beaten.sum(axis=0)
        downward = np.where(lower, self.wins, 0).sum(axis=(0, 1))
        moved = downward + np.where(lower.transpose(1, 0, 2), beaten, 0).sum(axis=(0, 1))
        moved -= np.where(lower, self.inside, 0).sum(axis=(0, 1))
        nothing = np.zeros((levels, 1), dtype=np.int64)
        return Orders(
            size[:, None] - np.concatenate((nothing, self.members), axis=1),
            over.sum(axis=1)[:, None] - np.concatenate((nothing, lost), axis=1),
            downward.sum() - np.append(0, moved),
            self.squares,
            self.cubes,
            np.zeros((3, 1 + groups), dtype=np.int64),
        )

    def pairs_inside(self) -> Ints:
        """Pairs of rows inside each group as `group_counts.inside_groups` counts them, levels apart."""
        levels, groups = self.members.shape
        places = [(high, low) for high in range(levels) for low in range(high)]
        won = [self.inside[place] for place in places]
        unlike = [self.members[high] * self.members[low] for high, low in places]
        rows = self.members.sum(axis=0)
        return np.array([*won, *unlike, rows * rows - self.own_squares]).reshape(-1, groups).T


def group_totals_of(chunks: Iterable[Entries], n_levels: int, n_groups: int) -> GroupTotals:
    """The totals from one pass; groups are numbered below `n_groups` and levels from the lowest."""
    shape = n_levels, n_groups
    seen, seen_in = np.zeros(n_levels, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    wins, inside = (np.zeros((n_levels, *shape), dtype=np.int64) for _ in range(2))
    total_squares, total_cubes = 0, 0.0
    squares, own_squares = (np.zeros(n_groups, dtype=np.int64) for _ in range(2))
    cubes = np.zeros(n_groups)
    for entries in chunks:
        own = entries_by_group(entries, n_groups)
        for low in range(n_levels):
            won = entries.count * (2 * seen[low] + outranked(entries, low))
            wins[:, low] += by_level(won, entries.level, entries.group, shape)
            won = own.count * (2 * seen_in[low][own.group] + own.outranked(low))
            inside[:, low] += by_level(won, own.level, own.group, shape)
        members = by_level(entries.count, entries.level, entries.group, shape)
        seen += members.sum(axis=1)
        seen_in += members
        tied = np.bincount(entries.block, weights=entries.count, minlength=entries.n_blocks)
        mine, shared = own.tied().astype(np.float64), tied[own.block[own.runs]]
        run_group, rest = own.group[own.runs], shared - mine
        total_squares += int((tied.astype(np.int64) ** 2).sum())
        total_cubes += float((tied**3).sum())
        squares += np.bincount(run_group, shared**2 - rest**2, n_groups).astype(np.int64)
        cubes += np.bincount(run_group, shared**3 - rest**3, n_groups)
        own_squares += np.bincount(run_group, mine**2, n_groups).astype(np.int64)
    left = total_squares - np.append(0, squares)
    return GroupTotals(seen_in, wins, inside, left, total_cubes - np.append(0.0, cubes), own_squares)


def resampled_wins(chunks: Callable[[], Iterable[Entries]], totals: GroupTotals, draws: Draws) -> Wins:
    """The counts of `rank_counts.count_wins` under all weightings of `draws`, from one more pass over the chunks."""
    n_levels, n_groups = totals.members.shape
    places = [(high, low) for high in range(n_levels) for low in range(high)]
    seen = np.zeros((n_levels, draws.n), dtype=np.int64)
    wins = np.zeros((len(places), draws.n), dtype=np.int64)
    squares, cubes = np.zeros(draws.n, dtype=np.int64), np.zeros(draws.n)
    for entries in chunks():
        count = wins_of_entries(entries, n_levels, n_groups)
        at = 0
        for tile in draws:
            own = slice(at, at + tile.shape[1])
            at = own.stop
            found = count(tile)
            squares[own] += found.squares
            cubes[own] += found.cubes
            for place, (high, low) in enumerate(places):
                wins[place, own] += found.wins[place] + 2 * found.rows[high] * seen[low, own]
            seen[:, own] += found.rows

    def copies(tile: Tile) -> Ints:
        return between_copies(totals.pairs_inside, tile, 2 * len(places) + 1)

    return Wins(seen, wins, squares, cubes, np.concatenate([copies(tile) for tile in draws], axis=1))
