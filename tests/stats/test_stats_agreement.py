"""The matrix of rank correlations between metrics: against scipy, pair by pair."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from metaeval.stats.agreement import rank_correlation_matrix


def test_agrees_with_scipy_pair_by_pair():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=(5, 80)) + rng.normal(size=80), 1)
    scores[1, rng.random(80) < 0.3] = np.nan
    scores[3, rng.random(80) < 0.3] = np.nan
    matrix = rank_correlation_matrix(scores)
    for i in range(5):
        for j in range(5):
            both = ~np.isnan(scores[i]) & ~np.isnan(scores[j])
            expected = 1.0 if i == j else spearmanr(scores[i, both], scores[j, both])[0]
            assert matrix[i, j] == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(matrix, matrix.T)


def test_undefined_and_edges():
    nan = np.nan
    scores = np.array([[1.0, 2, 3, 4], [5.0, 5, 5, 5], [1.0, 2, nan, nan], [nan, nan, 2, 1], [2.0, 1, nan, nan]])
    matrix = rank_correlation_matrix(scores)
    assert np.isnan(matrix[1]).all()  # a constant, with itself too
    assert np.isnan(matrix[2, 3])  # no row in common
    assert matrix[0, 2] == pytest.approx(1.0, abs=1e-12)
    assert matrix[0, 3] == pytest.approx(-1.0, abs=1e-12)
    assert matrix[2, 4] == pytest.approx(-1.0, abs=1e-12)
    assert rank_correlation_matrix(np.empty((0, 4))).shape == (0, 0)
    assert np.isnan(rank_correlation_matrix(np.empty((2, 0)))).all()
    with pytest.raises(ValueError, match="infinity"):
        rank_correlation_matrix(np.array([[1.0, np.inf]]))
    with pytest.raises(ValueError, match="matrix"):
        rank_correlation_matrix(np.zeros(3))
