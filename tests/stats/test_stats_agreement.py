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
