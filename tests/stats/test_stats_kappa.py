"""Cohen's and Fleiss' kappa against scikit-learn and statsmodels."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from metaeval.stats.agreement import cohen_kappa, fleiss_by_groups
from metaeval.stats.resampling import value


def fleiss_kappa(counts):
    return value(fleiss_by_groups(counts, np.zeros(len(counts), dtype=np.int64), 1), 1)


def counts_of(one, other, k):
    return np.bincount(one * k + other, minlength=k * k).reshape(k, k).astype(float)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_cohen_is_scikit_learns(k, seed):
    generator = np.random.default_rng(seed)
    one = generator.integers(k, size=40)
    other = np.where(generator.random(40) < 0.6, one, generator.integers(k, size=40))
    expected = cohen_kappa_score(one, other, labels=range(k))
    assert cohen_kappa(counts_of(one, other, k)) == pytest.approx(expected, abs=1e-12)


def test_cohen_of_a_stack_is_that_of_each_table_and_fleiss_may_be_undefined():
    tables = np.random.default_rng(3).integers(1, 9, size=(4, 2, 3, 3)).astype(float)
    each = [[float(cohen_kappa(tables[i, j])) for j in range(2)] for i in range(4)]
    np.testing.assert_array_equal(cohen_kappa(tables), each)
    assert np.isnan(fleiss_kappa(np.array([[3.0, 0.0], [3.0, 0.0]])))
    assert np.isnan(fleiss_kappa(np.zeros((0, 2))))


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_is_statsmodels(seed):
    generator = np.random.default_rng(seed)
    counts = np.stack([np.bincount(generator.integers(4, size=6), minlength=4) for _ in range(25)]).astype(float)
    assert fleiss_kappa(counts) == pytest.approx(fleiss_of_statsmodels(counts, method="fleiss"), abs=1e-12)
