"""Calibration: fits and measures against scikit-learn, and no row that calibrates itself."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from metaeval.stats import decisions


def _rows(seed, n, decimals=9):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    return np.round(positive + rng.normal(size=n), decimals), positive, rng.integers(0, n // 5, size=n)


@pytest.mark.parametrize("decimals", [0, 9])
def test_isotonic_agrees_with_scikit_learn(decimals):
    score, positive, _ = _rows(0, 300, decimals)
    new = np.linspace(-6, 6, 101)
    expected = IsotonicRegression(out_of_bounds="clip").fit(score, positive).predict(new)
    assert decisions.fit_isotonic(score, positive, new) == pytest.approx(expected, abs=1e-12)


def test_no_row_calibrates_itself():
    score, positive, group = _rows(2, 150)
    probability = decisions.calibrated(score, positive, group, folds=3, seed=6)
    assert np.all((probability >= 0) & (probability <= 1))
    fold = decisions.group_folds(group, 3, seed=6)
    for held_out in range(3):
        test = fold == held_out
        again = decisions.calibrated(score, positive ^ test, group, folds=3, seed=6)
        assert again[test].tolist() == probability[test].tolist()
        assert again[~test].tolist() != probability[~test].tolist()


@pytest.mark.parametrize("bins", [1, 2, 10, 15])
def test_reliability_agrees_with_scikit_learn(bins):
    rng = np.random.default_rng(bins)
    # Rounded to 2 decimals, so that many lie on an edge, 0 and 1 among them.
    probability = np.concatenate(([0.0, 1.0], np.round(rng.beta(0.6, 1.4, size=200), 2)))
    positive = rng.random(202) < probability
    stated, found, rows = decisions.reliability(probability, positive, bins)
    rate, mean = calibration_curve(positive, probability, n_bins=bins)
    assert found[rows > 0] == pytest.approx(rate, abs=1e-12)
    assert stated[rows > 0] == pytest.approx(mean, abs=1e-12)
    assert rows.sum() == 202
    error = np.sum(rows[rows > 0] / 202 * np.abs(rate - mean))
    assert decisions.expected_calibration_error(probability, positive, bins) == pytest.approx(error, abs=1e-12)
    assert decisions.brier(probability, positive) == pytest.approx(brier_score_loss(positive, probability), abs=1e-12)
