"""Equivalence of two metrics: against statsmodels, and the two forms of the test against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.weightstats import ztost

from metaeval.stats.resampling import percentile_interval
from metaeval.stats.significance import equivalent_within, tost


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.4, -0.7])
def test_agrees_with_statsmodels(mean):
    sample = np.random.default_rng(0).normal(size=80)
    sample += mean - sample.mean()
    error = sample.std(ddof=1) / math.sqrt(80)
    assert tost(mean, error, 0.4) == pytest.approx(ztost(sample, -0.4, 0.4)[0], rel=1e-9)


def test_the_interval_form_decides_as_the_two_tests_do():
    # Replicates on a fine grid of normal quantiles: their percentiles are those of the normal distribution.
    grid = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    for difference in (0.0, 0.2, 0.5, -0.9):
        for margin in (0.5, 1.7, 2.0, 2.6):
            p = tost(difference, 1.0, margin)
            ends = percentile_interval(difference + grid, 0.9)
            assert equivalent_within(ends, margin) == (p < 0.05)


def test_undefined_and_errors():
    assert math.isnan(tost(math.nan, 0.1, 0.1))
    assert math.isnan(tost(0.1, math.nan, 0.1))
    assert equivalent_within(None, 0.1) is None
    with pytest.raises(ValueError, match="margin must be positive, got 0"):
        tost(0.0, 0.1, 0)
    with pytest.raises(ValueError, match=r"standard error must be positive, got 0\.0"):
        tost(0.0, 0.0, 0.1)
    with pytest.raises(ValueError, match="margin must be positive, got -1"):
        equivalent_within((0.0, 0.1), -1)
