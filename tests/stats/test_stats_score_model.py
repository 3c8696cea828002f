"""Scores drawn like those of a metric: what is fitted, and what a draw keeps."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from metaeval.stats.score_model import SHARES, _fitted_shares, correlations_of, draw, fit_scores


def rows(groups=400, shares=(0.3, 0.2), seed=3, size=6):
    """Score, gold and group: levels 1 apart, errors that a group, and a level in it, share."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    gold = (rng.random(group.size) < 0.5) * 1.0
    cell = group * 2 + gold.astype(np.int64)
    parts = rng.normal(size=groups)[group], rng.normal(size=2 * groups)[cell], rng.normal(size=group.size)
    weights = np.sqrt([*shares, 1 - sum(shares)])
    return gold + sum(weight * part for weight, part in zip(weights, parts, strict=True)), gold, group


def test_the_shares_are_the_likeliest_of_a_normal_distribution():
    score, gold, group = rows(groups=12, size=4)
    rest = score - np.where(gold == 1, score[gold == 1].mean(), score[gold == 0].mean())
    cell = np.unique(group * 2 + gold.astype(np.int64), return_inverse=True)[1]

    def likelihood(shares):
        same_group, same_cell = group[:, None] == group, cell[:, None] == cell
        covariance = shares[0] * same_group + shares[1] * same_cell + (1 - sum(shares)) * np.eye(rest.size)
        # The variance that makes these values likeliest, in closed form.
        variance = rest @ np.linalg.solve(covariance, rest) / rest.size
        return multivariate_normal(cov=variance * covariance).logpdf(rest)

    assert _fitted_shares(rest, group, cell) == max(SHARES, key=likelihood)


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.4), (0.2, 0.3)])
def test_what_a_draw_is_made_with_is_found_again(shares):
    score, gold, group = rows(shares=shares)
    model = fit_scores(score, gold, group)
    again = fit_scores(draw(np.random.default_rng(5), [model])[0], gold, group)

    for found in (model, again):
        assert found.shares == pytest.approx(shares, abs=0.11)
        assert found.icc == pytest.approx(sum(shares), abs=0.11)


def test_a_draw_has_the_same_scores_and_so_the_same_ties():
    score, gold, group = rows()
    tied = np.round(score)
    model = fit_scores(tied, gold, group)
    drawn = draw(np.random.default_rng(1), [model])[0]

    assert np.array_equal(np.sort(drawn), np.sort(tied))
    assert not np.array_equal(drawn, tied)
    # Rows taken twice have every score twice.
    twice = model.of_rows(np.tile(np.arange(gold.size), 2), np.concatenate((group, group + group.max() + 1)))
    assert np.array_equal(np.sort(draw(np.random.default_rng(1), [twice])[0]), np.repeat(np.sort(tied), 2))
    assert np.unique(twice.cell).size == 2 * np.unique(model.cell).size


def test_two_metrics_err_together_as_theirs_do():
    # other = 0.7 score + 0.5 noise of its own: the parts of group and level are the same in both; the own parts
    # correlate by 0.7 sqrt(.5) / sqrt(.49 * .5 + .25) = .704.
    score, gold, group = rows(groups=2000)
    other = 0.7 * score + 0.5 * np.random.default_rng(8).normal(size=gold.size)
    models = [fit_scores(one, gold, group) for one in (score, other)]
    expected = correlations_of((score, models[0]), (other, models[1]))
    drawn = draw(np.random.default_rng(2), models, expected)
    again = [fit_scores(one, gold, group) for one in drawn]

    assert expected == pytest.approx((0.99, 0.99, 0.704), abs=0.06)
    assert correlations_of((drawn[0], again[0]), (drawn[1], again[1])) == pytest.approx(expected, abs=0.06)


def test_what_metrics_share_in_one_part_alone_is_found_there():
    # Two metrics of unrelated errors, but for the shift of a group and level, which both have.
    rng = np.random.default_rng(6)
    group, gold = np.repeat(np.arange(2000), 6), np.tile([0.0, 1.0], 6000)
    shift = rng.normal(size=4000)[group * 2 + gold.astype(np.int64)]
    pair = [gold + np.sqrt(0.5) * (shift + rng.normal(size=gold.size)) for _ in range(2)]
    fitted = [(score, fit_scores(score, gold, group)) for score in pair]

    assert correlations_of(*fitted) == pytest.approx((0.0, 0.97, 0.0), abs=0.06)
    # Rows without a group in common: all that the errors share is in the own part.
    alone = np.arange(gold.size)
    fitted = [(score, fit_scores(score, gold, alone)) for score in pair]
    assert correlations_of(*fitted) == pytest.approx((0.0, 0.0, 0.5), abs=0.03)
    # A constant metric errs with nobody.
    flat = np.zeros(gold.size)
    assert correlations_of(fitted[0], (flat, fit_scores(flat, gold, alone))) == (0.0, 0.0, 0.0)


def test_many_gold_values_are_a_slope():
    rng = np.random.default_rng(4)
    gold, group = rng.normal(size=600), np.repeat(np.arange(100), 6)
    model = fit_scores(gold + rng.normal(size=600), gold, group)
    assert np.corrcoef(model.mean, gold)[0, 1] > 0.99
    constant = fit_scores(np.zeros(600), gold, group)
    assert constant.shares == (0.0, 0.0)
    assert not draw(rng, [constant])[0].any()


@pytest.mark.parametrize("levels", [10, 11])
def test_up_to_10_levels_have_means_of_their_own(levels):
    rng = np.random.default_rng(levels)
    gold, group = rng.integers(0, levels, 600) * 1.0, np.arange(600) // 6
    model = fit_scores(rng.normal(size=600) + (gold % 2), gold, group)
    means = np.unique(np.c_[gold, model.mean], axis=0)[:, 1]
    assert (np.abs(np.sign(np.diff(means)).sum()) == levels - 1) == (levels > 10)  # more lie on a line
    assert fit_scores(group * 1.0, gold, group).icc == 0.99  # least of the rows is their own
