"""ROC-AUC and average precision under group weights."""

from __future__ import annotations

import numpy as np

from metaeval.stats.kernels import compiled
from metaeval.stats.level_wins import count_wins
from metaeval.stats.resample_sums import Bools, Floats, Ints, column_sum, in_strips, ratio
from metaeval.stats.resampling import Prepared, Tile
from metaeval.stats.rows import check_rows
from metaeval.stats.ties import block_sizes, run_starts


def roc_auc(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Prepared:
    """Area under the ROC curve: the chance that a positive scores above a negative, a tie counting one half.

    score, positive, group: (n,). Undefined without a positive and a negative. Agrees with scikit-learn's
    `roc_auc_score`. Base paper, section 3.2.2. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    wins = count_wins(score, positive.astype(np.float64), group, n_groups, ties=False)
    both = positive.any() and not positive.all()

    def evaluate(tile: Tile) -> Floats:
        return wins(tile).auc(1, 0) if both else np.full(tile.shape[1], np.nan)

    return Prepared(evaluate, np.unique(group).size)


def average_precision(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Prepared:
    """Average precision: precision at each distinct score, weighted by the recall that the score adds.

    score, positive, group: (n,). Tied rows enter together, as in scikit-learn's `average_precision_score`.
    Undefined without a positive and a negative. Beyond the base paper. Raises ValueError as `roc_auc` does.
    """
    check_rows(score, positive.astype(np.float64), group, n_groups)
    order = np.argsort(-score)
    block = np.cumsum(run_starts(score[order])) - 1
    key = (block * 2 + positive[order]) * n_groups + group[order]
    key.sort()
    starts = np.flatnonzero(run_starts(key))
    count = np.diff(np.append(starts, key.size))
    rest, entry_group = np.divmod(key[starts], max(n_groups, 1))
    block, hit = rest // 2, (rest % 2).astype(np.bool_)
    last = np.append(block[1:] != block[:-1], True)[: block.size]
    n_blocks = int(block[-1]) + 1 if block.size else 0
    found_in = block_sizes(block[hit], entry_group[hit], n_blocks, n_groups, count[hit])
    seen_in = block_sizes(block, entry_group, n_blocks, n_groups, count)
    rows, positives = np.bincount(group, minlength=n_groups), np.bincount(group[positive], minlength=n_groups)

    def by_numpy(tile: Tile) -> Floats:
        weights = tile.astype(np.float64)
        found, seen = found_in(weights), seen_in(weights)
        # Blocks ahead of the first row of a weighting have found nothing among nothing: 0 / 1 instead of 0 / 0.
        precision = np.cumsum(found, axis=0) / np.maximum(np.cumsum(seen, axis=0), 1)
        return column_sum(found * precision)

    def evaluate(tile: Tile) -> Floats:
        loops = compiled(block.size * tile.shape[1])
        if loops is None:
            total = in_strips(by_numpy, tile, n_blocks)
        else:
            total = np.zeros(tile.shape[1])
            loops.sum_precision(entry_group, hit, count, last, tile, total)
        weights = tile.astype(np.int64)
        n_positive, n_rows = positives @ weights, rows @ weights
        value = ratio(total, n_positive.astype(np.float64))
        value[n_positive == n_rows] = np.nan
        return value

    return Prepared(evaluate, np.unique(group).size)
