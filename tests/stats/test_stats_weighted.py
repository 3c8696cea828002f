"""ROC-AUC, average precision and the three correlations: against scipy and scikit-learn, with and without weights."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import average_precision_score, roc_auc_score

from metaeval.stats.classification import average_precision, roc_auc
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.resampling import Draws, Prepared, bootstrap, replicate


def _auc(score, gold, group, n_groups):
    return roc_auc(score, gold >= 1, group, n_groups)


def _ap(score, gold, group, n_groups):
    return average_precision(score, gold >= 1, group, n_groups)


def spearman(score, gold, group, n_groups):
    both = rank_correlations(score, gold, group, n_groups)
    return Prepared(lambda tile: both.evaluate(tile)[0], both.groups)


def kendall(score, gold, group, n_groups):
    both = rank_correlations(score, gold, group, n_groups)
    return Prepared(lambda tile: both.evaluate(tile)[1], both.groups)


def _given(weights):
    """Draws of these very weights, (n, n_groups)."""
    return Draws(*weights.shape, lambda number: np.ascontiguousarray(weights.T.astype(np.uint8)))


def _reference(measure, score, gold):
    """The same number from scipy or scikit-learn; NaN where the measure is undefined."""
    if measure in (_auc, _ap):
        if np.unique(gold >= 1).size < 2:
            return float("nan")
        official = roc_auc_score if measure is _auc else average_precision_score
        return float(official(gold >= 1, score))
    if np.unique(score).size < 2 or np.unique(gold).size < 2:
        return float("nan")
    official = {pearson: scipy_stats.pearsonr, spearman: scipy_stats.spearmanr, kendall: scipy_stats.kendalltau}[
        measure
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(official(score, gold)[0])


def _point(measure, score, gold):
    group = np.arange(score.size) % 3
    return float(replicate(measure(score, gold, group, 3), _given(np.ones((1, 3), dtype=np.uint8)))[0])


MEASURES = [_auc, _ap, pearson, spearman, kendall]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=["auc", "ap", "pearson", "spearman", "kendall"])


def _sample(seed, n, distinct, levels=3):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, levels, n) * 2 / (levels - 1)  # `levels` distinct values from 0 to 2
    score = np.round((gold + rng.normal(size=n)) * distinct) / distinct
    return score, gold, rng.integers(0, max(1, n // 5), n)


@every_measure
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_agrees_on_tiny_tied_inputs(measure, rows):
    score, gold = np.array(rows, dtype=float).T
    assert _point(measure, score, gold) == pytest.approx(_reference(measure, score, gold), abs=1e-12, nan_ok=True)


@every_measure
def test_a_resample_that_loses_a_class_or_all_variation_is_undefined(measure):
    # Group 0 holds the only row with gold >= 1; without it neither a class nor a second gold level is left.
    score, gold, group = np.array([0.3, 0.1, 0.2]), np.array([1.0, 0.0, 0.0]), np.array([0, 1, 2])
    values = replicate(measure(score, gold, group, 3), _given(np.array([[1, 1, 1], [0, 2, 1], [3, 0, 0]])))
    assert not np.isnan(values[0])
    assert np.isnan(values[1:]).all()


@every_measure
@pytest.mark.parametrize("levels", [3, 100])
def test_values_do_not_depend_on_how_many_are_asked_for_to_the_last_bit(measure, levels):
    score, gold, group = _sample(3, 500, 10**9, levels)
    prepared, draws = measure(score, gold, group, 100), bootstrap(100, 150, seed=2)
    whole = replicate(prepared, draws)
    assert replicate(prepared, bootstrap(100, 40, seed=2)).tobytes() == whole[:41].tobytes()
    one_by_one = [prepared.evaluate(tile[:, [r]]) for tile in draws for r in range(tile.shape[1])]
    assert np.concatenate(one_by_one).tobytes() == whole.tobytes()


@pytest.mark.parametrize("measure", [_auc, _ap, spearman, kendall], ids=["auc", "ap", "spearman", "kendall"])
def test_rank_measures_ignore_a_monotone_transform(measure):
    score, gold, group = _sample(6, 200, 3)
    weights = bootstrap(40, 10, seed=0)
    values = replicate(measure(score, gold, group, 40), weights)
    transformed = replicate(measure(np.exp(score) * 1e-9 - 5, gold, group, 40), weights)
    assert transformed.tobytes() == values.tobytes()


@every_measure
def test_one_class_and_no_rows_are_undefined(measure):
    assert np.isnan(_point(measure, np.array([0.1, 0.2, 0.3]), np.ones(3)))
    assert np.isnan(_point(measure, np.array([]), np.array([])))


@pytest.mark.parametrize(("offset", "tolerance"), [(0.0, 1e-12), (1e6, 1e-9), (1e-300, 1e-12)])
def test_pearson_survives_an_offset(offset, tolerance):
    score, gold, _ = _sample(9, 500, 10**9)
    expected = scipy_stats.pearsonr(score, gold).statistic
    assert _point(pearson, score + offset, gold) == pytest.approx(expected, abs=tolerance)


def test_pearson_survives_huge_tiny_and_wild_scores():
    score, gold, group = _sample(10, 500, 10**9)
    expected = scipy_stats.pearsonr(score, gold).statistic
    assert _point(pearson, score * 1e300, gold) == pytest.approx(expected, abs=1e-12)
    assert _point(pearson, score * 1e-300, gold) == pytest.approx(expected, abs=1e-12)
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


@every_measure
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_unusable_scores_are_named(measure, bad):
    with pytest.raises(ValueError, match=rf"score must be finite, got {bad} at row 1"):
        measure(np.array([0.0, bad]), np.array([0.0, 1]), np.array([0, 1]), 2)


@every_measure
def test_unlike_lengths_and_stray_groups_are_named(measure):
    with pytest.raises(ValueError, match=r"score \(2,\), gold \(3,\)"):
        measure(np.zeros(2), np.zeros(3), np.zeros(2, dtype=int), 1)
    with pytest.raises(ValueError, match=r"group codes must lie in 0 \.\. 1, got 0 \.\. 2"):
        measure(np.zeros(2), np.zeros(2), np.array([0, 2]), 2)
