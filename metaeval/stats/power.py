"""How many annotated groups it takes to tell two metrics apart, from a pilot.

A pilot of `groups` groups gives the difference's cluster standard error, which shrinks with the square root of the
number of groups. Groups (queries, responses, source documents) are what must be added: more rows in the same groups
buy less. Everything rests on the normal approximation of a two-sided test at alpha.
"""

from __future__ import annotations

import math

from scipy.stats import norm


def required_groups(
    difference: float, standard_error: float, groups: int, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Fewest groups with which a true `difference` is found significant with chance `power`.

    n = groups * ((z(1 - alpha/2) + z(power)) * standard_error / difference)**2, rounded up. The far tail, a
    significant difference of the wrong sign, is left out. Raises ValueError if the difference is 0 or not finite, or
    an argument is out of range.
    """
    _check(standard_error, groups, alpha)
    if difference == 0 or not math.isfinite(difference):
        raise ValueError(f"the difference must be finite and not 0, got {difference}")
    return max(1, math.ceil(groups * (_quantiles(alpha, power) * standard_error / difference) ** 2))


def detectable_difference(
    standard_error: float, groups: int, n_groups: int, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Smallest true difference that `n_groups` groups find significant with chance `power`.

    standard_error, groups: of the pilot. The inverse of `required_groups`. Raises ValueError as it does.
    """
    _check(standard_error, groups, alpha)
    return _quantiles(alpha, power) * _error_at(standard_error, groups, n_groups)


def power_at(difference: float, standard_error: float, groups: int, n_groups: int, alpha: float = 0.05) -> float:
    """Chance that `n_groups` groups find a true `difference` significant, with either sign; alpha at difference 0.

    standard_error, groups: of the pilot. Raises ValueError if an argument is out of range.
    """
    _check(standard_error, groups, alpha)
    shift = abs(difference) / _error_at(standard_error, groups, n_groups)
    critical = norm.isf(alpha / 2)
    return float(norm.sf(critical - shift) + norm.cdf(-critical - shift))


def _quantiles(alpha: float, power: float) -> float:
    if not alpha / 2 < power < 1:
        raise ValueError(f"the power must lie between alpha / 2 = {alpha / 2} and 1, got {power}")
    return float(norm.isf(alpha / 2) + norm.ppf(power))


def _error_at(standard_error: float, groups: int, n_groups: int) -> float:
    if n_groups < 1:
        raise ValueError(f"the number of groups must be at least 1, got {n_groups}")
    return standard_error * math.sqrt(groups / n_groups)


def _check(standard_error: float, groups: int, alpha: float) -> None:
    if not (standard_error > 0 and math.isfinite(standard_error)):
        raise ValueError(f"the standard error must be positive and finite, got {standard_error}")
    if groups < 2:
        raise ValueError(f"a pilot needs at least 2 groups, got {groups}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
