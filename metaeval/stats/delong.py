"""DeLong's test of two correlated AUCs: a closed-form cross-check of the resampling tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

from metaeval.stats.resample_sums import Bools, Floats
from metaeval.stats.rows import check_finite, check_lengths


@dataclass(frozen=True)
class DeLong:
    """Two AUCs on the same rows, their difference with its variance, and the two-sided z-test; NaN where undefined."""

    auc_one: float
    auc_other: float
    difference: float
    variance: float
    z: float
    p: float


def delong(one: Floats, other: Floats, positive: Bools) -> DeLong:
    """Compare the ROC-AUCs of two scores of the same rows; one, other, positive: (n,).

    DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or more correlated receiver operating
    characteristic curves" (1988), from midranks as in Sun and Xu, "Fast implementation of DeLong's algorithm" (2014).
    Rows count as independent, which rows of one group are not: read it beside a test that resamples groups, not
    instead. AUCs need a positive and a negative, the variance two of each, the test a variance above 0.
    Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_lengths(one=one, other=other, positive=positive.astype(np.int64))
    check_finite("one", one)
    check_finite("other", other)
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    if not n_positive or not n_negative:
        return DeLong(*[math.nan] * 6)
    beaten_one, missed_one = _components(one, positive)
    beaten_other, missed_other = _components(other, positive)
    auc_one, auc_other = float(beaten_one.mean()), float(beaten_other.mean())
    difference = auc_one - auc_other
    variance = _variance_of_mean(beaten_one - beaten_other) + _variance_of_mean(missed_one - missed_other)
    if not variance > 0:
        return DeLong(auc_one, auc_other, difference, variance, math.nan, math.nan)
    z = difference / math.sqrt(variance)
    return DeLong(auc_one, auc_other, difference, variance, z, float(2 * norm.sf(abs(z))))


def _components(score: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Share of negatives below each positive, and share of positives above each negative; ties count one half."""
    ranks = rankdata(score)
    beaten = (ranks[positive] - rankdata(score[positive])) / np.sum(~positive)
    missed = 1 - (ranks[~positive] - rankdata(score[~positive])) / np.sum(positive)
    return np.asarray(beaten), np.asarray(missed)


def _variance_of_mean(values: Floats) -> float:
    if values.size < 2:
        return math.nan
    # The mean of equal values can be off by the last bit, which would make a variance of 1e-33 out of none.
    return 0.0 if np.ptp(values) == 0 else float(values.var(ddof=1)) / values.size
