"""DeLong's test: a published example, and the definition row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from metaeval.stats.significance import delong


def _by_definition(one, other, positive):
    """Equations 3 to 5 of DeLong et al. (1988): structural components from all pairs, and their covariances."""

    def components(score):
        wins = np.array([[(x > y) + 0.5 * (x == y) for y in score[~positive]] for x in score[positive]])
        return wins.mean(axis=1), wins.mean(axis=0)

    (a, b), (c, d) = components(one), components(other)
    s10, s01 = np.cov(a, c), np.cov(b, d)
    covariance = s10 / positive.sum() + s01 / (~positive).sum()
    return a.mean(), c.mean(), covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]


def test_published_standard_error_of_one_auc():
    # Ratings 1 .. 5 of 58 normal and 51 abnormal images: Hanley and McNeil, Radiology 143 (1982), table I. Area 0.8932,
    # standard error 0.0307: Stata's manual, [R] roctab, whose default is DeLong's. A constant adds no variance.
    score = np.repeat(np.array([1.0, 2, 3, 4, 5] * 2), [33, 6, 6, 11, 2, 3, 2, 2, 11, 33])
    positive = np.arange(109) >= 58
    result = delong(score, np.zeros(109), positive)
    assert round(result.auc_one, 4) == 0.8932
    assert round(math.sqrt(result.variance), 4) == 0.0307
    assert result.auc_other == 0.5


@pytest.mark.parametrize(("n", "decimals"), [(4, 0), (30, 0), (30, 9), (120, 1)])
def test_agrees_with_the_definition(n, decimals):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        positive = np.arange(n) % 3 == 0
        one = np.round(positive + rng.normal(size=n), decimals)
        other = np.round(one + rng.normal(size=n), decimals)
        result = delong(one, other, positive)
        auc_one, auc_other, variance = _by_definition(one, other, positive)
        assert result.auc_one == pytest.approx(roc_auc_score(positive, one), abs=1e-12)
        assert result.difference == pytest.approx(auc_one - auc_other, abs=1e-12)
        assert result.variance == pytest.approx(variance, abs=1e-12)
        assert result.z == pytest.approx((auc_one - auc_other) / math.sqrt(variance), abs=1e-9)
        assert result.p == pytest.approx(2 * norm.cdf(-abs(result.z)), rel=1e-9)


def test_undefined():
    score = np.array([1.0, 2, 3, 4])
    assert math.isnan(delong(score, -score, np.zeros(4, dtype=bool)).auc_one)
    one_positive = delong(score, -score, np.array([False, False, False, True]))
    assert one_positive.difference == 1.0
    assert math.isnan(one_positive.variance)
    alike = delong(score, score * 7, np.array([False, True, False, True]))
    assert (alike.difference, alike.variance) == (0.0, 0.0)
    assert math.isnan(alike.p)
    # A perfect score v. a constant: every component differs by 1/2, so nothing varies and nothing can be tested.
    positive = np.arange(300) < 30
    certain = delong(positive.astype(float), np.zeros(300), positive)
    assert (certain.difference, certain.variance) == (0.5, 0.0)
    assert math.isnan(certain.p)
    with pytest.raises(ValueError, match="one must be finite"):
        delong(np.array([1.0, np.nan]), np.array([1.0, 2]), np.array([True, False]))
