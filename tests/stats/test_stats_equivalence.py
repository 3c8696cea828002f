"""Equivalence of two metrics: against statsmodels, and the two forms of the test against each other."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.weightstats import ttost_paired

from metaeval.stats.influence import Influence, t_interval, t_test
from metaeval.stats.significance import equivalent_within, tost


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.4, -0.7])
def test_agrees_with_statsmodels(mean):
    sample = np.random.default_rng(0).normal(size=80)
    sample += mean - sample.mean()

    def test(null):
        return ttest_1samp(sample, null).pvalue

    assert tost(mean, 0.4, test) == pytest.approx(ttost_paired(sample, np.zeros(80), -0.4, 0.4)[0], rel=1e-9)


@pytest.mark.parametrize("ends", [None, (-1.0, 1.0), (-2.0, 2.0)])
def test_the_interval_form_decides_as_the_two_tests_do(ends):
    parts = np.random.default_rng(2).normal(size=12) / 50
    for difference in (0.0, 0.05, 0.2, -0.4):
        given = Influence(difference, (parts - parts.mean())[None], np.ones((1, 12), dtype=int), ends)
        for margin in (0.03, 0.1, 0.25, 0.6):
            p = tost(difference, margin, partial(t_test, given))
            # The interval at 1 - 2 p just reaches the margin.
            if 1e-6 < p < 0.49:
                reach = t_interval(given, 1 - 2 * p)
                assert max(abs(reach[0]), abs(reach[1])) == pytest.approx(margin, rel=1e-6)
            assert equivalent_within(t_interval(given, 0.9), margin) == (p < 0.05)


def test_undefined_and_errors():
    assert math.isnan(tost(math.nan, 0.1, lambda null: 0.5))
    assert equivalent_within(None, 0.1) is None
    with pytest.raises(ValueError, match="margin must be positive, got 0"):
        tost(0.0, 0, lambda null: 0.5)
    with pytest.raises(ValueError, match="margin must be positive, got -1"):
        equivalent_within((0.0, 0.1), -1)
