"""Tests of the difference between metrics: AUCs, dependent correlations, equivalence, many p-values, power.

The closed-form tests take the rows as independent; they are cross-checks of the resampling tests, not substitutes.

Power: a pilot of `groups` groups gives the cluster standard error of the difference, which shrinks with the square root
of the number of groups. Groups (queries, responses, source documents) are what must be added: more rows in the same
groups buy less. Everything there rests on the normal approximation of a two-sided test at alpha.

Effects that were measured in several studies are shrunk towards their mean. Paule and Mandel, "Consensus values and
weighting factors" (1982) for the variance between studies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from metaeval.stats.arrays import Bools, Floats, check_finite, check_lengths
from metaeval.stats.ties import midranks


@dataclass(frozen=True)
class DeLong:
    """Two AUCs on the same rows, their difference (one minus other), its variance, z and two-sided p; or NaN."""

    auc_one: float
    auc_other: float
    difference: float
    variance: float
    z: float
    p: float


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


def delong(first: Floats, other: Floats, positive: Bools) -> DeLong:
    """Compare the ROC-AUCs of two scores of the same rows; first, other, positive: (n,).

    DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or more correlated receiver operating
    characteristic curves" (1988), from midranks as in Sun and Xu, "Fast implementation of DeLong's algorithm" (2014).
    Rows count as independent, which rows of one group are not: read it beside a test that resamples groups, not
    instead. NaN: all without a positive and a negative, the variance without two of each, z and p also where the
    variance is 0, as of equal scores. Raises ValueError on NaN, infinity or columns of unlike length.
    """
    check_lengths(one=first, other=other, positive=positive.astype(np.int64))
    check_finite("one", first)
    check_finite("other", other)
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    if not n_positive or not n_negative:
        return DeLong(*[math.nan] * 6)
    beaten_one, missed_one = _components(first, positive)
    beaten_other, missed_other = _components(other, positive)
    auc_one, auc_other = float(beaten_one.mean()), float(beaten_other.mean())
    difference = auc_one - auc_other
    variance = _variance_of_mean(beaten_one - beaten_other) + _variance_of_mean(missed_one - missed_other)
    if not variance > 0:
        return DeLong(auc_one, auc_other, difference, variance, math.nan, math.nan)
    z = difference / math.sqrt(variance)
    return DeLong(auc_one, auc_other, difference, variance, z, float(2 * ndtr(-abs(z))))


def _components(score: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Return each positive's share of negatives below it, and each negative's of positives above it; ties are 1/2."""
    ranks = midranks(score)
    beaten = (ranks[positive] - midranks(score[positive])) / np.sum(~positive)
    missed = 1 - (ranks[~positive] - midranks(score[~positive])) / np.sum(positive)
    return np.asarray(beaten), np.asarray(missed)


def _variance_of_mean(values: Floats) -> float:
    if values.size < 2:
        return math.nan
    # The mean of equal values can be off by the last bit, which would make a variance of 1e-33 out of none.
    return 0.0 if np.ptp(values) == 0 else float(values.var(ddof=1)) / values.size


def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Return Williams' t of r12 - r13 with n - 3 degrees of freedom, and its two-sided p: (t, p).

    r12, r13: correlations of the gold with each of two metrics. r23: that of the two metrics. n: number of rows, taken
    as independent and jointly normal. Williams, "The comparison of regression variables" (1959), in the form that
    Steiger, "Tests for comparing elements of a correlation matrix" (1980), recommends. NaN where undefined: n < 4, a
    NaN correlation, two metrics alike. Raises ValueError if a correlation leaves -1 .. 1.
    """
    _check_correlations(r12, r13, r23)
    if n < 4:
        return math.nan, math.nan
    determinant = max(1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23, 0)
    mean = (r12 + r13) / 2
    spread = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r23) ** 3
    if not spread > 0:
        return math.nan, math.nan
    statistic = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return statistic, float(2 * stdtr(n - 3, -abs(statistic)))


def steiger(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Return Steiger's Z of r12 - r13 and its two-sided p: (Z, p).

    It compares Fisher's z of both, with their covariance at the mean of r12 and r13. Arguments as in `williams`.
    Steiger, "Tests for comparing elements of a correlation matrix" (1980), equation 14. NaN where undefined: n < 4, a
    NaN correlation, a correlation of -1 or 1 with the gold, two metrics alike. Raises ValueError as `williams` does.
    """
    _check_correlations(r12, r13, r23)
    mean_square = ((r12 + r13) / 2) ** 2
    if n < 4 or abs(r12) == 1 or abs(r13) == 1:
        return math.nan, math.nan
    # Pearson and Filon's covariance of two correlations that share a variable, both put at their mean.
    psi = r23 * (1 - 2 * mean_square) - mean_square * (1 - 2 * mean_square - r23**2) / 2
    spread = 2 - 2 * psi / (1 - mean_square) ** 2
    if not spread > 0:
        return math.nan, math.nan
    statistic = (math.atanh(r12) - math.atanh(r13)) * math.sqrt((n - 3) / spread)
    return statistic, float(2 * ndtr(-abs(statistic)))


def _check_correlations(*correlations: float) -> None:
    for r in correlations:
        if abs(r) > 1:
            raise ValueError(f"a correlation must lie in -1 .. 1, got {r}")


def tost(difference: float, margin: float, test: Callable[[float], float]) -> float:
    """Return p of "they differ by the margin or more": the larger of two one-sided tests against -margin and +margin.

    test: a function from a hypothetical true difference to the two-sided p of the observed one. Schuirmann, "A
    comparison of the two one-sided tests procedure and the power approach" (1987). NaN if the difference is NaN. Raises
    ValueError unless margin is positive.
    """
    _check_margin(margin)
    if math.isnan(difference):
        return math.nan
    larger = max(test(-margin), test(margin)) / 2
    return larger if abs(difference) < margin else 1 - larger


def equivalent_within(interval: tuple[float, float] | None, margin: float) -> bool | None:
    """Return whether the interval of a difference, (low, high) at level 1 - 2 alpha, lies inside -margin .. margin.

    It is the interval form of two one-sided tests at alpha. None without an interval. Raises ValueError for a margin of
    0 or less.
    """
    _check_margin(margin)
    return None if interval is None else -margin < interval[0] and interval[1] < margin


def _check_margin(margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"the margin must be positive, got {margin}")


def holm(p: Floats) -> Floats:
    """Return p-values (m,) adjusted by Holm's step-down method, which bounds the chance of even one false rejection.

    The order is that of the input. NaN stays NaN and is not counted in m. Holm, "A simple sequentially rejective
    multiple test procedure" (1979); agrees with statsmodels' `multipletests(method="holm")`. Raises ValueError
    unless each p lies in 0 .. 1.
    """
    return _adjusted(p, lambda rising: np.maximum.accumulate(rising * np.arange(rising.size, 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Return p-values (m,) adjusted by Benjamini and Hochberg's method, which bounds the share of false rejections.

    The order is that of the input. NaN stays NaN and is not counted in m. "Controlling the false discovery rate"
    (1995); agrees with statsmodels' `multipletests(method="fdr_bh")`. Raises ValueError unless each p lies in 0 ..
    1.
    """

    def step_up(rising: Floats) -> Floats:
        stepped = rising / (np.arange(1, rising.size + 1) / max(rising.size, 1))
        return np.minimum.accumulate(stepped[::-1])[::-1]

    return _adjusted(p, step_up)


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


def _adjusted(p: Floats, adjust: Callable[[Floats], Floats]) -> Floats:
    """Return p, (m,), with the defined values replaced by those that `adjust` gives for them in ascending order."""
    if p.ndim != 1:
        raise ValueError(f"p-values must be a vector, got shape {p.shape}")
    outside = p[(p < 0) | (p > 1)]
    if outside.size:
        raise ValueError(f"a p-value must lie in 0 .. 1, got {outside[0]}")
    adjusted, defined = p.copy(), np.flatnonzero(~np.isnan(p))
    ascending = defined[np.argsort(p[defined], kind="stable")]
    adjusted[ascending] = np.minimum(adjust(p[ascending]), 1)
    return adjusted


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


def shrunken(effects: Floats, errors: Floats, level: float = 0.95) -> list[tuple[float, tuple[float, float]]]:
    """Return each of k effects, k at least 4, shrunk towards their mean, with its interval: (value, (low, high)).

    The method is parametric empirical Bayes: Morris, "Parametric empirical Bayes inference: theory and applications"
    (1983), section 5, which corrects the weight for the estimated variance between studies, and counts its doubt and
    that of the mean. Raises ValueError for fewer than four effects, one not finite, or an error not above 0.
    """
    check_lengths(effects=effects, errors=errors)
    check_finite("effects", effects)
    check_finite("errors", errors)
    k = effects.size
    if k < 4 or errors.min() <= 0:
        raise ValueError(f"effects are shrunk towards the mean of four or more with errors above 0, got {k}")
    between = _between(effects, errors)
    total = errors**2 + between
    share = 1 / total / (1 / total).sum()
    weight = (k - 3) / (k - 1) * errors**2 / total
    apart = effects - (share * effects).sum()
    doubt = 2 / (k - 3) * weight**2 * ((share * errors**2).sum() + between) / total
    variance = errors**2 * (1 - (1 - share) * weight)
    reach = ndtri((1 + level) / 2) * np.sqrt(variance + doubt * apart**2)
    values = effects - weight * apart
    return [(value, (value - by, value + by)) for value, by in zip(values.tolist(), reach.tolist(), strict=True)]


def shrunken_areas(ends: Floats, effective: Floats, level: float) -> Floats:
    """Return k ROC-AUCs shrunk towards their mean by `shrunken`, on the probit scale: (k, 3) of low, value and high.

    ends: (k, 3) of low, value and high of each AUC's t interval at `level`, strictly between 0 and 1; k at least 4.
    effective: (k,) effective groups of each, above 1.
    """
    probits = ndtri(ends)
    errors = (probits[:, 2] - probits[:, 0]) / 2 / stdtrit(effective - 1, (1 + level) / 2)
    drawn = shrunken(probits[:, 1], errors, level)
    return np.asarray(ndtr([(low, value, high) for value, (low, high) in drawn]))


def _between(effects: Floats, errors: Floats) -> float:
    """Return the variance between studies at which Cochran's Q is what it is expected to be, by Newton's method."""
    variance, converged = 0.0, False
    while not converged:
        weight = 1 / (errors**2 + variance)
        apart = weight * (effects - (weight * effects).sum() / weight.sum())
        excess = float((apart**2 / weight).sum()) - (effects.size - 1)
        converged = excess <= 1e-12 * effects.size
        variance += 0.0 if converged else excess / float((apart**2).sum())
    return variance
