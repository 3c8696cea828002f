"""Tests of the difference between metrics: p-values of resamples, many p-values together, and power.

Power: a pilot of `groups` groups gives the cluster standard error of the difference, which shrinks with the square root
of the number of groups. Groups (queries, responses, source documents) are what must be added: more rows in the same
groups buy less. Everything there rests on the normal approximation of a two-sided test at alpha.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from metaeval.stats.arrays import Floats


def bootstrap_p(differences: Floats) -> float:
    """Return the two-sided p of no difference, from the input's difference and those of paired resamples, (1 + R,).

    It is the level at which the percentile interval just leaves out 0, with the input as one resample more, so never 0
    (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 4.4). Resamples of no difference
    count on both sides. NaN where the input's difference is, or over half of the resamples'.
    """
    drawn = differences[1:][~np.isnan(differences[1:])]
    if np.isnan(differences[0]) or not drawn.size or 2 * drawn.size < differences.size - 1:
        return math.nan
    fewer = min((drawn <= 0).sum(), (drawn >= 0).sum())
    return float(min(1.0, 2 * (1 + fewer) / (1 + drawn.size)))


def holm(p: Floats) -> Floats:
    """Return p-values (m,) adjusted by Holm's step-down method, which bounds the chance of even one false rejection.

    The order is that of the input. NaN stays NaN and is not counted in m. Holm, "A simple sequentially rejective
    multiple test procedure" (1979); agrees with statsmodels' `multipletests(method="holm")`. Raises ValueError
    unless each p lies in 0 .. 1.
    """
    if p.ndim != 1:
        raise ValueError(f"p-values must be a vector, got shape {p.shape}")
    outside = p[(p < 0) | (p > 1)]
    if outside.size:
        raise ValueError(f"a p-value must lie in 0 .. 1, got {outside[0]}")
    adjusted, defined = p.copy(), np.flatnonzero(~np.isnan(p))
    ascending = defined[np.argsort(p[defined], kind="stable")]
    adjusted[ascending] = np.minimum(np.maximum.accumulate(p[ascending] * np.arange(defined.size, 0, -1)), 1)
    return adjusted


def holm_against(p: Floats, difference: Floats) -> Floats:
    """Return two-sided p-values of m metrics against c controls, (m, c), adjusted for the claim that each sign makes.

    p, difference (metric minus control): (m, c). p is NaN, and stays NaN, where a pair was not tested.

    Above a control: Holm over the metrics, control by control. The largest p of a metric that is above all is that
    of "above every control", by Holm over the metrics: an intersection-union test needs no correction over controls
    (Berger, "Multiparameter hypothesis testing and acceptance sampling", 1982). So a metric is above every control
    where each of its adjusted p is at most alpha.

    Below a control: Holm over all metrics and controls, because which control is the best is seen in the data.
    """
    tested = ~np.isnan(p)
    claim = np.where(tested & ~(difference > 0), 1.0, p)
    whole = np.max(claim, axis=1, initial=0.0, where=tested)
    every = holm(np.where(tested.any(axis=1), whole, np.nan))[:, None]
    above = np.stack([holm(column) for column in claim.T], axis=1)
    above = np.where(claim == whole[:, None], every, above)
    below = holm(np.where(tested & ~(difference < 0), 1.0, p).ravel()).reshape(p.shape)
    return np.where(difference < 0, below, above)


def required_groups(
    difference: float, standard_error: float, groups: int, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Return the fewest groups with which a true `difference` is found significant with chance `power`.

    standard_error, groups: of the difference in the pilot, and the pilot's number of groups. n = groups * ((z(1 -
    alpha/2) + z(power)) * standard_error / difference)**2, rounded up. The far tail, a significant difference of the
    wrong sign, is left out. Raises ValueError if the difference is 0 or not finite, or an argument is out of range.
    """
    _check_pilot(standard_error, groups, alpha)
    if difference == 0 or not math.isfinite(difference):
        raise ValueError(f"the difference must be finite and not 0, got {difference}")
    if not alpha / 2 < power < 1:
        raise ValueError(f"the power must lie between alpha / 2 = {alpha / 2} and 1, got {power}")
    quantiles = float(ndtri(power) - ndtri(alpha / 2))
    return max(1, math.ceil(groups * (quantiles * standard_error / difference) ** 2))


def power_at(difference: float, standard_error: float, groups: int, n_groups: int, alpha: float = 0.05) -> float:
    """Return the probability that `n_groups` groups find a true `difference` significant, with either sign.

    It is alpha at difference 0. standard_error, groups: of the pilot's difference, and its groups. Raises ValueError if
    an argument is out of range.
    """
    _check_pilot(standard_error, groups, alpha)
    if n_groups < 1:
        raise ValueError(f"the number of groups must be at least 1, got {n_groups}")
    shift = abs(difference) / (standard_error * math.sqrt(groups / n_groups))
    critical = -ndtri(alpha / 2)
    return float(ndtr(shift - critical) + ndtr(-critical - shift))


def _check_pilot(standard_error: float, groups: int, alpha: float) -> None:
    if not (standard_error > 0 and math.isfinite(standard_error)):
        raise ValueError(f"the standard error must be positive and finite, got {standard_error}")
    if groups < 2:
        raise ValueError(f"a pilot needs at least 2 groups, got {groups}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
