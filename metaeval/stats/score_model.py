"""Scores drawn like those of a metric: a normal model of their order, with the rows' groups, levels and ties kept.

Scores are brought to normal scores, since the measures read their order. A level of the gold has a mean and a standard
deviation of its own. What a row differs by is the sum of three normal parts: its group's, that of its level in its
group, and its own; the shares of the three are fitted by maximum likelihood. A draw is put into the order of the
scores that it is modelled on, so that it has their ties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import ndtri

from metaeval.stats.arrays import Floats, Ints, group_totals
from metaeval.stats.ties import midranks, tie_blocks

MOST_LEVELS = 10
"""Gold values up to which each has a mean of its own; with more, scores run along the normal scores of the gold."""

_STEPS = np.array([0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 0.99])
SHARES = tuple((group, cell) for group, cell in product(_STEPS.tolist(), repeat=2) if group + cell <= 0.99)
"""Pairs of shares (group, level in group) that are tried; of those with equal likelihood the first wins."""


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """A normal model of n scores: mean + spread x (group effect + effect of the level in the group + row effect).

    mean, spread: (n,). group: (n,) codes. cell: (n,) codes of the combinations of level and group. shares: of the
    effects' variance, for group and for level in group; the row effect has the rest. values: (m,) observed scores in
    ascending order, whose ties draws reproduce. freedom: degrees of freedom of the t distribution of the row effect;
    infinite for a normal one.
    """

    mean: Floats
    spread: Floats
    group: Ints
    cell: Ints
    shares: tuple[float, float]
    values: Floats
    freedom: float = math.inf

    @property
    def icc(self) -> float:
        """Return the correlation of two rows of the same group and level."""
        return sum(self.shares)

    def apart(self, factor: float) -> ScoreModel:
        """Return the model with all means, and so the differences between levels, multiplied by `factor`."""
        return replace(self, mean=self.mean * factor)

    def of_rows(self, rows: Ints, group: Ints) -> ScoreModel:
        """Return the model of the rows numbered `rows`, (k,), in new groups (k,); a row may be taken several times."""
        known = int(self.cell.max()) + 1
        cell = np.unique(group * known + self.cell[rows], return_inverse=True)[1].astype(np.int64)
        return replace(self, mean=self.mean[rows], spread=self.spread[rows], group=group, cell=cell)


def fit_scores(score: Floats, gold: Floats, group: Ints) -> ScoreModel:
    """Return the model of a metric's scores (n,), none of them NaN; gold: (n,), group: (n,) codes."""
    normal = _normal_scores(score)
    level, number = tie_blocks(gold)
    if number > MOST_LEVELS:
        graded = _normal_scores(gold)
        mean = graded * ((graded * normal).sum() / (graded * graded).sum())
        spread = np.full(score.size, (normal - mean).std())
        level = np.zeros_like(level)
    else:
        rows = np.bincount(level)
        mean = (np.bincount(level, normal) / rows)[level]
        spread = _spreads((normal - mean) ** 2, level, group)[level]
    cell = np.unique(group * (int(level.max()) + 1) + level, return_inverse=True)[1].astype(np.int64)
    plain = ScoreModel(mean, spread, group, cell, (0.0, 0.0), np.sort(score))
    rest = _rest(normal, plain)
    shares = _fitted_shares(rest, group, cell)
    # The degrees of freedom at which a row effect with this share of the variance has the kurtosis of the rest; one not
    # more than two standard errors above the normal distribution's gives infinity.
    square = float((rest**2).mean())
    excess = float((rest**4).mean()) / square**2 - 3 if square > 0 else 0.0
    tailed = excess > 2 * math.sqrt(24 / rest.size)
    return replace(plain, shares=shares, freedom=4 + 6 * (1 - sum(shares)) ** 2 / excess if tailed else math.inf)


def _spreads(squares: Floats, level: Ints, group: Ints) -> Floats:
    """Return the standard deviation of each level, (L,), from squared residuals (n,), shrunk to that of all levels.

    A level in few groups shows too little of its spread, since its mean is fitted to the same groups. Its variance has
    one degree of freedom less than the level has effective groups, and that of all levels weighs as `_PRIOR` of them.
    """
    pairs, rows = np.unique(np.c_[level, group], axis=0, return_counts=True)
    of_level = pairs[:, 0]
    effective = np.bincount(of_level, rows) ** 2 / np.bincount(of_level, rows.astype(np.float64) ** 2)
    variance = np.bincount(level, squares) / np.bincount(level)
    return np.asarray(np.sqrt((effective * variance + _PRIOR * squares.mean()) / (effective - 1 + _PRIOR)))


_PRIOR = 10.0


def draw(
    rng: np.random.Generator,
    models: Sequence[ScoreModel],
    correlations: Sequence[float] = (0.0, 0.0, 0.0),
    sign: float = 1.0,
) -> list[Floats]:
    """Return scores (n,) drawn from each model, in the order of `models`; two models are of the same rows.

    correlations: of the effects of a model and of the one before it: (group, level in group, row). sign: 1, or -1 with
    a generator in the same state for the mirror image of a draw: the mean of the two varies little.
    """
    parts: list[Floats] = []
    scores = []
    for model in models:
        sizes = (int(model.group.max()) + 1, int(model.cell.max()) + 1, model.mean.size)
        noise = [sign * rng.normal(size=size) for size in sizes]
        if parts:
            noise = [
                correlation * theirs + math.sqrt(1 - correlation**2) * mine
                for correlation, theirs, mine in zip(correlations, parts, noise, strict=True)
            ]
        parts = noise
        of_group, of_cell = map(math.sqrt, model.shares)
        apart = of_group * parts[0][model.group] + of_cell * parts[1][model.cell]
        residual = parts[2]
        if not math.isinf(model.freedom):  # normal numbers become those of Student's t, scaled to variance 1
            residual = residual * np.sqrt((model.freedom - 2) / rng.chisquare(model.freedom, residual.size))
        apart += math.sqrt(max(1 - model.icc, 0)) * residual
        # The quantiles of the model's values at the ranks of these scores, which have the ties of the values.
        mapped = np.empty(apart.size)
        places = (np.arange(apart.size) * model.values.size) // apart.size
        mapped[np.argsort(model.mean + model.spread * apart)] = model.values[places]
        scores.append(mapped)
    return scores


def correlations_of(metric: tuple[Floats, ScoreModel], other: tuple[Floats, ScoreModel]) -> tuple[float, float, float]:
    """Return the correlations of two models' effects, (group, level in group, row), that fit the scores (n,) of both.

    metric, other: the scores, and the model that was fitted to them, on the same rows. The correlations are those of
    the mean products of two rows of one group, of two of one group and level, and of a row with itself. What an effect
    cannot explain, because one of the metrics lacks it, is left to the next one.
    """
    first, second = (_rest(_normal_scores(score), model) for score, model in (metric, other))
    both = math.sqrt(float((first**2).mean() * (second**2).mean()))
    if not both > 0:
        return 0.0, 0.0, 0.0
    products, pairs = [], []
    for code in (metric[1].group, metric[1].cell, np.arange(first.size)):
        totals = [group_totals(values, code, int(code.max()) + 1) for values in (first, second, np.ones(first.size))]
        products.append(float((totals[0] * totals[1]).sum()))
        pairs.append(float((totals[2] ** 2).sum()))
    shares = [(*model.shares, 1 - model.icc) for _, model in (metric, other)]
    shared = 0.0
    correlations: list[float] = []
    for total, number, mine, theirs in zip(
        -np.diff(products, append=0.0), -np.diff(pairs, append=0.0), *shares, strict=True
    ):
        most = math.sqrt(max(mine * theirs, 0))
        covariance = total / number / both - shared if number else 0.0
        correlations.append(float(np.clip(covariance / most, -_MOST_CORRELATED, _MOST_CORRELATED)) if most > 0 else 0.0)
        shared += correlations[-1] * most
    return correlations[0], correlations[1], correlations[2]


_MOST_CORRELATED, _NO_SPREAD = 0.999, 1e-9


def _rest(normal: Floats, model: ScoreModel) -> Floats:
    spread = model.spread
    return np.divide(normal - model.mean, spread, out=np.zeros_like(normal), where=spread > _NO_SPREAD)


def _normal_scores(values: Floats) -> Floats:
    return np.asarray(ndtri((midranks(values) - 0.5) / values.size), dtype=np.float64)


def _fitted_shares(rest: Floats, group: Ints, cell: Ints) -> tuple[float, float]:
    """Return the pair of `SHARES` with the highest likelihood of the residuals `rest` (n,), their variance free."""
    n_groups, n_cells = int(group.max()) + 1, int(cell.max()) + 1
    group_of = np.zeros(n_cells, dtype=np.int64)
    group_of[cell] = group
    rows, total = np.bincount(cell, minlength=n_cells).astype(np.float64), group_totals(rest, cell, n_cells)
    square = float((rest**2).sum())
    best, shares = -math.inf, SHARES[0]
    if not square:
        return shares
    for of_group, of_cell in SHARES:
        rest_share = 1 - of_group - of_cell
        # Rows alike in both, and those alike in the group alone, are nested blocks of one covariance matrix.
        inner = rest_share + rows * of_cell
        weight = group_totals(rows / inner, group_of, n_groups)
        mean = group_totals(total / inner, group_of, n_groups)
        misfit = (square - (total**2 * of_cell / inner).sum()) / rest_share
        misfit -= (of_group * mean**2 / (1 + of_group * weight)).sum()
        size = rest.size * math.log(rest_share) + np.log(inner / rest_share).sum() + np.log1p(of_group * weight).sum()
        likelihood = -rest.size * math.log(max(misfit, 1e-300)) - size
        if likelihood > best + 1e-9:
            best, shares = likelihood, (of_group, of_cell)
    return shares
