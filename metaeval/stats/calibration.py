"""Scores as probabilities: out-of-fold calibration, and how far a stated probability is from the rate found."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit

from metaeval.stats.arrays import Bools, Floats, Ints, check_finite, check_lengths, ratio
from metaeval.stats.decisions import group_folds
from metaeval.stats.ties import tie_blocks

Method = Literal["isotonic", "logistic"]


def calibrated(
    score: Floats, positive: Bools, group: Ints, method: Method = "isotonic", folds: int = 5, seed: int = 0
) -> Floats:
    """Out-of-fold chance that each row is positive, (n,), fitted on the groups of all other folds.

    score, positive, group: (n,). Raises ValueError on NaN, infinity, unlike lengths, or as `group_folds` does.
    """
    check_lengths(score=score, positive=positive.astype(np.int64), group=group)
    check_finite("score", score)
    fold = group_folds(group, folds, seed)
    fit = fit_isotonic if method == "isotonic" else fit_logistic
    probability = np.empty(score.size)
    for held_out in range(folds):
        test = fold == held_out
        probability[test] = fit(score[~test], positive[~test], score[test])
    return probability


def fit_isotonic(score: Floats, positive: Bools, new: Floats) -> Floats:
    """Chance of positive at the `new` scores (m,) from the best rising step fit to score, positive (n,); (m,).

    Pool-adjacent-violators on the distinct scores, linear in between, flat beyond the ends, as scikit-learn's
    `IsotonicRegression(out_of_bounds="clip")`.
    """
    block, n_blocks = tie_blocks(score)
    rows = np.bincount(block, minlength=n_blocks).astype(np.float64)
    rate = np.bincount(block, weights=positive, minlength=n_blocks) / rows
    return np.interp(new, np.unique(score), isotonic_regression(rate, weights=rows).x)


def fit_logistic(score: Floats, positive: Bools, new: Floats) -> Floats:
    """Chance of positive at the `new` scores (m,) from a logistic curve fitted to score, positive (n,); (m,).

    The slope on the standardised score carries scikit-learn's default penalty, slope**2 / 2, without which separable
    rows have no fit. One class alone, or a constant score, gives its rate.
    """
    rate = float(positive.mean())
    if np.ptp(score) == 0 or rate in (0.0, 1.0):
        return np.full(new.size, rate)
    mean, spread = score.mean(), score.std()
    x = np.stack((np.ones(score.size), (score - mean) / spread), axis=1)
    beta = np.array([np.log(rate / (1 - rate)), 0.0])
    penalty = np.array([0.0, 1.0])

    def loss(at: Floats) -> float:
        margin = x @ at
        return float(np.sum(np.logaddexp(0, margin) - positive * margin) + penalty @ at**2 / 2)

    for _ in range(100):
        p = expit(x @ beta)
        gradient = x.T @ (p - positive) + penalty * beta
        if np.abs(gradient).max() < 1e-10 * score.size:
            break
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        # The loss is convex: a Newton step halved often enough lowers it.
        shorter = next((0.5**k for k in range(40) if loss(beta - 0.5**k * step) <= loss(beta)), 0.0)
        beta = beta - shorter * step
    return np.asarray(expit(beta[0] + beta[1] * (new - mean) / spread))


def reliability(probability: Floats, positive: Bools, bins: int = 10) -> tuple[Floats, Floats, Ints]:
    """Mean probability, rate of positives and rows of `bins` equal bins of 0 .. 1, (bins,) each; NaN in empty bins.

    probability, positive: (n,). A bin holds its upper end, the first one also 0, as in scikit-learn's
    `calibration_curve`. Raises ValueError if bins < 1, a probability leaves 0 .. 1, or on unlike lengths.
    """
    _check(probability, positive)
    if bins < 1:
        raise ValueError(f"the number of bins must be at least 1, got {bins}")
    number = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], probability)
    rows = np.bincount(number, minlength=bins)
    stated, found = (
        np.asarray(np.bincount(number, weights=values, minlength=bins), dtype=np.float64)
        for values in (probability, positive)
    )
    held = rows.astype(np.float64)
    return ratio(stated, held), ratio(found, held), rows


def brier(probability: Floats, positive: Bools) -> float:
    """Mean squared distance of probability (n,) and outcome (n,); NaN without rows. ValueError as in `reliability`.

    Brier, "Verification of forecasts expressed in terms of probability" (1950), in its half form of 0 .. 1.
    """
    _check(probability, positive)
    return float(np.mean((probability - positive) ** 2)) if probability.size else float("nan")


def expected_calibration_error(probability: Floats, positive: Bools, bins: int = 10) -> float:
    """Mean over rows of |rate - mean probability| of the row's bin; NaN without rows. ValueError as in `reliability`.

    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning" (2015).
    """
    stated, found, rows = reliability(probability, positive, bins)
    held = rows > 0
    if not held.any():
        return float("nan")
    return float(np.average(np.abs(found[held] - stated[held]), weights=rows[held]))


def _check(probability: Floats, positive: Bools) -> None:
    check_lengths(probability=probability, positive=positive.astype(np.int64))
    outside = probability[~((probability >= 0) & (probability <= 1))]
    if outside.size:
        raise ValueError(f"a probability must lie in 0 .. 1, got {outside[0]}")
