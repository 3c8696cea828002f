"""Counts of who scores above whom: what ROC-AUC, Spearman, Kendall and concordance are made of. All are integers.

`Orders` counts, for the rows of each gold level, the rows that they outrank. A level's rank sum is that number, so no
resample needs ranks of its own. `GroupTotals` are what one group's rows contribute: inside the group, and to all.

Two rows of one group are one pair, however often the group is drawn: it counts w, not w squared, in AUC, concordance
and Kendall's tau-b. Copies of a group are one observation drawn again, and a row compared with the copy of another is
a pair that nobody observed. Rank sums have no pairs to leave out: Spearman's rho is that of repeated rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from metaeval.stats.arrays import Floats, Ints, SmallInts, check_rows, column_sum, ratio, strips
from metaeval.stats.resampling import Tile
from metaeval.stats.ties import Entries, run_starts, sorted_by_level


@dataclass(frozen=True, eq=False)
class Orders:
    """Counts for rank correlations under R weightings of the groups, with L gold levels; all are whole numbers.

    A row that scores above another wins two, each of two tied rows one (also a row against itself). rows: (L, R)
    number of rows of each level. over: (L, R) what each level's rows win against all rows. upward: (R,) what all rows
    win against rows of lower levels. squares, cubes: (R,) sums of t**2 and t**3 over blocks of t tied rows. copies:
    (3, R) what pairs between two copies of one group add to `upward`, to the number of pairs of different levels, and
    to twice the number of pairs of different scores.
    """

    rows: Ints
    over: Ints
    upward: Ints
    squares: Ints
    cubes: Floats
    copies: Ints

    def kendall(self) -> Floats:
        """Return Kendall's tau-b of score and level under each weighting, (R,); NaN where either is constant."""
        total, pairs = self.rows.sum(axis=0), self._pairs()
        untied = total * total - self.squares - self.copies[2]
        spread = (np.sqrt(2.0 * pairs) * np.sqrt(1.0 * untied)).astype(np.float64)
        # (concordant - discordant) / sqrt(pairs * untied / 2): `pairs` differ in gold, half of `untied` in score.
        return np.clip(ratio(2 * (self.upward - self.copies[0] - pairs), spread), -1, 1)

    def concordance(self) -> Floats:
        """Return the share of pairs of different levels whose higher level scores higher, ties 1/2; (R,), or NaN."""
        return ratio(self.upward - self.copies[0], 2 * self._pairs())

    def spearman(self) -> Floats:
        """Return Spearman's rho of score and level, midranks for ties, (R,); NaN where either is constant."""
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
        return np.asarray((self.rows * ahead).sum(axis=0) - self.copies[1], dtype=np.int64)


def count_orders(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Orders]:
    """Return a function from group weights (n_groups, R) to the pair counts for rank correlations (`Orders`).

    score, gold, group: (n,). Raises ValueError for NaN, infinity or columns of different lengths.
    """
    check_rows(score, gold, group, n_groups)
    entries, n_levels = sorted_by_level(score, gold, group, n_groups)
    rows_of_level = [np.flatnonzero(entries.level == number) for number in range(n_levels)]
    inside = cache(lambda: group_totals_of(entries, n_levels, n_groups).pairs_inside().T)

    def counted(weights: Ints) -> tuple[Ints, Ints, Ints, Ints, Floats]:
        """Return rows, over, upward, squares and cubes of `Orders`."""
        rows = entries.count[:, None] * weights[entries.group]
        lower = np.zeros((entries.n_blocks, weights.shape[1]), dtype=np.int64)
        upward = np.zeros(weights.shape[1], dtype=np.int64)
        for level in rows_of_level:
            size = np.zeros_like(lower)
            np.add.at(size, entries.block[level], rows[level])
            # Twice the rows of lower levels in lower blocks, plus those in the same one.
            upward += (size * (2 * np.cumsum(lower, axis=0) - lower)).sum(axis=0)
            lower += size
        won = rows * (2 * np.cumsum(lower, axis=0) - lower)[entries.block]
        of_level, over = (
            np.array([values[level].sum(axis=0) for level in rows_of_level]).reshape(n_levels, weights.shape[1])
            for values in (rows, won)
        )
        return of_level, over, upward, (lower * lower).sum(axis=0), column_sum(lower.astype(np.float64) ** 3)

    def evaluate(tile: Tile) -> Orders:
        parts = [counted(tile[:, strip].astype(np.int64)) for strip in strips(tile.shape[1], entries.count.size)]
        rows, over, upward, squares, cubes = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
        copies = np.zeros((3, tile.shape[1]), dtype=np.int64)
        if (tile > 1).any():
            for strip in strips(len(tile), tile.shape[1]):
                weights = tile[strip].astype(np.int64)
                copies += inside()[:, strip] @ (weights * weights - weights)
        return Orders(rows, over, upward, squares, cubes, copies)

    return evaluate


def outranked(entries: Entries, level: int | None = None) -> Ints:
    """Return twice the rows (of `level`, or all) that score lower than each entry, plus the rows tied with it; (m,)."""
    total = _running(entries, level)[entries.start]
    return np.repeat(total[:-1] + total[1:], np.diff(entries.start))


@dataclass(frozen=True, eq=False)
class GroupedEntries:
    """The entries (m,) sorted by group, and within each group in ascending order of score.

    count: number of rows of each. A run is the entries of one group with one score; runs: index of each run's first
    entry. first, end: (m,) where each entry's run begins and ends; opening: (m,) where its group begins.
    """

    group: SmallInts
    level: SmallInts
    count: SmallInts
    block: SmallInts
    runs: SmallInts
    first: SmallInts
    end: SmallInts
    opening: SmallInts

    def outranked(self, level: int | None = None) -> Ints:
        """Return twice the rows (of `level`, or all) of each entry's group that score lower, plus those tied; (m,)."""
        total = _running(self, level)
        return np.asarray(total[self.first] + total[self.end] - 2 * total[self.opening])


def entries_by_group(entries: Entries, n_groups: int) -> GroupedEntries:
    """Return the entries sorted by group, then score; groups are coded 0 .. n_groups - 1."""
    # Numbers of two bytes are sorted several times faster.
    order = np.argsort(entries.group.astype(np.min_scalar_type(n_groups)), kind="stable")
    group, block = entries.group[order], entries.block[order]
    new_group = run_starts(group)
    new_run = new_group | run_starts(block)
    runs, openings = (np.flatnonzero(starts).astype(np.int32) for starts in (new_run, new_group))
    sizes, group_sizes = (np.diff(starts, append=np.int32(order.size)) for starts in (runs, openings))
    first, end, opening = np.repeat(runs, sizes), np.repeat(runs + sizes, sizes), np.repeat(openings, group_sizes)
    return GroupedEntries(group, entries.level[order], entries.count[order], block, runs, first, end, opening)


def _running(entries: Entries | GroupedEntries, level: int | None = None) -> Ints:
    """Return the number of rows (of `level`, or all) before each entry, and of all at the end; (m + 1,)."""
    rows = entries.count if level is None else np.where(entries.level == level, entries.count, 0)
    return np.concatenate(([0], np.cumsum(rows, dtype=np.int64)))


def by_level(values: Ints | SmallInts, level: SmallInts, group: SmallInts, shape: tuple[int, int]) -> Ints:
    """Return the sum of `values` (m,), whole numbers below 2**53, over each level and group, in `shape`: (L, G)."""
    cells = np.bincount(level.astype(np.int64) * shape[1] + group, weights=values, minlength=shape[0] * shape[1])
    return cells.astype(np.int64).reshape(shape)


def level_wins(entries: Entries, n_levels: int, n_groups: int) -> tuple[Ints, Ints]:
    """Return the number of rows of each level in each group, (L, G), and the wins of these rows, (L, L, G).

    wins[h, l, g]: twice the pairs in which a row of level h in group g scores above one of level l, plus ties.
    """
    shape = n_levels, n_groups
    members = by_level(entries.count, entries.level, entries.group, shape)
    wins = [
        by_level(entries.count * outranked(entries, lower), entries.level, entries.group, shape)
        for lower in range(n_levels)
    ]
    return members, np.stack(wins, axis=1) if wins else np.zeros((0, 0, n_groups), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """The contributions of G groups to the counts of L levels.

    A row that scores above another wins two, each of two tied rows one (also a row against itself). members: (L, G)
    number of the group's rows of each level. over: (L, G) what the group's rows of that level win against all rows;
    inside: against rows of the group alone. against: (L, G) what all rows of the group win against all rows of that
    level. downward, upward: (G,) what the group's rows win against rows of lower, and of higher, levels than their own;
    inside_downward: against lower levels in the group alone. squares, cubes: (1 + G,) sums of t**2 and t**3 over blocks
    of t tied rows, of all rows, then without each group in turn. own_squares: (G,) the same t**2 of its own rows.
    """

    members: Ints
    over: Ints
    against: Ints
    inside: Ints
    downward: Ints
    upward: Ints
    inside_downward: Ints
    squares: Ints
    cubes: Floats
    own_squares: Ints

    def orders(self) -> Orders:
        """Return the counts of all rows, then of all rows without each group in turn: `Orders` of 1 + G weightings.

        Without a group, the pairs won by its rows and those won over them are subtracted, and the pairs inside it,
        which are in both, are added again.
        """
        size = self.members.sum(axis=1)[:, None]
        lost = self.over - self.inside + 2 * size * self.members.sum(axis=0) - self.against
        above = size.sum() - np.cumsum(size)[:, None]
        moved = self.downward + 2 * (above * self.members).sum(axis=0) - self.upward - self.inside_downward
        nothing = np.zeros((len(size), 1), dtype=np.int64)
        return Orders(
            size - np.concatenate((nothing, self.members), axis=1),
            self.over.sum(axis=1)[:, None] - np.concatenate((nothing, lost), axis=1),
            self.downward.sum() - np.append(0, moved),
            self.squares,
            self.cubes,
            np.zeros((3, self.squares.size), dtype=np.int64),
        )

    def pairs_inside(self) -> Ints:
        """Return counts of pairs inside each group, (G, 3).

        Of pairs of different levels: twice those that the higher level wins, plus their ties, and their number; then
        twice the pairs of different scores.
        """
        rows = self.members.sum(axis=0)
        unlike = (rows * rows - (self.members * self.members).sum(axis=0)) // 2
        return np.stack((self.inside_downward, unlike, rows * rows - self.own_squares), axis=1)


def group_totals_of(entries: Entries, n_levels: int, n_groups: int) -> GroupTotals:
    """Return what each group's rows contribute to the pair counts; groups are coded 0 .. n_groups - 1."""
    shape = n_levels, n_groups
    group, level, count = entries.group, entries.level, entries.count
    sorted_ = entries_by_group(entries, n_groups)
    against = np.zeros(shape, dtype=np.int64)
    lower, higher, mine_lower = (np.zeros(count.size, dtype=np.int64) for _ in range(3))
    for other in range(n_levels):
        beaten = outranked(entries, other)
        lower += np.where(other < level, beaten, 0)
        higher += np.where(other > level, beaten, 0)
        mine_lower += np.where(other < sorted_.level, sorted_.outranked(other), 0)
        against[other] = _by_group(count * beaten, group, n_groups)
    # Floats: the cube of two million tied rows is not a 64-bit integer.
    tied = np.bincount(entries.block, weights=count, minlength=entries.n_blocks)
    alone = np.add.reduceat(sorted_.count, sorted_.runs, dtype=np.float64)  # rows of one group with one score
    run_group = sorted_.group[sorted_.runs]
    shared = tied[sorted_.block[sorted_.runs]]
    rest = shared - alone
    squares = _by_group(shared**2 - rest**2, run_group, n_groups)
    cubes = np.bincount(run_group, shared**3 - rest**3, n_groups)
    return GroupTotals(
        members=by_level(count, level, group, shape),
        over=by_level(count * outranked(entries), level, group, shape),
        against=against,
        inside=by_level(sorted_.count * sorted_.outranked(), sorted_.level, sorted_.group, shape),
        downward=_by_group(count * lower, group, n_groups),
        upward=_by_group(count * higher, group, n_groups),
        inside_downward=_by_group(sorted_.count * mine_lower, sorted_.group, n_groups),
        squares=int((tied**2).sum()) - np.append(0, squares),
        cubes=float((tied**3).sum()) - np.append(0.0, cubes),
        own_squares=_by_group(alone**2, run_group, n_groups),
    )


def _by_group(values: Ints | Floats, group: SmallInts, n_groups: int) -> Ints:
    return np.bincount(group, values, n_groups).astype(np.int64)
