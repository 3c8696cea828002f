"""Curves of scores against outcomes: the ROC's points and one threshold's point on it."""

from __future__ import annotations

import numpy as np

from metaeval.stats.arrays import Bools, Floats


def roc_points(score: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """False and true positive rates (k,) of every threshold, from (0, 0) to (1, 1); the area below is the ROC-AUC.

    A positive is found where its score is at least the threshold; rows of one score are found together. Rows without a
    score are not allowed. Raises `ValueError` where there is no positive or no negative.
    """
    positives = int(np.count_nonzero(positive))
    negatives = positive.size - positives
    if not positives or not negatives:
        raise ValueError(f"a ROC curve needs positives and negatives, got {positives} and {negatives}")
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), ranked.size - 1)
    found = np.cumsum(positive[order])[last]
    return np.append(0.0, (last + 1 - found) / negatives), np.append(0.0, found / positives)


def operating_point(score: Floats, positive: Bools, threshold: float) -> tuple[float, float]:
    """False and true positive rate of "a score of at least the threshold is a positive"."""
    found = score >= threshold
    return float(found[~positive].mean()), float(found[positive].mean())
