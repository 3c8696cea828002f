"""Correlation inside strata: against regression on dummies, FRANK's published rows, and repeated rows."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

from metaeval.stats.correlations import partial_correlation, residual_correlation, within_strata
from metaeval.stats.resampling import Draws, bootstrap, jackknife, replicate, value


def partial_pearson(score, gold, stratum):
    return value(partial_correlation(score, gold, stratum, np.zeros(len(stratum), dtype=np.int64), 1, ranks=False), 1)


def partial_spearman(score, gold, stratum):
    return value(partial_correlation(score, gold, stratum, np.zeros(len(stratum), dtype=np.int64), 1, ranks=True), 1)


def residual_spearman(score, gold, stratum):
    return value(residual_correlation(score, gold, stratum, np.zeros(len(stratum), dtype=np.int64), 1), 1)


def _residuals(values, stratum):
    """What least squares on one dummy column per stratum leaves."""
    dummies = (stratum[:, None] == np.unique(stratum)).astype(float)
    return values - dummies @ np.linalg.lstsq(dummies, values, rcond=None)[0]


def _sample(seed, n, n_strata, decimals=9):
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, n_strata, size=n)
    gold = np.clip(rng.integers(0, 3, size=n) + (stratum % 2), 0, 2).astype(float)
    score = np.round(gold + 2 * stratum + rng.normal(size=n), decimals)
    return score, gold, stratum


@pytest.mark.parametrize("n_strata", [1, 2, 9, 40])
@pytest.mark.parametrize("decimals", [0, 9])
def test_agrees_with_regression_on_dummies(n_strata, decimals):
    for seed in range(3):
        score, gold, stratum = _sample(seed, 200, n_strata, decimals)
        x, y = _residuals(score, stratum), _residuals(gold, stratum)
        assert within_strata(score, stratum) == pytest.approx(x, abs=1e-12)
        assert partial_pearson(score, gold, stratum) == pytest.approx(pearsonr(x, y)[0], abs=1e-12)
        # Least squares leaves rounding that would order equal residuals; 9 decimals put them together again.
        ranked = spearmanr(np.round(x, 9), np.round(y, 9))[0]
        assert residual_spearman(score, gold, stratum) == pytest.approx(ranked, abs=1e-12)
        rx, ry = _residuals(rankdata(score), stratum), _residuals(rankdata(gold), stratum)
        assert partial_spearman(score, gold, stratum) == pytest.approx(pearsonr(rx, ry)[0], abs=1e-12)


def test_little_or_no_variation_inside_the_strata():
    # Ranks 1 and 2 less their mean are -1/2 and 1/2: spread 1/2, product 1/2 where the orders agree.
    score, one_stratum = np.array([0.1, 0.2]), np.zeros(2, dtype=np.int64)
    assert residual_spearman(score, np.array([0.0, 1]), one_stratum) == pytest.approx(1)
    assert residual_spearman(score, np.array([1.0, 0]), one_stratum) == pytest.approx(-1)
    # Good systems get high scores, whatever the row: .9 over all rows, undefined inside the systems.
    gold = np.repeat([0.0, 2.0], 50)
    gold[[3, 60]] = 1
    stratum = np.repeat([0, 1], 50)
    score = stratum + 0.1
    assert pearsonr(score, gold)[0] > 0.9
    for measure in (partial_pearson, partial_spearman, residual_spearman):
        assert math.isnan(measure(score, gold, stratum))


def test_large_values_keep_their_small_differences():
    score, gold, stratum = _sample(0, 300, 5, 3)
    expected = partial_pearson(score, gold, stratum)
    # Multiples of 2**-10 below 2**40 are exact floats, so that only the shift is tested.
    coarse = np.round(score * 1024) / 1024
    exact = partial_pearson(coarse, gold, stratum)
    assert exact == pytest.approx(expected, abs=1e-3)
    assert partial_pearson(coarse + 2.0**39, gold, stratum) == pytest.approx(exact, abs=1e-12)
    assert partial_pearson(score * 1e200, gold, stratum) == pytest.approx(expected, abs=1e-12)


def test_rounding_does_not_order_equal_residuals():
    # Strata of three rows with the same residuals about means that no float holds, 1/3 apart from integers.
    score = np.concatenate([np.array([0.0, 0.0, 1.0]) + shift for shift in np.linspace(0, 1, 41)])
    gold = np.tile([0.0, 1.0, 2.0], 41)
    stratum = np.repeat(np.arange(41), 3)
    # Three rows or 41 times three: residuals (-1, -1, 2) / 3 v. (-1, 0, 1): ranks (1.5, 1.5, 3) v. (1, 2, 3).
    expected = spearmanr([0.0, 0.0, 1.0], [0.0, 1.0, 2.0])[0]
    assert residual_spearman(score, gold, stratum) == pytest.approx(expected, abs=1e-12)


WEIGHTED = {
    "pearson": (partial_pearson, lambda *rows: partial_correlation(*rows, ranks=False)),
    "spearman": (partial_spearman, lambda *rows: partial_correlation(*rows, ranks=True)),
    "residual spearman": (residual_spearman, residual_correlation),
}
every_form = pytest.mark.parametrize("name", list(WEIGHTED))


@every_form
@pytest.mark.parametrize(("n", "n_strata", "decimals"), [(150, 4, 9), (150, 4, 0), (40, 12, 0), (3, 2, 0)])
def test_weights_are_repeated_rows(name, n, n_strata, decimals):
    plain, prepare = WEIGHTED[name]
    score, gold, stratum = _sample(1, n, n_strata, decimals)
    group = np.random.default_rng(2).integers(0, 20, size=n)
    draws = bootstrap(20, 30, seed=3)
    prepared = prepare(score, gold, stratum, group, 20)
    values = replicate(prepared, draws)
    columns = np.concatenate(list(draws), axis=1).T
    for weights, found in zip(columns, values, strict=True):
        rows = np.repeat(np.arange(n), weights[group].astype(int))
        expected = plain(score[rows], gold[rows], stratum[rows])
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert values[0] == pytest.approx(plain(score, gold, stratum), abs=1e-12, nan_ok=True)
    assert prepared.groups == np.unique(group).size


@pytest.mark.parametrize(("n", "n_strata", "decimals"), [(150, 1, 9), (150, 4, 9), (150, 5, 0), (40, 12, 0), (3, 2, 0)])
@pytest.mark.parametrize("wild", [0.0, 1e3], ids=["", "wild score"])
def test_the_one_pass_jackknife_is_the_brute_one(n, n_strata, decimals, wild):
    score, gold, stratum = _sample(1, n, n_strata, decimals)
    score[n // 20] += wild
    # Twenty groups, of which some hold no row; one stratum lies in one group alone.
    group = np.where(stratum == 0, 7, np.random.default_rng(2).integers(0, 19, size=n))
    prepared = partial_correlation(score, gold, stratum, group, 20, ranks=False)
    brute = replicate(dataclasses.replace(prepared, left_out=None), jackknife(20))
    np.testing.assert_allclose(replicate(prepared, jackknife(20)), brute, rtol=0, atol=1e-12)


@every_form
def test_a_left_out_group_can_take_all_variation_with_it(name):
    # The score varies in group 2 alone, and the gold in every stratum.
    score, gold = np.array([1.0, 1, 1, 2, 3, 7]), np.array([0.0, 1, 2, 0, 1, 3])
    stratum, group = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 0, 2, 2, 2])
    values = replicate(WEIGHTED[name][1](score, gold, stratum, group, 3), jackknife(3))
    assert np.isnan(values).tolist() == [False, False, False, True]


@every_form
def test_no_digit_depends_on_the_columns_beside(name):
    score, gold, stratum = _sample(4, 400, 6)
    group = np.random.default_rng(2).integers(0, 50, size=400)
    prepared = WEIGHTED[name][1](score, gold, stratum, group, 50)
    tile = next(iter(bootstrap(50, 40, seed=1)))
    together = prepared.evaluate(tile)
    alone = np.concatenate([prepared.evaluate(tile[:, [j]]) for j in range(tile.shape[1])])
    assert together.tolist() == alone.tolist()


@every_form
def test_undefined_resamples(name):
    # In 30 strata of three rows only the row of group 0 stands apart: without that group nothing is left to correlate,
    # however often the others are drawn and however their sums are rounded.
    rng = np.random.default_rng(0)
    stratum, apart = np.repeat(np.arange(30), 3), np.tile([1, 0, 0], 30)
    score = rng.normal(size=30)[stratum] + 0.7 * apart
    gold = stratum / 7 + apart / 3
    group = np.where(apart == 1, 0, 1 + stratum % 7)
    weights = np.stack([np.repeat([0, 1], 60), *rng.integers(1, 9, size=(7, 120))])
    values = WEIGHTED[name][1](score, gold, stratum, group, 8).evaluate(weights.astype(np.uint8))
    assert np.isnan(values).tolist() == [True] * 60 + [False] * 60


@pytest.mark.parametrize("far", [2.0**22, -(2.0**24)])
def test_a_group_that_is_not_drawn_hides_no_difference_among_the_others(far):
    # What is left spreads less than rounding could leave of a constant; these sums are exact.
    gold, score = np.array([0.0, 1, 1, 1, 0, 0, 1, 1]), np.array([0.0, 1, 0, 1, far, far, far, far])
    group = np.repeat([0, 1], 4)
    weights = np.array([[1, 1], [1, 0]], dtype=np.uint8)
    for kept, expected in ((score, pearsonr(score[:4], gold[:4])[0]), (np.repeat(score[3:5], 4), np.nan)):
        measure = partial_correlation(kept, gold, np.zeros(8, dtype=np.int64), group, 2, ranks=False)
        found = replicate(measure, Draws(2, 2, lambda number: weights))
        assert found[1] == pytest.approx(expected, abs=1e-6, nan_ok=True)
