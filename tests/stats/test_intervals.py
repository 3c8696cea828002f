"""Intervals of any measure under weightings of groups, against what is written out."""

import math

import numpy as np
import pytest
from scipy import stats

from metaeval.citation.measures import AnswerShare, estimate, macro, means, micro
from metaeval.stats.arrays import weighted_sums
from metaeval.stats.influence import COUNTS
from metaeval.stats.intervals import Resampling, intervals

VALUES = np.array([0.1, 0.9, 0.4, 0.6, 0.8, 0.3, 0.7, 0.2, 0.5, 0.95])
ONES = np.ones(10, dtype=np.int64)
EVERY = np.arange(10)


def mean(draws):
    sums = np.stack((VALUES, np.ones(10)), axis=1)
    above, below = np.concatenate([weighted_sums(sums, tile) for tile in draws], axis=1)
    return above / below


def test_t_is_the_cluster_standard_error_on_the_logit_scale():
    (found,) = intervals(mean, ONES, Resampling(), (0.0, 1.0))

    # The jackknife of a mean over equal groups is the textbook's standard error, and each group counts.
    value, error = VALUES.mean(), VALUES.std(ddof=1) / math.sqrt(10)
    middle, unit = math.log(value / (1 - value)), error / (value * (1 - value))
    quantile = stats.t(9).ppf(0.975)
    expected = [1 / (1 + math.exp(-(middle + sign * quantile * unit))) for sign in (-1, 1)]
    assert found.value == pytest.approx(value, abs=1e-15)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)
    assert found.effective == 10

    (plain,) = intervals(mean, ONES, Resampling())
    assert (plain.low, plain.high) == pytest.approx((value - quantile * error, value + quantile * error), abs=1e-12)


def test_means_and_groups_count_what_they_can_show():
    all_supported = estimate(macro([AnswerShare(2, 2)] * 10), EVERY, 10)
    assert (all_supported.low, all_supported.high) == pytest.approx((0.05 ** (1 / 10), 1.0))

    rare = estimate(means([0.0] * 9 + [5.0], COUNTS), EVERY, 10)
    assert (rare.low, rare.value) == (0.0, 0.5)
    assert rare.high > 1
    even = estimate(micro([AnswerShare(k % 2, 2) for k in range(40)]), np.arange(40), 40)
    large = [AnswerShare(60, 120), *(AnswerShare(k % 2, 2) for k in range(39))]
    uneven = estimate(micro(large), np.arange(40), 40)
    assert even.low is not None
    # One answer holds three of five citations: about two effective groups of forty.
    assert (uneven.value, uneven.low) == (pytest.approx((60 + 19) / (120 + 78)), None)
