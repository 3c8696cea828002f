"""Measures of classification: ROC-AUC, its curve and average precision of scores, and measures of decided levels.

The last are made of counts of (gold level, predicted level). counts: (..., K, K), gold levels down, predicted levels
across; values: (...). Means over levels, accuracy and `quadratic_kappa` are NaN where a gold level has no rows: a mean
over the levels that happen to be there is another measure. With every gold level present they agree with scikit-learn's
functions with `labels=range(K), zero_division=0`. Counts add up over groups, so a resample is a weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metaeval.stats import arrays
from metaeval.stats.agreement import cohen_kappa
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.influence import Influence
from metaeval.stats.rank_counts import count_orders, level_wins
from metaeval.stats.resampling import Prepared, Tile
from metaeval.stats.ties import block_sizes, sorted_by_level, sorted_entries, tie_blocks


def roc_auc(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Prepared:
    """Return the area under the ROC curve as a function of group weights: (R,).

    It is the chance that a positive scores above a negative, a tie counting one half. score, positive, group: (n,). NaN
    under weights that leave no positive or no negative row. With all weights 1 it is scikit-learn's `roc_auc_score`.
    Base paper, section 3.2.2. Raises ValueError for NaN, infinity or columns of different lengths.
    """
    orders = count_orders(score, positive.astype(np.float64), group, n_groups)
    return Prepared(lambda tile: orders(tile).concordance(), arrays.distinct(group).size)


def auc_influence(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Callable[[int, int], Influence]:
    """Return a function from two level numbers, the positive one first, to the influence values of their ROC-AUC.

    score, gold, group: (n,). Levels are numbered from the lowest gold value, and are the parts of the values. The
    contribution of a row is the share of the other level's rows that it is ordered correctly with, minus the AUC; their
    cluster standard error is Obuchowski's (1997). Raises ValueError as `roc_auc` does.
    """
    arrays.check_rows(score, gold, group, n_groups)
    members, wins = level_wins(*sorted_by_level(score, gold, group, n_groups), n_groups)
    size = members.sum(axis=1)

    def of(higher: int, lower: int) -> Influence:
        pairs = 2.0 * size[higher] * size[lower]
        value = wins[higher, lower].sum() / pairs
        parts, rows = np.zeros(members.shape), np.zeros_like(members)
        rows[[higher, lower]] = members[[higher, lower]]
        parts[higher] = wins[higher, lower] / pairs - value * members[higher] / size[higher]
        won = 2 * size[higher] * members[lower] - wins[lower, higher]
        parts[lower] = won / pairs - value * members[lower] / size[lower]
        return Influence(float(value), parts, rows, (0.0, 1.0))

    return of


def roc_points(score: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Return the points of the ROC curve: false and true positive rates (k,) of every threshold, from (0, 0) to (1, 1).

    Each distinct score is a threshold, and a row is predicted positive where its score is at least the threshold. No
    score may be NaN. Raises `ValueError` where there is no positive or no negative.
    """
    positives = int(np.count_nonzero(positive))
    negatives = positive.size - positives
    if not positives or not negatives:
        raise ValueError(f"a ROC curve needs positives and negatives, got {positives} and {negatives}")
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), ranked.size - 1)
    hits = np.cumsum(positive[order])[last]
    return np.append(0.0, (last + 1 - hits) / negatives), np.append(0.0, hits / positives)


def operating_point(score: Floats, positive: Bools, threshold: float) -> tuple[float, float]:
    """Return (false, true) positive rate of the rule "positive if score >= threshold"; NaN for a class without rows."""
    predicted = score >= threshold
    return float(predicted[~positive].mean()), float(predicted[positive].mean())


def average_precision(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Prepared:
    """Return the average precision as a function of group weights: (R,).

    It is the precision at each distinct score, weighted by the recall that the score adds. score, positive, group:
    (n,). Tied rows enter together, as in scikit-learn's `average_precision_score`. NaN unless there are positive and
    negative rows. Not in the base paper. Raises ValueError as `roc_auc` does.
    """
    arrays.check_rows(score, positive.astype(np.float64), group, n_groups)
    entries = sorted_entries(score, positive.astype(np.int64), group, 2, n_groups)
    count, n_blocks, hit = entries.count, entries.n_blocks, entries.level == 1
    block = n_blocks - 1 - entries.block  # the highest score first
    found_in = block_sizes(block[hit], entries.group[hit], n_blocks, n_groups, count[hit])
    seen_in = block_sizes(block, entries.group, n_blocks, n_groups, count)
    rows, positives = np.bincount(group, minlength=n_groups), np.bincount(group[positive], minlength=n_groups)

    def strip(tile: Tile) -> Floats:
        weights = tile.astype(np.float64)
        hits, seen = found_in(weights), seen_in(weights)
        # Blocks ahead of the first row of a weighting have found nothing among nothing: 0 / 1 instead of 0 / 0.
        precision = np.cumsum(hits, axis=0) / np.maximum(np.cumsum(seen, axis=0), 1)
        return arrays.column_sum(hits * precision)

    def evaluate(tile: Tile) -> Floats:
        total = arrays.in_strips(strip, tile, n_blocks)
        weights = tile.astype(np.int64)
        n_positive, n_rows = positives @ weights, rows @ weights
        value = arrays.ratio(total, n_positive.astype(np.float64))
        value[n_positive == n_rows] = np.nan
        return value

    return Prepared(evaluate, arrays.distinct(group).size)


def average_precision_influence(score: Floats, positive: Bools, group: Ints, n_groups: int) -> Influence:
    """Return influence values of `average_precision` of the same arguments: its derivative in each group's weight."""
    block, n_blocks = tie_blocks(-score)
    hits = np.bincount(block[positive], minlength=n_blocks)
    seen = np.bincount(block, minlength=n_blocks).cumsum()
    precision = hits.cumsum() / seen
    value = float(hits @ precision / positive.sum())
    # A row adds to what is found and seen from its own block on.
    gain = (hits / seen)[::-1].cumsum()[::-1]
    loss = (hits / seen * precision)[::-1].cumsum()[::-1]
    rows = np.where(positive, precision[block] + gain[block] - value, 0.0) - loss[block]
    part = arrays.group_totals(rows / positive.sum(), group, n_groups)
    levels = np.stack([np.bincount(group[of_level], minlength=n_groups) for of_level in (positive, ~positive)])
    return Influence(value, part[None], levels.sum(axis=0)[None], (0.0, 1.0), levels)


def decision_counts(predicted: Ints, gold: Ints, group: Ints, n_groups: int, n_levels: int = 3) -> Floats:
    """Return the number of rows by group, gold level and predicted level, (n_groups, K, K).

    predicted, gold, group: (n,). K is n_levels. Raises ValueError if a level is not in 0 .. K - 1, a group not in 0 ..
    n_groups - 1, or the columns differ in length.
    """
    arrays.check_lengths(predicted=predicted, gold=gold, group=group)
    arrays.check_codes("predicted level", predicted, n_levels)
    arrays.check_codes("gold level", gold, n_levels)
    arrays.check_codes("group", group, n_groups)
    cell = (group * n_levels + gold) * n_levels + predicted
    counts = np.bincount(cell, minlength=n_groups * n_levels * n_levels)
    return counts.reshape(n_groups, n_levels, n_levels).astype(np.float64)


def resampled(counts: Floats, measure: Callable[[Floats], Floats]) -> Prepared:
    """Return a measure, (R, K, K) -> (R,), of counts (G, K, K) added up over groups, as a function of group weights."""
    flat = counts.reshape(counts.shape[0], counts.shape[1] * counts.shape[2])

    def evaluate(tile: Tile) -> Floats:
        # Counts are whole numbers, so their sums are exact in whatever order a matrix product takes them.
        return measure((tile.T.astype(np.float64) @ flat).reshape(-1, *counts.shape[1:]))

    groups = int(np.count_nonzero(counts.sum(axis=(1, 2))))
    return Prepared(evaluate, groups, lambda: measure(counts.sum(axis=0) - counts))


def level_precision(counts: Floats) -> Floats:
    """Return each level's precision, (..., K), NaN (not 0) if never predicted; counts: (..., K, K) gold x predicted."""
    return arrays.ratio(_diagonal(counts), counts.sum(axis=-2))


def level_recall(counts: Floats) -> Floats:
    """Return each level's recall, (..., K), NaN for a level without rows, from counts (..., K, K): gold x predicted."""
    return arrays.ratio(_diagonal(counts), counts.sum(axis=-1))


def level_f1(counts: Floats) -> Floats:
    """Return each level's F1, (..., K), NaN for a level without rows, from counts (..., K, K): gold x predicted."""
    rows = counts.sum(axis=-1)
    return arrays.ratio(2 * _diagonal(counts), np.where(rows > 0, rows + counts.sum(axis=-2), 0))


def accuracy(counts: Floats) -> Floats:
    """Return the accuracy, (...), from counts (..., K, K), gold x predicted; NaN where a gold level has no rows."""
    return _if_complete(counts, share_equal(counts))


def share_equal(counts: Floats) -> Floats:
    """Return the share of rows with equal gold and predicted level, (...), whatever levels occur; NaN without rows."""
    return arrays.ratio(_diagonal(counts).sum(axis=-1), counts.sum(axis=(-2, -1)))


def balanced_accuracy(counts: Floats) -> Floats:
    """Return the unweighted mean of the levels' recalls, (...); NaN where a gold level has no rows."""
    return np.asarray(level_recall(counts).mean(axis=-1))


def macro_f1(counts: Floats) -> Floats:
    """Return the unweighted mean of the levels' F1, (...); NaN where a gold level has no rows."""
    return np.asarray(level_f1(counts).mean(axis=-1))


def quadratic_kappa(counts: Floats) -> Floats:
    """Return Cohen's kappa with quadratic weights, (...), as `weighted_kappa`, but NaN if a gold level has no rows."""
    return _if_complete(counts, weighted_kappa(counts))


def weighted_kappa(counts: Floats) -> Floats:
    """Return Cohen's kappa with quadratic weights, (...): 1 - observed / expected squared distance of level numbers.

    counts: (..., K, K), gold x predicted. NaN where none is expected. Cohen, "Weighted kappa" (1968).
    """
    levels = np.arange(counts.shape[-1], dtype=np.float64)
    return cohen_kappa(counts, (levels[:, None] - levels[None, :]) ** 2)


def _diagonal(counts: Floats) -> Floats:
    return np.diagonal(counts, axis1=-2, axis2=-1)


def _if_complete(counts: Floats, value: Floats) -> Floats:
    return np.where((counts.sum(axis=-1) > 0).all(axis=-1), value, np.nan)
