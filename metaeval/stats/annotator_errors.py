"""The errors of annotators: how probable each level is given all votes, and how reliable the mean of votes is.

Dawid and Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm" (1979): every annotator
has a rate at which each true level is given each vote; rates, shares of the levels and their probabilities by item are
estimated together. Shrout and Fleiss, "Intraclass correlations" (1979), for the reliability.
"""

from __future__ import annotations

import numpy as np

from metaeval.stats.arrays import Floats, Ints, group_totals
from metaeval.stats.influence import SHARES, Influence, of_rows
from metaeval.stats.ties import tie_blocks

_ROUNDS, _CLOSE, _LEAST = 1000, 1e-9, 1e-10


def level_probabilities(votes: Floats) -> Floats:
    """Return the probability of each of the K levels that were voted for, ascending, given all votes: (n, K).

    votes: (n, A) of n items and A annotators, NaN where an annotator gave none; the K distinct votes are the columns.
    The EM algorithm starts from the shares of votes. An item without a vote has a row of NaN.
    """
    there = ~np.isnan(votes)
    item, annotator = np.nonzero(there)
    vote, levels = tie_blocks(votes[there])
    shares = np.zeros((votes.shape[0], levels))
    np.add.at(shares, (item, vote), 1.0)
    known = there.any(axis=1)
    probability = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)
    for _ in range(_ROUNDS):
        before = probability
        # rate[a, k, l]: annotator a's share of votes l on items of level k.
        rate = np.zeros((votes.shape[1], levels, levels))
        np.add.at(rate.transpose(0, 2, 1), (annotator, vote), probability[item])
        rate /= np.maximum(rate.sum(axis=2, keepdims=True), _LEAST)
        fit = np.tile(np.log(np.maximum(probability[known].mean(axis=0), _LEAST)), (votes.shape[0], 1))
        np.add.at(fit, item, np.log(np.maximum(rate[annotator, :, vote], _LEAST)))
        probability = np.exp(fit - fit.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        if np.abs(probability - before)[known].max(initial=0.0) < _CLOSE:
            break
    probability[~known] = np.nan
    return np.asarray(probability)


def weighted_area(score: Floats, positive: Floats, group: Ints, n_groups: int) -> Influence | None:
    """Return the ROC-AUC of items that are positive with probability `positive`, (n,), with its influence values.

    Each item counts as a positive with weight p and as a negative with weight 1 - p, as in scikit-learn's
    `roc_auc_score` with `sample_weight` on two copies of it. None where all p are 0, or all are 1.
    """
    totals = float(positive.sum()), float((1 - positive).sum())
    if min(totals) <= 0:
        return None
    block, n_blocks = tie_blocks(score)
    of_block = np.bincount(block, positive, n_blocks), np.bincount(block, 1 - positive, n_blocks)
    # The weight on lower scores, and half of that on equal ones.
    negatives_below = (of_block[1].cumsum() - of_block[1] / 2)[block] / totals[1]
    positives_above = (totals[0] - of_block[0].cumsum() + of_block[0] / 2)[block] / totals[0]
    area = float((positive * negatives_below).sum() / totals[0])
    contributions = positive * (negatives_below - area) / totals[0]
    contributions += (1 - positive) * (positives_above - area) / totals[1]
    return of_rows(area, contributions, group, n_groups, SHARES)


def mean_reliability(votes: Floats) -> float:
    """Return the reliability of the mean of an item's votes, ICC(1,k): at most 1, below 0 for less than chance.

    votes: (n, A), NaN where an annotator gave none. The result is NaN with fewer than two items that have votes,
    without an item that has two, or where the items' means are all equal. With unequal numbers of votes the variance of
    true values is from the one-way analysis of variance, and the error of the mean is averaged over the items.
    """
    there = ~np.isnan(votes)
    number = there.sum(axis=1)
    held = number > 0
    item = np.nonzero(there[held])[0].astype(np.int64)
    values, number = votes[held][there[held]], number[held]
    items, total = number.size, int(number.sum())
    if items < 2 or total <= items:
        return float("nan")
    mean = group_totals(values, item, items) / number
    within = float(((values - mean[item]) ** 2).sum()) / (total - items)
    between = float((number * (mean - values.mean()) ** 2).sum()) / (items - 1)
    each = (total - float((number**2).sum()) / total) / (items - 1)
    variance = (between - within) / each
    whole = variance + within * float((1 / number).mean())
    return variance / whole if whole > 0 else float("nan")
