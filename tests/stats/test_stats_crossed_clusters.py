"""Two-way cluster variances against statsmodels', nested clusterings, and the guard against negative variances."""

import numpy as np
import pytest

from metaeval.stats.arrays import group_totals, numbered
from metaeval.stats.crossed_clusters import CrossedInfluence, crossed_influence
from metaeval.stats.influence import Influence, minus_known, t_interval, t_test
from metaeval.stats.intervals import DEFAULT, studentised


def of_mean(values, code):
    """The influence values of a mean: the deviations from it over the number of rows."""
    part = group_totals((values - values.mean()) / values.size, code, int(code.max()) + 1)
    return Influence(float(values.mean()), part[None], np.bincount(code)[None])


def two_way(values, group, other):
    shared, _ = numbered(group * (int(other.max()) + 1) + other)
    return crossed_influence(*(of_mean(values, code) for code in (group, other, shared)))


def rows(seed, n=200, groups=17, others=9):
    rng = np.random.default_rng(seed)
    group, other = rng.integers(groups, size=n), rng.integers(others, size=n)
    shift = rng.normal(size=groups)[group] + 0.7 * rng.normal(size=others)[other]
    return shift + rng.normal(size=n), group, other


@pytest.mark.parametrize("seed", range(5))
def test_two_way_variance_of_a_mean_is_that_of_statsmodels(seed):
    sm = pytest.importorskip("statsmodels.api")
    values, group, other = rows(seed)
    model = sm.OLS(values, np.ones((values.size, 1)))
    fitted = model.fit(cov_type="cluster", cov_kwds={"groups": np.c_[group, other]})
    assert two_way(values, group, other).standard_error ** 2 == pytest.approx(fitted.cov_params()[0, 0], rel=1e-12)


def test_the_largest_variance_of_one_clustering_where_the_two_way_variance_is_smaller():
    # Deviations of two rows and two columns, 1, -1 / -1, 1: every group and every other cluster sums to 0, so the
    # two-way variance is 0 + 0 - 4/3 * 4 * (1/4)^2 < 0.
    values = np.array([1.0, -1.0, -1.0, 1.0])
    influence = two_way(values, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert influence.shared.standard_error**2 == pytest.approx(4 / 3 * 4 / 16)
    assert influence.standard_error == 0


@pytest.mark.parametrize("outer_first", [True, False])
def test_of_nested_clusters_the_outer_counts(outer_first):
    values, inner, _ = rows(3)
    outer = inner % 5
    influence = two_way(values, *((outer, inner) if outer_first else (inner, outer)))
    alone = of_mean(values, outer)
    assert influence.standard_error == pytest.approx(alone.standard_error, rel=1e-12)
    assert influence.effective_groups == alone.effective_groups


def test_degrees_of_freedom_are_those_of_the_smaller_effective_number():
    values, group, other = rows(1)
    influence = two_way(values, group, other)
    numbers = [clustering.effective_groups for clustering in influence.clusterings]
    assert influence.effective_groups == min(numbers) < max(numbers)
    found = studentised(influence.value, influence, influence.groups, DEFAULT)
    assert (found.interval, found.note, found.effective) == (t_interval(influence, 0.95), "", min(numbers))
    values, group, other = rows(1)
    assert np.isnan(two_way(values, group, np.zeros_like(other)).standard_error)


def test_differences_keep_both_clusterings():
    (values, group, other), (values_of_other, _, _) = rows(1), rows(2)
    apart = two_way(values, group, other) - two_way(values_of_other, group, other)
    whole = two_way(values - values_of_other, group, other)
    assert isinstance(apart, CrossedInfluence)
    assert apart.standard_error == pytest.approx(whole.standard_error, rel=1e-12)
    assert t_test(apart) == pytest.approx(t_test(whole), rel=1e-9)
    assert minus_known(apart, 0.25).standard_error == apart.standard_error


def test_at_an_end_of_the_range_the_fewer_clusters_count():
    codes = np.repeat(np.arange(40), 12), np.tile(np.arange(12), 40), np.arange(480)
    by_clustering = (np.bincount(code)[None] for code in codes)
    influence = crossed_influence(*(Influence(1.0, 0.0 * rows, rows, (0.0, 1.0)) for rows in by_clustering))
    assert t_interval(influence, 0.95) == (pytest.approx(0.05 ** (1 / 12)), 1.0)
