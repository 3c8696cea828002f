"""Ranges over annotators' votes, against every choice written out."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from metaeval.stats.vote_choices import measure_value, range_over_votes, values_of_random_votes, votes_of_gold

RNG = np.random.default_rng(2)
N = 14
VOTES = (RNG.random((N, 3)) < 0.5).astype(float)
VOTES[:4] = [[1, 1, 1], [0, 0, 0], [1, np.nan, 1], [0, np.nan, np.nan]]
SCORE, OTHER = np.round(RNG.normal(size=(2, N)), 1)
REFERENCE = {"area": lambda labels, score: roc_auc_score(labels, score), "spearman": lambda *both: spearmanr(*both)[0]}


def choices(votes=VOTES):
    for labels in product(*(sorted(set(row[~np.isnan(row)])) for row in votes)):
        if len(set(labels)) > 1:
            yield np.array(labels)


@pytest.mark.parametrize("measure", ["area", "spearman"])
@pytest.mark.parametrize("other", [None, OTHER], ids=["one metric", "two metrics"])
def test_the_range_is_that_of_every_choice(measure, other):
    of = REFERENCE[measure]
    values = [of(labels, SCORE) - (0 if other is None else of(labels, other)) for labels in choices()]
    found = range_over_votes(measure, VOTES, SCORE, other)
    assert (found.low, found.high) == pytest.approx((min(values), max(values)), abs=1e-12)
    assert found.exact


def test_graded_votes_have_a_range_that_choices_reach():
    votes = RNG.integers(0, 4, (8, 2)).astype(float)
    score = np.round(RNG.normal(size=8), 1)
    values = [spearmanr(labels, score)[0] for labels in choices(votes)]
    found = range_over_votes("spearman", votes, score)
    assert not found.exact
    assert min(values) - 1e-12 <= found.low < found.high <= max(values) + 1e-12
    assert found.high - found.low > 0.8 * (max(values) - min(values))


@pytest.mark.parametrize("measure", ["area", "spearman"])
def test_random_choices_take_one_vote_an_item(measure):
    found = values_of_random_votes(measure, VOTES, np.array([SCORE, OTHER]), 300, 0)
    possible = {round(REFERENCE[measure](labels, SCORE), 9) for labels in choices()}
    assert {round(one, 9) for one in found[0]} <= possible
    # Votes are drawn alike: the mean label of an item is its soft label.
    free = [np.nanmean(row) for row in VOTES]
    assert measure_value("spearman", SCORE, np.array(free)) == pytest.approx(spearmanr(SCORE, free)[0], abs=1e-12)
    assert np.array_equal(values_of_random_votes(measure, VOTES, np.array([SCORE]), 300, 0)[0], found[0])


def test_one_label_throughout_defines_nothing():
    found = range_over_votes("area", np.ones((5, 2)), np.arange(5.0))
    assert np.isnan([found.low, found.high]).all()


def test_gold_without_an_annotator_is_the_mean_of_the_others():
    votes = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, 0.0], [np.nan, np.nan, 1.0], [np.nan, np.nan, np.nan]])
    gold = np.array([0.5, 2 / 3, 1.0, 0.25])
    made = votes_of_gold(votes, gold, None)
    np.testing.assert_array_equal(made.without(0, gold), [0.0, 0.5, 1.0, 0.25])
    np.testing.assert_array_equal(made.without(2, gold), [0.5, 1.0, np.nan, 0.25])
    assert made.rows(np.array([0, 3])).is_gold(gold[[0, 3]])
    assert not made.is_gold(1 - gold)
    assert votes_of_gold(votes, (gold >= 0.6) * 1.0, 0.6).without(0, gold)[0] == 0
    assert votes_of_gold(votes, (gold >= 0.6) * 1.0, 0.5) is None
    assert votes_of_gold(votes[:2], np.array([0.5, 1.0]), None).without(0, np.array([0.5, 1.0])).tolist() == [0, 0.5]
    assert votes_of_gold(votes[:2, :1], np.array([1.0, 1.0]), None) is None
