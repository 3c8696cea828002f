"""Closed-form tests of two correlations that share a variable: two metrics against the same gold.

r12 and r13 are the correlations of variable 1 (the gold) with variables 2 and 3 (the two metrics), r23 is that of the
two metrics, n the number of rows. Both tests take the rows as independent and jointly normal; they are cross-checks of
the resampling tests, not substitutes.
"""

from __future__ import annotations

import math

from scipy.stats import norm, t


def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Williams' t of r12 - r13 with n - 3 degrees of freedom, and its two-sided p.

    Williams, "The comparison of regression variables" (1959), in the form that Steiger, "Tests for comparing elements
    of a correlation matrix" (1980), recommends. NaN where undefined: n < 4, a NaN correlation, two metrics alike.
    Raises ValueError if a correlation leaves -1 .. 1.
    """
    _check(r12, r13, r23)
    if n < 4:
        return math.nan, math.nan
    determinant = max(1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23, 0)
    mean = (r12 + r13) / 2
    spread = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r23) ** 3
    if not spread > 0:
        return math.nan, math.nan
    statistic = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return statistic, float(2 * t.sf(abs(statistic), n - 3))


def steiger(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Steiger's Z of r12 - r13, and its two-sided p: Fisher's z with the covariance at the mean of r12 and r13.

    Steiger, "Tests for comparing elements of a correlation matrix" (1980), equation 14. NaN where undefined: n < 4, a
    NaN correlation, a correlation of -1 or 1 with the gold, two metrics alike. Raises ValueError as `williams` does.
    """
    _check(r12, r13, r23)
    mean_square = ((r12 + r13) / 2) ** 2
    if n < 4 or abs(r12) == 1 or abs(r13) == 1 or math.isnan(mean_square + r23):
        return math.nan, math.nan
    # Pearson and Filon's covariance of two correlations that share a variable, both put at their mean.
    psi = r23 * (1 - 2 * mean_square) - mean_square * (1 - 2 * mean_square - r23**2) / 2
    spread = 2 - 2 * psi / (1 - mean_square) ** 2
    if not spread > 0:
        return math.nan, math.nan
    statistic = (math.atanh(r12) - math.atanh(r13)) * math.sqrt((n - 3) / spread)
    return statistic, float(2 * norm.sf(abs(statistic)))


def _check(*correlations: float) -> None:
    for r in correlations:
        if abs(r) > 1:
            raise ValueError(f"a correlation must lie in -1 .. 1, got {r}")
