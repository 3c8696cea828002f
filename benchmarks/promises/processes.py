"""Data-generating processes of the simulations.

Every function takes a `numpy.random.Generator` and returns arrays with one entry per row (citation).
Levels are 2 full, 1 partial, 0 none.
"""

from __future__ import annotations

import numpy as np


def group_sizes(rng, groups, kind):
    """Rows per group: "equal" (8), "poisson" (1 + Poisson(7)), "pareto" (at most 300), or an integer for all."""
    if isinstance(kind, int):
        return np.full(groups, kind)
    if kind == "equal":
        return np.full(groups, 8)
    if kind == "poisson":
        return 1 + rng.poisson(7, groups)
    if kind == "pareto":
        return np.minimum(2 + np.floor(rng.pareto(1.3, groups) * 4).astype(int), 300)
    raise ValueError(kind)


def levels(rng, groups, kind, shares=(1.5, 1.0, 1.5), drift=0.5, shift=None):
    """(level, group) with a share of each level that differs by group. shares: Gamma weights of full, partial, none.

    shift: (groups,) a group's shift, with which its share of full support grows (drift). For a rare level use, for
    example, shares=(2.0, 1.5, 0.1): about 3 % none.
    """
    size = group_sizes(rng, groups, kind)
    group = np.repeat(np.arange(groups), size)
    shift = np.zeros(groups) if shift is None else shift
    weight = rng.gamma(np.array(shares) * 1.5 * np.exp(drift * np.c_[0.5 * shift, 0 * shift, -0.5 * shift]), 1.0) + 1e-9
    bounds = (weight / weight.sum(1, keepdims=True)).cumsum(1)[group]
    level = 2.0 - (rng.random(group.size)[:, None] > bounds[:, :2]).sum(1)
    return level, group


def two_metrics(rng, groups, kind, strength=1.0, heavy=True, icc=0.3, icc_level=0.2, drift=0.5, **share):
    """(level, group, score, verdict): a continuous score with t3 errors, and a judge with verdicts 0, 1, 2.

    Both have shifts shared by group (icc) and by group and level (icc_level), slopes that differ by group, and
    errors that correlate by .36. ROC-AUC of full against none is near .79 at strength 1 and .91 at strength
    2 (heavy), .95 without t3.
    """
    shift = rng.normal(size=groups)
    other = 0.6 * shift + 0.8 * rng.normal(size=groups)
    level, group = levels(rng, groups, kind, drift=drift, shift=shift, **share)
    at = level.astype(int)
    mean = np.array([0, 0.55, 1.1]) * strength
    slope = np.exp(0.35 * rng.normal(size=(groups, 2)))
    common = rng.normal(size=level.size)
    error, error_judge = (0.6 * common + 0.8 * rng.normal(size=level.size) for _ in range(2))
    if heavy:
        error = error / np.sqrt(rng.chisquare(3, level.size) / 3)
    by_level = rng.normal(size=(groups, 3))
    by_level_judge = 0.5 * by_level + 0.75**0.5 * rng.normal(size=(groups, 3))
    rest = np.sqrt(1 - icc - icc_level)
    score = (
        mean[at] * slope[group, 0]
        + np.sqrt(icc) * shift[group]
        + np.sqrt(icc_level) * by_level[group, at]
        + rest * error
    )
    latent = (
        0.9 * mean[at] * slope[group, 1]
        + np.sqrt(icc) * other[group]
        + np.sqrt(icc_level) * by_level_judge[group, at]
        + rest * error_judge
    )
    verdict = (latent > 0.2 * mean[2]) * 1.0 + (latent > 0.75 * mean[2] + 0.3) * 1.0
    return level, group, score, verdict


def few_lose(rng, groups, kind, apart, skewed=0.0, failing=0.0, clumped=0.0):
    """(level, group, score, score): full and none, and a metric whose losses come from few groups.

    Full support scores higher by `apart`. skewed: with 0 errors are normal; else they are lognormal, and groups share
    this part of the variance of their log. failing: share of groups whose none scores like full. clumped: share of
    groups that hold none, 15 % of their rows; 0: all groups do, about half of the rows.
    """
    group = np.repeat(np.arange(groups), group_sizes(rng, groups, kind))
    full = np.where(rng.random(groups) < clumped, 0.85, 1.0) if clumped else rng.beta(1.5, 1.5, groups)
    level = 2.0 * (rng.random(group.size) < full[group])
    fails, error = (rng.random(groups) < failing)[group], rng.normal(size=group.size)
    if skewed:
        error = np.exp(np.sqrt(skewed) * rng.normal(size=groups)[group] + np.sqrt(1 - skewed) * error)
    score = apart * ((level == 2) | fails) + error
    return level, group, score, score


def metrics_of_one_value(rng, groups, kind, number, mean=0.0, rho=0.5, icc=0.3, icc_level=0.2):
    """(level, group, scores): `number` metrics with the same true value (mean 0: no information), correlated by rho."""
    level, group = levels(rng, groups, kind, shares=(2.0, 1.5, 2.0), drift=0.0)
    at, rest = level.astype(int), np.sqrt(1 - icc - icc_level)
    shared = rng.normal(size=level.size), rng.normal(size=groups), rng.normal(size=(groups, 3))
    a, b = np.sqrt(rho), np.sqrt(1 - rho)
    scores = [
        mean * level / 2
        + np.sqrt(icc) * (a * shared[1] + b * rng.normal(size=groups))[group]
        + np.sqrt(icc_level) * (a * shared[2] + b * rng.normal(size=(groups, 3)))[group, at]
        + rest * (a * shared[0] + b * rng.normal(size=level.size))
        for _ in range(number)
    ]
    return level, group, np.array(scores)


def failing_answers(rng, answers, citations, failing=0.1, lost=1.0, unsupported=0.5):
    """(bad, group, score, missed_at): answers of which a share fails as a whole.

    bad: 1.0 for an unsupported citation. In a failing answer the share `lost` of its unsupported citations is scored
    like supported ones. missed_at(threshold): the true share of unsupported citations that score at or above it.
    """
    from math import erf, sqrt

    group = np.repeat(np.arange(answers), citations)
    bad = rng.random(group.size) < unsupported
    fails = (rng.random(answers) < failing)[group] & (rng.random(group.size) < lost)
    like_good, like_bad = 1.5 + 0.3 * rng.normal(size=group.size), -1.5 + 0.5 * rng.normal(size=group.size)
    score = np.where(bad & ~fails, like_bad, like_good)

    def above(threshold, mean, sd):
        return 0.5 * (1 - erf((threshold - mean) / (sd * sqrt(2))))

    def missed_at(threshold):
        share = failing * lost
        return share * above(threshold, 1.5, 0.3) + (1 - share) * above(threshold, -1.5, 0.5)

    return bad.astype(float), group, score, missed_at
