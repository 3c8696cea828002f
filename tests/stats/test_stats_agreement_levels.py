"""Correlations, areas and average precision on gold of few and of many values: scipy, scikit-learn, every pair counted.

Each plain and under weights, which must be the same as repeated rows; in measures of pairs without those of a row and
the copy of another.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import average_precision_score, roc_auc_score

from metaeval.stats.classification import average_precision, roc_auc
from metaeval.stats.correlations import concordance, pearson, rank_correlations
from metaeval.stats.resampling import Draws, Prepared, bootstrap, replicate


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
            return float(function(score, gold)[0]) if score.size > 1 else float("nan")

    return coefficient


def _top(gold):
    """The rows of the highest values of the gold against the rest."""
    return gold > 0.5


def _of_classes(function):
    return lambda s, y: float(function(_top(y), s)) if np.unique(_top(y)).size == 2 else float("nan")


def _ranked(place):
    def prepare(*columns):
        both = rank_correlations(*columns)
        return Prepared(lambda tile: both.evaluate(tile)[place], both.groups)

    return prepare


# Each prepared from score, gold, group and number of groups.
MEASURES = {
    "pearson": (pearson, _official(scipy_stats.pearsonr)),
    "spearman": (_ranked(0), _official(scipy_stats.spearmanr)),
    "kendall": (_ranked(1), _official(scipy_stats.kendalltau)),
    "concordance": (concordance, _won),
    "auc": (lambda s, y, *groups: roc_auc(s, _top(y), *groups), _of_classes(roc_auc_score)),
    "ap": (lambda s, y, *groups: average_precision(s, _top(y), *groups), _of_classes(average_precision_score)),
}
every_measure = pytest.mark.parametrize("name", list(MEASURES))
many_levels = pytest.mark.parametrize("levels", [2, 3, 15, 1000])
scores = pytest.mark.parametrize("decimals", [0, 1, 12], ids=["heavy ties", "ties", "no ties"])


def _sample(levels, decimals, n=1500):
    """`levels` distinct gold values between 0 and 1, each of them present, with groups of about 10 rows."""
    rng = np.random.default_rng([levels, decimals])
    gold = np.concatenate((np.arange(levels), rng.integers(0, levels, n - levels))) / (levels - 1)
    assert np.unique(gold).size == levels
    score = np.round(2 * gold + rng.normal(size=n), decimals)
    return score, gold, rng.integers(0, n // 10, n)


@every_measure
@many_levels
@scores
def test_agrees_with_the_official_function(name, levels, decimals):
    score, gold, group = _sample(levels, decimals)
    found = replicate(MEASURES[name][0](score, gold, group, 150), bootstrap(150, 0, 0))[0]
    assert found == pytest.approx(MEASURES[name][1](score, gold), abs=1e-12)


@every_measure
@pytest.mark.parametrize("levels", [2, 3, 100, 300])
@scores
def test_weights_are_repeated_rows(name, levels, decimals, pairs_of):
    score, gold, group = _sample(levels, decimals, n=400)
    draws = bootstrap(40, 5, seed=2)
    found = replicate(MEASURES[name][0](score, gold, group, 40), draws)
    for weights, value in zip(np.concatenate(list(draws), axis=1).T, found, strict=True):
        assert value == pytest.approx(_repeated(name, score, gold, group, weights, pairs_of), abs=1e-12)


def _repeated(name, score, gold, group, weights, pairs_of):
    """The measure of repeated rows, or of every pair of rows of two groups and of one."""
    if name in ("auc", "concordance", "kendall"):
        return pairs_of(score, _top(gold).astype(float) if name == "auc" else gold, group, weights)[name]
    rows = np.repeat(np.arange(group.size), weights[group])
    return MEASURES[name][1](score[rows], gold[rows])


@every_measure
@pytest.mark.parametrize("levels", [3, 20])
def test_weights_beyond_a_byte_are_repeated_rows(name, levels, pairs_of):
    # 20 groups of 5, one of them drawn 300 times: the counts need two bytes, and their products more than two.
    score, gold, group = _sample(levels, 1, n=100)
    group = group % 20
    weights = np.ones((20, 2), dtype=np.uint16)
    weights[3, 1], weights[4, 1] = 300, 0
    found = replicate(MEASURES[name][0](score, gold, group, 20), Draws(2, 20, lambda number: weights))
    assert found[1] == pytest.approx(_repeated(name, score, gold, group, weights[:, 1], pairs_of), abs=1e-12)


def _given(weights):
    """Draws of these very weights, (n, n_groups)."""
    return Draws(*weights.shape, lambda number: np.ascontiguousarray(weights.T.astype(np.uint8)))


def _point(name, score, gold):
    group = np.arange(score.size) % 3
    return float(replicate(MEASURES[name][0](score, gold, group, 3), bootstrap(3, 0, 0))[0])


@every_measure
@given(rows=st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_agrees_on_tiny_tied_inputs(name, rows):
    score, gold = np.array(rows, dtype=float).T
    assert _point(name, score, gold) == pytest.approx(MEASURES[name][1](score, gold), abs=1e-12, nan_ok=True)


@every_measure
def test_a_resample_that_loses_a_class_or_all_variation_is_undefined(name):
    # Group 0 holds the only row with gold >= 1; without it neither a class nor a second gold level is left.
    score, gold, group = np.array([0.3, 0.1, 0.2]), np.array([1.0, 0.0, 0.0]), np.array([0, 1, 2])
    values = replicate(MEASURES[name][0](score, gold, group, 3), _given(np.array([[1, 1, 1], [0, 2, 1], [3, 0, 0]])))
    assert not np.isnan(values[0])
    assert np.isnan(values[1:]).all()


@every_measure
@pytest.mark.parametrize("levels", [3, 100])
def test_values_do_not_depend_on_how_many_are_asked_for_to_the_last_bit(name, levels):
    score, gold, group = _sample(levels, 9, n=500)
    prepared, draws = MEASURES[name][0](score, gold, group, 50), bootstrap(50, 150, seed=2)
    whole = replicate(prepared, draws)
    assert replicate(prepared, bootstrap(50, 40, seed=2)).tobytes() == whole[:41].tobytes()
    one_by_one = [prepared.evaluate(tile[:, [r]]) for tile in draws for r in range(tile.shape[1])]
    assert np.concatenate(one_by_one).tobytes() == whole.tobytes()


@every_measure
def test_one_class_and_no_rows_are_undefined(name):
    assert np.isnan(_point(name, np.array([0.1, 0.2, 0.3]), np.ones(3)))
    assert np.isnan(_point(name, np.array([]), np.array([])))


@pytest.mark.parametrize(("offset", "tolerance"), [(0.0, 1e-12), (1e6, 1e-9), (1e-300, 1e-12)])
def test_pearson_survives_an_offset(offset, tolerance):
    score, gold, _ = _sample(3, 9, n=500)
    expected = scipy_stats.pearsonr(score, gold).statistic
    assert _point("pearson", score + offset, gold) == pytest.approx(expected, abs=tolerance)


def test_pearson_survives_huge_tiny_and_wild_scores():
    score, gold, group = _sample(3, 9, n=500)
    expected = scipy_stats.pearsonr(score, gold).statistic
    assert _point("pearson", score * 1e300, gold) == pytest.approx(expected, abs=1e-12)
    assert _point("pearson", score * 1e-300, gold) == pytest.approx(expected, abs=1e-12)
    # One wild row in a group of its own, which the resample leaves out: the rest must not lose digits to it.
    wild = pearson(np.append(score, 1e10), np.append(gold, 0), np.append(group, 100), 101)
    weights = np.ones((1, 101), dtype=np.uint8)
    weights[0, 100] = 0
    assert replicate(wild, _given(weights))[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [3, 7, 50, 1001])
def test_pearson_knows_a_constant_from_rounding_noise(n):
    # Without group 0 every level is 0.7, far from the median 0.1: sums of squares alone would leave noise, not zero.
    rng = np.random.default_rng(n)
    gold, group = np.repeat([0.1, 0.7], [2 * n, n]), np.repeat([0, 1], [2 * n, n])
    weights = np.array([[1, 1], [0, 1], [0, 3], [3, 0]], dtype=np.uint8)
    for score, levels in ((rng.normal(size=3 * n), gold), (gold, rng.normal(size=3 * n))):
        found = replicate(pearson(score, levels, group, 2), _given(weights))
        assert np.isnan(found).tolist() == [False, True, True, True]


def test_pearson_knows_a_small_spread_from_a_constant():
    # Groups 1 and 2 differ by a millionth, a million times as far from the median as from each other: drawn once each,
    # they are two values all the same. Group 1 alone is one.
    level, score = np.array([0.0, 0, 0, 0, 0, 1, 1 + 1e-6]), np.arange(7.0)
    group = np.array([0, 0, 0, 0, 0, 1, 2])
    weights = np.array([[0, 1, 1], [0, 2, 0]], dtype=np.uint8)
    for pair in ((score, level), (level, score)):
        found = replicate(pearson(*pair, group, 3), _given(weights))
        assert np.isnan(found).tolist() == [False, True]
