"""ROC-AUC and average precision under group weights."""

from __future__ import annotations

import numpy as np

from metaeval.stats.columns import Bools, Floats, Ints, column_sum, ratio
from metaeval.stats.resampling import Prepared
from metaeval.stats.rows import check_rows
from metaeval.stats.ties import block_sizes, tie_blocks


def roc_auc(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Prepared:
    """Area under the ROC curve: the chance that a positive scores above a negative, a tie counting one half.

    score, positive, group: (n,). Undefined without a positive and a negative. Agrees with scikit-learn's
    `roc_auc_score`. Base paper, section 3.2.2. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_rows(score, positive.astype(np.float64), group, n_groups)
    block, n_blocks = tie_blocks(score)
    positives = block_sizes(block[positive], group[positive], n_blocks, n_groups)
    negatives = block_sizes(block[~positive], group[~positive], n_blocks, n_groups)

    def evaluate(weights: Floats) -> Floats:
        above, below = positives(weights), negatives(weights)
        beaten = np.cumsum(below, axis=0)
        beaten -= below / 2
        return ratio(column_sum(above * beaten), column_sum(above) * column_sum(below))

    return Prepared(evaluate, n_blocks, np.unique(group).size)


def average_precision(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Prepared:
    """Average precision: precision at each distinct score, weighted by the recall that the score adds.

    score, positive, group: (n,). Tied rows enter together, as in scikit-learn's `average_precision_score`.
    Undefined without a positive and a negative. Beyond the base paper. Raises ValueError as `roc_auc` does.
    """
    check_rows(score, positive.astype(np.float64), group, n_groups)
    block, n_blocks = tie_blocks(-score)
    positives = block_sizes(block[positive], group[positive], n_blocks, n_groups)
    everything = block_sizes(block, group, n_blocks, n_groups)

    def evaluate(weights: Floats) -> Floats:
        found, seen = positives(weights), everything(weights)
        n_positive, n_rows = column_sum(found), column_sum(seen)
        retrieved = np.cumsum(seen, axis=0)
        # Blocks ahead of the first row of a resample have found nothing among nothing: 0 / 1 instead of 0 / 0.
        precision = np.cumsum(found, axis=0) / np.maximum(retrieved, 1)
        value = ratio(column_sum(found * precision), n_positive)
        value[n_positive == n_rows] = np.nan
        return value

    return Prepared(evaluate, n_blocks, np.unique(group).size)
