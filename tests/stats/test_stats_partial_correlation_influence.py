"""Contributions of rows to partial correlations of ranks: against derivatives, the jackknife, and spread of samples."""

import numpy as np
import pytest

from metaeval.stats.correlations import partial_correlation, residual_correlation
from metaeval.stats.influence import SIGNED, of_left_out, of_rows
from metaeval.stats.partial_correlation_influence import partial_spearman_by_row, residual_spearman_by_row
from metaeval.stats.resampling import jackknife, replicate, value


def _made(seed, n_groups, n_strata, levels, shift, decimals=9):
    """A row of each stratum in each group: graded gold, and a score that knows the stratum, the group and the gold."""
    rng = np.random.default_rng(seed)
    n = n_groups * n_strata
    code, group = np.arange(n) % n_strata, np.arange(n) // n_strata
    quality = shift * code + 0.5 * rng.normal(size=n_groups)[group] + rng.normal(size=n)
    gold = np.floor(np.clip((quality + 2) / 4, 0, 0.999) * levels)
    score = 0.6 * quality + 0.4 * code + 0.4 * rng.normal(size=n_groups)[group] + rng.normal(size=n)
    return np.round(score, decimals), gold, code, group


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_perfect_correlation_is_1_in_spite_of_rounding(sign):
    # Of 17 ranks the sum of products is 2e-16 above the product of the spreads.
    rank = np.arange(17.0)
    assert partial_spearman_by_row(rank, sign * rank, np.zeros(17, int))[0] == sign


@pytest.mark.parametrize("decimals", [0, 9])
def test_partial_spearman_is_differentiated_by_the_weight_of_each_row(decimals):
    score, gold, code, _ = _made(1, 30, 4, 3, 0.2, decimals)
    each = np.arange(score.size)
    whole, found = partial_spearman_by_row(score, gold, code)

    measure = partial_correlation(score, gold, code, each, score.size, ranks=True)
    # A thousandth of a row more and less of each in turn; the error is of the order of the step squared.
    more, less = (measure.evaluate((1000 + step * np.eye(score.size)).astype(np.uint16)) for step in (1, -1))
    np.testing.assert_allclose(found, (more - less) / 0.002, rtol=0, atol=1e-7 * np.abs(found).max())
    assert found.sum() == pytest.approx(0, abs=1e-12)
    assert whole == pytest.approx(value(measure, score.size), abs=1e-15)


@pytest.mark.parametrize(("n_strata", "levels", "decimals"), [(9, 3, 9), (9, 13, 0), (2, 3, 0), (40, 5, 9)])
def test_standard_errors_of_partial_spearman_are_the_jackknifes(n_strata, levels, decimals):
    score, gold, code, group = _made(0, 500, n_strata, levels, 0.09, decimals)
    measure = partial_correlation(score, gold, code, group, 500, ranks=True)
    left_out = of_left_out(replicate(measure, jackknife(500)), np.bincount(group), SIGNED)

    found = of_rows(*partial_spearman_by_row(score, gold, code), group, 500, SIGNED)
    assert found.standard_error == pytest.approx(left_out.standard_error, rel=0.01)
    assert found.effective_groups == pytest.approx(left_out.effective_groups, rel=0.01)
    np.testing.assert_allclose(found.parts, left_out.parts, rtol=0, atol=0.02 * np.abs(found.parts).max())


@pytest.mark.parametrize(
    ("n_strata", "levels", "shift", "decimals"), [(9, 3, 0.09, 9), (4, 13, 0.09, 0), (2, 3, 0.0, 9), (2, 3, 0.3, 0)]
)
def test_standard_errors_of_residual_spearman_are_the_spread_of_samples(n_strata, levels, shift, decimals):
    values, errors = [], []
    for seed in range(250):
        score, gold, code, group = _made(seed, 200, n_strata, levels, shift, decimals)
        whole, contributions = residual_spearman_by_row(score, gold, code)
        assert whole == pytest.approx(value(residual_correlation(score, gold, code, group, 200), 200), abs=1e-15)
        values.append(whole)
        errors.append(of_rows(whole, contributions, group, 200, SIGNED).standard_error)
    # Of 250 samples, twice the standard error of a spread is 9 %.
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.09)
    assert max(errors) < 2 * np.mean(errors)


def test_leaving_out_groups_goes_wrong_where_strata_nearly_meet():
    # Two systems of one quality on three levels: which of two equal levels is ahead depends on the sample. Without a
    # group nothing changes places in most samples, and everything in some.
    errors = []
    for seed in range(40):
        score, gold, code, group = _made(seed, 200, 2, 3, 0.0)
        found = replicate(residual_correlation(score, gold, code, group, 200), jackknife(200))
        by_row = of_rows(*residual_spearman_by_row(score, gold, code), group, 200, SIGNED)
        errors.append(of_left_out(found, np.bincount(group), SIGNED).standard_error / by_row.standard_error)
    assert 0.9 < np.median(errors) < 1.1
    assert max(errors) > 2


def test_values_of_any_size_contribute_alike():
    score, gold, code, _ = _made(2, 50, 4, 5, 0.2)
    whole, found = residual_spearman_by_row(score, gold, code)
    other, shifted = residual_spearman_by_row(score * 2.0**600, gold, code)
    assert other == whole
    np.testing.assert_allclose(shifted, found, rtol=0, atol=1e-15)
    assert found.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("by_row", [partial_spearman_by_row, residual_spearman_by_row])
def test_a_column_that_only_knows_the_stratum_has_no_coefficient(by_row):
    score, gold, code, _ = _made(2, 50, 4, 5, 0.2)
    for columns in ((code / 3, gold), (score, code / 7)):
        whole, contributions = by_row(*columns, code)
        assert np.isnan(whole)
        assert not contributions.any()
