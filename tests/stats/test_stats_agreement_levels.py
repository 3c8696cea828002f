"""Coefficients on gold of few and of many distinct values: against scipy, scikit-learn and a count of every pair.

Each plain and under weights, which must be the same as repeated rows; in
measures of pairs without those of a row and the copy of another.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn.metrics import average_precision_score, roc_auc_score

from metaeval.stats.classification import average_precision, roc_auc
from metaeval.stats.correlations import concordance, pearson, rank_correlations
from metaeval.stats.resampling import Draws, bootstrap, replicate


def _won(score, gold):
    """Concordance by looking at every pair of rows."""
    higher, lower = np.nonzero(gold[:, None] > gold[None, :])
    if not higher.size:
        return float("nan")
    return float(np.mean((np.sign(score[higher] - score[lower]) + 1) / 2))


def _official(function):
    """scipy's coefficient, NaN on constant columns without its warning."""

    def coefficient(score, gold):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(function(score, gold)[0])

    return coefficient


def _top(gold):
    """The rows of the lowest half, in values, of the gold against the rest."""
    return gold > 0.5


MEASURES = {
    "pearson": (lambda s, y, g, d: replicate(pearson(s, y, g, d.n_groups), d), _official(scipy_stats.pearsonr)),
    "spearman": (
        lambda s, y, g, d: replicate(rank_correlations(s, y, g, d.n_groups), d)[0],
        _official(scipy_stats.spearmanr),
    ),
    "kendall": (
        lambda s, y, g, d: replicate(rank_correlations(s, y, g, d.n_groups), d)[1],
        _official(scipy_stats.kendalltau),
    ),
    "concordance": (lambda s, y, g, d: replicate(concordance(s, y, g, d.n_groups), d), _won),
    "auc": (
        lambda s, y, g, d: replicate(roc_auc(s, _top(y), g, d.n_groups), d),
        lambda s, y: float(roc_auc_score(_top(y), s)),
    ),
    "ap": (
        lambda s, y, g, d: replicate(average_precision(s, _top(y), g, d.n_groups), d),
        lambda s, y: float(average_precision_score(_top(y), s)),
    ),
}
every_measure = pytest.mark.parametrize("name", list(MEASURES))
many_levels = pytest.mark.parametrize("levels", [2, 3, 8, 9, 15, 100, 1000])
scores = pytest.mark.parametrize("decimals", [0, 1, 12], ids=["heavy ties", "ties", "no ties"])


def _sample(levels, decimals, n=1500):
    """`levels` distinct gold values between 0 and 1, each of them present, with groups of about 10 rows."""
    rng = np.random.default_rng([levels, decimals])
    gold = np.concatenate((np.arange(levels), rng.integers(0, levels, n - levels))) / (levels - 1)
    assert np.unique(gold).size == levels
    score = np.round(2 * gold + rng.normal(size=n), decimals)
    return score, gold, rng.integers(0, n // 10, n)


@cache
def _by_the_official_function(name, levels, decimals):
    score, gold, _ = _sample(levels, decimals)
    return MEASURES[name][1](score, gold)


@every_measure
@many_levels
@scores
def test_agrees_with_the_official_function(name, levels, decimals):
    score, gold, group = _sample(levels, decimals)
    found = MEASURES[name][0](score, gold, group, bootstrap(150, 0, 0))[0]
    assert found == pytest.approx(_by_the_official_function(name, levels, decimals), abs=1e-12)


@every_measure
@pytest.mark.parametrize("levels", [2, 3, 15, 100, 300])
@scores
def test_weights_are_repeated_rows(name, levels, decimals, pairs_of):
    values, _ = MEASURES[name]
    score, gold, group = _sample(levels, decimals, n=400)
    draws = bootstrap(40, 5, seed=2)
    found = values(score, gold, group, draws)
    for weights, value in zip(np.concatenate(list(draws), axis=1).T, found, strict=True):
        assert value == pytest.approx(_repeated(name, score, gold, group, weights, pairs_of), abs=1e-12)


def _repeated(name, score, gold, group, weights, pairs_of):
    """The measure of repeated rows, or of every pair of rows of two groups and of one."""
    if name in ("auc", "concordance", "kendall"):
        return pairs_of(score, _top(gold).astype(float) if name == "auc" else gold, group, weights)[name]
    rows = np.repeat(np.arange(group.size), weights[group])
    return MEASURES[name][1](score[rows], gold[rows])


@every_measure
@pytest.mark.parametrize("n_groups", [1, 2, 150])
def test_the_number_of_groups_changes_no_value_of_the_whole_sample(name, n_groups):
    values, official = MEASURES[name]
    score, gold, group = _sample(3, 1)
    found = values(score, gold, group % n_groups, bootstrap(n_groups, 0, 0))
    assert found[0] == pytest.approx(official(score, gold), abs=1e-12)


@every_measure
@pytest.mark.parametrize("levels", [3, 20])
def test_weights_beyond_a_byte_are_repeated_rows(name, levels, pairs_of):
    # 20 groups of 5, one of them drawn 300 times: the counts need two bytes, and their products more than two.
    values, _ = MEASURES[name]
    score, gold, group = _sample(levels, 1, n=100)
    group = group % 20
    weights = np.ones((20, 2), dtype=np.uint16)
    weights[3, 1], weights[4, 1] = 300, 0
    found = values(score, gold, group, Draws(2, 20, lambda number: weights))
    assert found[1] == pytest.approx(_repeated(name, score, gold, group, weights[:, 1], pairs_of), abs=1e-12)
