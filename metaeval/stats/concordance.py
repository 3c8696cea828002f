"""Concordance under group weights: ROC-AUC for gold with more than two values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metaeval.stats.columns import Floats, Ints, column_sum, in_strips, ratio
from metaeval.stats.draws import Prepared, Tile
from metaeval.stats.level_wins import MAX_LEVELS, count_wins
from metaeval.stats.rank_correlation import rank_correlations
from metaeval.stats.rows import check_rows
from metaeval.stats.ties import block_sizes, tie_blocks


def concordance(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Of the pairs of rows with unlike gold, the share in which the higher gold has the higher score, ties one half.

    score, gold, group: (n,). With two gold values it is ROC-AUC, with survival times without censoring Harrell's C.
    Undefined where the gold is constant. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_rows(score, gold, group, n_groups)
    groups = np.unique(group).size
    if np.unique(gold).size <= MAX_LEVELS:
        wins = count_wins(score, gold, group, n_groups, ties=False)

        def few(tile: Tile) -> Floats:
            counted = wins(tile)
            levels = range(len(counted.rows))
            pairs = sum((counted.rows[h] * counted.rows[m] for h in levels for m in range(h)), np.zeros(tile.shape[1]))
            return ratio(counted.wins.sum(axis=0).astype(np.float64), 2 * pairs)

        return Prepared(few, groups)
    # tau-b is (concordant - discordant) / sqrt(pairs untied in the gold * pairs untied in the score).
    correlations = rank_correlations(score, gold, group, n_groups)
    by_score, by_gold = _untied(score, group, n_groups), _untied(gold, group, n_groups)

    def many(tile: Tile) -> Floats:
        tau = correlations.evaluate(tile)[1]
        in_score, in_gold = by_score(tile), by_gold(tile)
        surplus = np.where(in_score > 0, tau * np.sqrt(ratio(in_score, in_gold)), np.where(in_gold > 0, 0.0, np.nan))
        return (1 + surplus) / 2

    return Prepared(many, groups)


def _untied(values: Floats, group: Ints, n_groups: int) -> Callable[[Tile], Floats]:
    block, n_blocks = tie_blocks(values)
    sizes = block_sizes(block, group, n_blocks, n_groups)

    def pairs(tile: Tile) -> Floats:
        size = sizes(tile.astype(np.float64))
        return column_sum(size) ** 2 - column_sum(size**2)

    return lambda tile: in_strips(pairs, tile, n_blocks)
