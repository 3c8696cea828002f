"""System-level and input-level correlations, two-way resampling of systems and inputs, and soft pairwise accuracy.

A table of cells (S, N) holds what each of S systems has on each of N inputs, NaN where it has nothing. Deutsch, Dror,
Roth, "A Statistical Analysis of Summarization Evaluation Metrics using Resampling Methods" (2021); Thompson, Mathur,
Deutsch, Khayrallah, "Improving Statistical Significance in Human Evaluation of Automatic Metrics via Soft Pairwise
Accuracy" (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

from metaeval.stats.arrays import Bools, Floats, Ints, Weights, group_totals, ratio, strips, weighted_sums
from metaeval.stats.resampling import Draws, Prepared

COEFFICIENTS = ("pearson", "spearman", "kendall")

MOST_CERTAIN = 0.995
"""The interval of a higher disattenuated correlation is computed at this value: at 1 Fisher's scale ends."""

SIGNS = 1000
"""Number of random exchanges of two systems' texts behind each p-value of a soft pairwise accuracy, as in the paper."""

MOST_INPUTS = 20_000
"""Inputs beyond which a soft accuracy's exchanges would take gigabytes."""


def cells(values: Floats, system: Ints, pool: Ints) -> Floats:
    """Return the mean of `values` (n,) by system and input (pool), (S, N), codes ascending; NaN without rows."""
    _, row = np.unique(system, return_inverse=True)
    _, column = np.unique(pool, return_inverse=True)
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    place, size = row * shape[1] + column, shape[0] * shape[1]
    count = np.bincount(place, minlength=size)
    return ratio(np.bincount(place, weights=values, minlength=size), count).reshape(shape)


def coefficients(x: Floats, y: Floats) -> Floats:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b of each column of x and y (S, N); (3, N).

    If columns are inputs, their mean is called summary-level correlation. Cells that are NaN in x or y are left out.
    NaN for a column with fewer than two cells left, or constant up to rounding in x or y.
    """
    parts = [_coefficients(x[:, strip], y[:, strip]) for strip in strips(x.shape[1], x.shape[0] ** 2)]
    return np.concatenate([np.empty((3, 0)), *parts], axis=1)


def _coefficients(x: Floats, y: Floats) -> Floats:
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = (np.where(there, values, 0.0) for values in (x, y))
    largest = (np.abs(values).max(axis=0) for values in (x, y))
    x, y = (values / np.where(most > 0, most, 1.0) for values, most in zip((x, y), largest, strict=True))
    both = there[:, None] & there[None]
    # Equal means differ in their last digit, which must not order them.
    rounded = [np.round(values, 12) for values in (x, y)]
    above = [np.where(both, np.sign(values[:, None] - values[None]), 0.0) for values in rounded]
    number = there.sum(axis=0)
    # The rank of a value less the mean rank is half of how many it is above, less those it is below.
    ranks = [values.sum(axis=1) for values in above]
    kendall = _cosine(above[0].reshape(-1, x.shape[1]), above[1].reshape(-1, x.shape[1]))
    mean = [ratio(values.sum(axis=0), number) for values in (x, y)]
    centred = [np.where(there, values - of, 0.0) for values, of in zip((x, y), mean, strict=True)]
    constant = ~(above[0].any(axis=(0, 1)) & above[1].any(axis=(0, 1)))
    return np.where(constant, np.nan, np.stack((_cosine(*centred), _cosine(*ranks), kendall)))


def _cosine(x: Floats, y: Floats) -> Floats:
    return np.clip(ratio((x * y).sum(axis=0), np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))), -1.0, 1.0)


def system_level(x: Floats, y: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return the `coefficients` of the systems' means over inputs, as a function of group weights: (3, R).

    x, y: cells (S, N), NaN in the same places; group: (N,) of the inputs. NaN where a system has no input.
    """
    moments = _moments(x, y, group, n_groups)

    def evaluate(tile: Weights) -> Floats:
        return coefficients(*_means(weighted_sums(moments, tile), x.shape[0]))

    return Prepared(evaluate, int(np.unique(group).size))


def disattenuated(x: Floats, y: Floats, group: Ints, n_groups: int) -> tuple[float, Floats, tuple[float, float]]:
    """Return Pearson's r of the means that the systems would have over infinitely many inputs, cut to -1 .. 1.

    With it each group's contribution, (G,), and the reliabilities of x and of y.

    Variances and covariance of the observed means are freed of what the groups of inputs, by their spread, add to each:
    Spearman's correction ("The proof and measurement of association between two things", 1904), also where the errors
    of x and y correlate. Arguments as in `system_level`. NaN with one group, or no variance left above 0.
    """
    sums = _moments(x, y, group, n_groups).reshape(n_groups, 3, x.shape[0]).transpose(1, 2, 0)
    held = sums[0].any(axis=0)
    undefined = np.nan, np.full(n_groups, np.nan), (np.nan, np.nan)
    if (groups := int(held.sum())) < 2:
        return undefined
    rows = sums[0].sum(axis=1)
    means = sums[1:].sum(axis=2) / rows
    apart = (sums[1:] - means[..., None] * sums[0]) / rows[:, None]
    means, apart = means - means.mean(axis=1, keepdims=True), apart - apart.mean(axis=1, keepdims=True)
    first, other = np.array([0, 1, 0]), np.array([0, 1, 1])  # the variances of x and of y, and their covariance
    # All are sums over the systems, alike times their number: that cancels in what is returned.
    seen = (means[first] * means[other]).sum(axis=1)
    noise = (apart[first] * apart[other]).sum(axis=1) * (groups / (groups - 1))
    true = seen - noise.sum(axis=1)
    if true[:2].min() <= 0:
        return undefined
    moved = np.einsum("ks,ksg->kg", means[first], apart[other]) + np.einsum("ks,ksg->kg", means[other], apart[first])
    moved = moved - np.where(held, noise - noise.sum(axis=1, keepdims=True) / groups, 0.0)
    value = float(true[2] / np.sqrt(true[0] * true[1]))
    parts = moved[2] / np.sqrt(true[0] * true[1]) - value / 2 * (moved[0] / true[0] + moved[1] / true[1])
    x_reliability, y_reliability = (true[:2] / seen[:2]).tolist()
    return float(np.clip(value, -1, 1)), parts, (x_reliability, y_reliability)


def _moments(x: Floats, y: Floats, group: Ints, n_groups: int) -> Floats:
    there = ~np.isnan(x)
    rows = [*there.astype(np.float64), *np.where(there, x, 0.0), *np.where(there, y, 0.0)]
    return np.stack([group_totals(row, group, n_groups) for row in rows], axis=1)


def _means(sums: Floats, systems: int) -> tuple[Floats, Floats]:
    """Return the systems' means of x and y, (S, R) each; a column where one system has no input is NaN in all rows."""
    count, first, second = (sums[at * systems : (at + 1) * systems] for at in range(3))
    count = np.where((count > 0).all(axis=0), count, 0.0)
    return ratio(first, count), ratio(second, count)


def two_way(x: Floats, y: Floats, group: Ints, draws: Draws, seed: int, inputs: bool = True) -> tuple[Floats, Floats]:
    """Return the system-level and input-level coefficients of resamples of systems and inputs, (3, R) each.

    x, y, group: as in `system_level`. A system that is drawn twice counts as two. draws: of groups of inputs; the first
    is the data set itself, where systems are not resampled either. inputs: False to resample systems alone. Deutsch et
    al. (2021), section 4.
    """
    generator = np.random.default_rng([seed, 2])
    moments = _moments(x, y, group, draws.n_groups)
    by_system: list[Floats] = []
    by_input: list[Floats] = []
    for tile in draws:
        tile = tile if inputs else np.ones_like(tile)
        first, second = _means(weighted_sums(moments, tile), x.shape[0])
        chosen = _chosen(generator, x.shape[0], tile.shape[1], first=not by_system)
        by_system.append(coefficients(*(np.take_along_axis(scores, chosen, axis=0) for scores in (first, second))))
        for number in range(tile.shape[1]):
            drawn = chosen[:, number]
            values = coefficients(x[drawn], y[drawn])
            weight = np.where(np.isnan(values), 0.0, tile[group, number].astype(np.float64))
            by_input.append(ratio((np.nan_to_num(values) * weight).sum(axis=1), weight.sum(axis=1)))
    return np.concatenate(by_system, axis=1), np.stack(by_input, axis=1)


Exchanged = Literal["systems", "both"]


def exchange_differences(
    first: Floats, other: Floats, y: Floats, group: Ints, permutations: int, seed: int, what: Exchanged
) -> Floats:
    """Return a metric's coefficients (`first`) minus another's under R exchanges, (6, 1 + R): by system, then by input.

    first, other, y: cells (S, N), values in the same places, the metrics on one scale; group: (N,) of the inputs. The
    first column exchanges nothing. The R permutations give all cells of a system the other metric's scores with
    probability 1/2, and with "both" then all cells of a group of inputs: Deutsch et al. (2021), section 5.
    """
    generator = np.random.default_rng([seed, 3])
    n_groups = int(group.max()) + 1
    differences = np.empty((6, 1 + permutations))
    for number in range(1 + permutations):
        swapped = np.zeros(first.shape, dtype=np.bool_)
        if number:
            swapped ^= generator.integers(2, size=(first.shape[0], 1), dtype=np.bool_)
            if what == "both":
                swapped ^= generator.integers(2, size=n_groups, dtype=np.bool_)[group]
        mine, theirs = (
            np.concatenate(_both_levels(np.where(swapped, b, a), y)) for a, b in ((first, other), (other, first))
        )
        differences[:, number] = mine - theirs
    return differences


def _both_levels(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients of the systems' means, and the means of the inputs' defined coefficients, (3,) each."""
    there = ~np.isnan(x)
    count = there.sum(axis=1)
    means = [ratio(np.where(there, scores, 0.0).sum(axis=1), count)[:, None] for scores in (x, y)]
    values = coefficients(x, y)
    known = ~np.isnan(values)
    return coefficients(*means)[:, 0], ratio(np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1))


def soft_accuracy_of_drawn(x: Floats, y: Floats, group: Ints, draws: Draws, seed: int, inputs: bool) -> Floats:
    """Return soft pairwise accuracy on the resamples of systems and inputs that `two_way` draws, (R,).

    A system is not compared with its own copy. NaN where only one system is drawn. Arguments as in `two_way`.
    """
    first, other = np.triu_indices(x.shape[0], 1)
    generator = np.random.default_rng([seed, 2])
    apart_under = _apart_by_pair(x, y)
    whole = apart_under(np.ones(x.shape[1]))
    accuracies: list[float] = []
    for tile in draws:
        chosen = _chosen(generator, x.shape[0], tile.shape[1], first=not accuracies)
        for column, drawn in zip(tile.T, chosen.T, strict=True):
            apart = apart_under(column[group].astype(np.float64)) if inputs else whole
            times = np.bincount(drawn, minlength=x.shape[0])
            weight = np.where(np.isnan(apart), 0, times[first] * times[other]).astype(np.float64)
            lost = ratio((np.nan_to_num(apart) * weight).sum(keepdims=True), weight.sum(keepdims=True))[0]
            accuracies.append(1 - lost)
    return np.array(accuracies)


def _chosen(generator: np.random.Generator, systems: int, columns: int, first: bool) -> Ints:
    """Return the systems drawn for each column, (systems, columns); if `first`, column 0 has each system once."""
    chosen = generator.integers(systems, size=(systems, columns))
    if first:
        chosen[:, 0] = np.arange(systems)
    return chosen


def soft_pairwise_accuracy(x: Floats, y: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return soft pairwise accuracy as a function of group weights: (R,).

    It is 1 minus the mean, over pairs of systems that share an input, of |p by x - p by y|. p (one-sided): the share of
    random exchanges of the two systems' texts, input by input, whose difference of sums is above the observed one, and
    half of those with an equal one (mid-p), so that the order of the systems changes nothing and p of a constant is
    1/2. mt-metrics-eval counts all equal ones: another reading, in which p of a constant is 1. x, y, group: as in
    `system_level`. NaN where no two systems share an input. Raises ValueError for over `MOST_INPUTS`.
    """
    if x.shape[1] > MOST_INPUTS:
        raise ValueError(f"a soft pairwise accuracy takes {MOST_INPUTS:,} inputs at most, got {x.shape[1]:,}")
    apart_under, (apart, use) = _apart_by_pair(x, y), _apart(x, y)
    apart = [values[:, use] for values in apart]

    def of(weight: Floats) -> float:
        return float(1 - apart_under(weight)[use].mean()) if use.any() else np.nan

    def evaluate(tile: Weights) -> Floats:
        return np.array([of(column[group].astype(np.float64)) for column in tile.T])

    def left_out() -> Floats:
        if not use.any():
            return np.full(n_groups, np.nan)
        signs = _signs(x.shape[1])
        whole = [(signs @ values, values.sum(axis=0)) for values in apart]
        left_out = np.empty(n_groups)
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(n_groups + 1))
        for number in range(n_groups):
            rows = order[ends[number] : ends[number + 1]]
            p = [
                _share(null - signs[:, rows] @ values[rows], seen - values[rows].sum(axis=0))
                for (null, seen), values in zip(whole, apart, strict=True)
            ]
            left_out[number] = 1 - np.abs(p[0] - p[1]).mean()
        return left_out

    return Prepared(evaluate, int(np.unique(group).size), left_out)


def _apart_by_pair(x: Floats, y: Floats) -> Callable[[Floats], Floats]:
    """Return a function from input weights (N,) to |p by x - p by y| of each pair of systems, (P,).

    NaN for two systems that share no input.
    """
    apart, shared = _apart(x, y)

    def of(weight: Floats) -> Floats:
        weighted = [values * weight[:, None] for values in apart]
        mine, theirs = (_share(_signs(weight.size) @ values, values.sum(axis=0)) for values in weighted)
        return np.where(shared, np.abs(mine - theirs), np.nan)

    return of


def _apart(x: Floats, y: Floats) -> tuple[list[Floats], Bools]:
    """Return pairs of systems' differences on each input, [x, y], (N, P) each, and whether they share one, (P,)."""
    first, other = np.triu_indices(x.shape[0], 1)
    shared = np.asarray((~np.isnan(x[first] - x[other])).any(axis=1))
    return [np.nan_to_num(values[first] - values[other]).T for values in (x, y)], shared


def _share(null: Floats, seen: Floats) -> Floats:
    """Return each pair's share of exchanges, null (E, P), above `seen` (P,), and half of those equal up to rounding."""
    slack = 1e-9 * np.maximum(np.abs(null).max(axis=0), np.abs(seen))
    return np.asarray(((null > seen + slack).mean(axis=0) + (null >= seen - slack).mean(axis=0)) / 2)


@lru_cache(maxsize=4)
def _signs(inputs: int) -> Floats:
    """Return which inputs are exchanged, as 1 and -1; (E, N). The same for every metric and for the gold."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(SIGNS, inputs))
