"""Counts of who scores above whom over more rows than memory holds: one pass over rows in order of score.

Rows come in chunks in ascending order of score, and no two chunks share a score. What a chunk's rows outrank is counted
within the chunk as in memory, and below it from how many rows of each level came before, of all groups and of each.
All counts are integers, so that they are those of the same rows in memory, whatever the chunks. Resampled counts take
one more pass for as many resamples as fit in memory: what is made of groups alone is made once, not chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.group_counts import by_level, entries_by_group, outranked
from metaeval.stats.rank_counts import Orders, Wins, between_copies, wins_of_blocks
from metaeval.stats.resampling import KEPT_BYTES, TILE, Draws, Tile
from metaeval.stats.ties import Entries, lone_powers, self_ties


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """What each of G groups contributes to the counts of L levels.

    members: (L, G) rows. wins: (L, L, G) by the level of the group's rows, twice the rows of each level that they
    outrank, a tie counting one; inside: the same among the group's own rows. squares, cubes: sums of t**2 and t**3 over
    blocks of t tied rows, first of all rows and then without each group, (1 + G,). own_squares: (G,) sum of t**2 over
    the blocks of the group's own rows. lone: (G, 2) as `ties.lone_powers`.
    """

    members: Ints
    wins: Ints
    inside: Ints
    squares: Ints
    cubes: Floats
    own_squares: Ints
    lone: Floats

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
    cubes, lone = np.zeros(n_groups), np.zeros((n_groups, 2))
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
        lone += lone_powers(entries, n_groups)
    left = total_squares - np.append(0, squares)
    return GroupTotals(seen_in, wins, inside, left, total_cubes - np.append(0.0, cubes), own_squares, lone)


def resampled_wins(chunks: Callable[[], Iterable[Entries]], totals: GroupTotals, draws: Draws) -> Wins:
    """The counts of `rank_counts.count_wins` under all weightings of `draws`, from further passes over the chunks."""
    tiles, together = iter(draws), max(1, KEPT_BYTES // max(TILE * draws.n_groups, 1))
    passes = [_one_pass(chunks(), totals, some) for some in iter(lambda: tuple(islice(tiles, together)), ())]
    return Wins(*(np.concatenate([vars(wins)[name] for wins in passes], axis=-1) for name in vars(passes[0])))


def _one_pass(chunks: Iterable[Entries], totals: GroupTotals, tiles: Sequence[Tile]) -> Wins:
    n_levels, n_groups = totals.members.shape
    places = [(high, low) for high in range(n_levels) for low in range(high)]
    ends = np.cumsum([tile.shape[1] for tile in tiles]).tolist()
    owns = [slice(end - tile.shape[1], end) for end, tile in zip(ends, tiles, strict=True)]
    seen = np.zeros((n_levels, ends[-1]), dtype=np.int64)
    wins = np.zeros((len(places), ends[-1]), dtype=np.int64)
    ties = [self_ties(totals.lone, tile) for tile in tiles]
    squares, cubes = (np.concatenate(parts) for parts in zip(*ties, strict=True))
    for entries in chunks:
        count = wins_of_blocks(entries, n_levels, n_groups)
        for tile, own in zip(tiles, owns, strict=True):
            rows, found, more_squares, more_cubes = count(tile)
            squares[own] += more_squares
            cubes[own] += more_cubes
            for place, (high, low) in enumerate(places):
                wins[place, own] += found[place] + 2 * rows[high] * seen[low, own]
            seen[:, own] += rows
    inside = cache(totals.pairs_inside)
    copies = [between_copies(inside, tile, 2 * len(places) + 1) for tile in tiles]
    return Wins(seen, wins, squares, cubes, np.concatenate(copies, axis=1))
