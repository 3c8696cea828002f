"""Spearman's rho and Kendall's tau-b under group weights, exactly as if rows were repeated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats as scipy_stats

from metaeval.stats.columns import Floats, Ints, column_sum, in_strips, ratio
from metaeval.stats.draws import Prepared, Tile
from metaeval.stats.level_wins import MAX_LEVELS, count_wins
from metaeval.stats.rows import check_rows
from metaeval.stats.ties import block_sizes, centred_midranks, tie_blocks

FEW_LEVELS = 64
"""Up to this many distinct gold values Kendall's tau takes one cumulative count per value."""


def rank_correlations(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Spearman's rho and Kendall's tau-b of score and gold, (n,) each; evaluates to (2, R).

    Undefined where the score or the gold is constant. Agrees with scipy's `spearmanr` and `kendalltau` on repeated
    rows. Base paper, section 3.2.1. With more than 64 gold values Kendall sorts each resample anew.
    Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_rows(score, gold, group, n_groups)
    groups = np.unique(group).size
    if np.unique(gold).size <= MAX_LEVELS:
        wins = count_wins(score, gold, group, n_groups)

        def evaluate(tile: Tile) -> Floats:
            counted = wins(tile)
            return np.stack((counted.spearman(), counted.kendall()))

        return Prepared(evaluate, groups)
    by_rank, by_order = _spearman(score, gold, group, n_groups), _kendall(score, gold, group, n_groups)
    return Prepared(lambda tile: np.stack((by_rank(tile), by_order(tile))), groups)


def _spearman(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Floats]:
    block, n_blocks = tie_blocks(score)
    level, n_levels = tie_blocks(gold)
    by_score = block_sizes(block, group, n_blocks, n_groups)
    by_gold = block_sizes(level, group, n_levels, n_groups)
    # Rows alike in score, gold and group always move together: one cell with a count stands for them.
    cell, count = np.unique((block * n_levels + level) * n_groups + group, return_counts=True)
    cell, cell_group = np.divmod(cell, max(n_groups, 1))
    cell_block, cell_level = np.divmod(cell, max(n_levels, 1))

    def evaluate(tile: Tile) -> Floats:
        weights = tile.astype(np.float64)
        sizes, level_sizes = by_score(weights), by_gold(weights)
        ranks, level_ranks = centred_midranks(sizes), centred_midranks(level_sizes)
        products = ranks[cell_block]
        products *= level_ranks[cell_level]
        products *= weights[cell_group]
        products *= count[:, None]
        spread = np.sqrt(column_sum(sizes * ranks**2)) * np.sqrt(column_sum(level_sizes * level_ranks**2))
        return np.clip(ratio(column_sum(products), spread), -1, 1)

    return lambda tile: in_strips(evaluate, tile, cell.size)


def _kendall(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Floats]:
    """Kendall's tau-b: (concordant - discordant) / geometric mean of untied pairs."""
    level, n_levels = tie_blocks(gold)
    if n_levels > FEW_LEVELS:
        return _kendall_by_sorting(score, gold, group)
    block, n_blocks = tie_blocks(score)
    by_level = [
        block_sizes(block[level == value], group[level == value], n_blocks, n_groups) for value in range(n_levels)
    ]

    def evaluate(tile: Tile) -> Floats:
        weights = tile.astype(np.float64)
        seen = np.zeros((n_blocks, weights.shape[1]))  # rows of the lower gold levels, per score block
        n_rows, surplus, gold_ties = np.zeros((3, weights.shape[1]))
        for level_sizes in by_level:
            sizes = level_sizes(weights)
            size = column_sum(sizes)
            if n_rows.any():
                # Of the `size * n_rows` pairs with a lower level, `wins` are concordant (a score tie counts one
                # half on either side), so concordant - discordant = 2 * wins - all.
                beaten = np.cumsum(seen, axis=0)
                beaten -= seen / 2
                surplus += 2 * column_sum(sizes * beaten) - size * n_rows
            gold_ties += size * (size - 1)
            n_rows += size
            seen += sizes
        pairs = n_rows * (n_rows - 1)
        score_ties = column_sum(seen * (seen - 1))
        spread = np.sqrt(pairs - gold_ties) * np.sqrt(pairs - score_ties)
        return np.clip(ratio(2 * surplus, spread), -1, 1)

    return lambda tile: in_strips(evaluate, tile, n_blocks)


def _kendall_by_sorting(score: Floats, gold: Floats, group: Ints) -> Callable[[Tile], Floats]:
    def one(weights: Tile) -> float:
        repeats = weights[group].astype(np.int64)
        x, y = np.repeat(score, repeats), np.repeat(gold, repeats)
        if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return float("nan")
        return float(scipy_stats.kendalltau(x, y).statistic)

    def evaluate(tile: Tile) -> Floats:
        return np.array([one(column) for column in tile.T])

    return evaluate
