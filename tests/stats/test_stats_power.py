"""The power planner: against statsmodels, and its own inverse."""

import numpy as np
import pytest
from statsmodels.stats.power import normal_power

from metaeval.stats.significance import power_at, required_groups


def test_agrees_with_statsmodels():
    # Of a one-sample z-test with effect d in units of one group's deviation: error = 1 / sqrt(groups).
    for difference, n_groups in [(0.1, 400), (0.3, 50), (0.02, 1000), (0.0, 500)]:
        expected = normal_power(difference, n_groups, 0.05, alternative="two-sided")
        assert power_at(difference, 1 / np.sqrt(80), 80, n_groups) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.95), (0.1, 0.5)])
def test_the_two_functions_are_inverses(alpha, power):
    n_groups = required_groups(0.04, 0.03, 60, alpha, power)
    assert power_at(0.04, 0.03, 60, n_groups, alpha) >= power
    # The far tail is at most the .05 that alpha / 2 allows, at these powers far less: one group fewer is too few.
    assert power_at(0.04, 0.03, 60, n_groups - 1, alpha) < power + 1e-3
