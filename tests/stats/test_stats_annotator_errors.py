"""Errors of annotators: probabilities of levels, the area of uncertain labels, and the reliability of mean votes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from metaeval.stats.annotator_errors import level_probabilities, mean_reliability, weighted_area

NONE = np.nan
VOTES = np.array(
    [
        [0, 1, 2, NONE],
        [0, 0, NONE, 1],
        [1, 1, 1, 0],
        [2, 2, 1, NONE],
        [NONE, 2, 2, 2],
        [1, 0, 1, 1],
        [0, 0, 0, 2],
        [2, NONE, 2, 0],
        [1, 1, NONE, 2],
        [0, 2, 0, NONE],
    ]
)


CROWD_KIT = (
    (0.0000000, 0.0000000, 1.0000000),
    (1.0000000, 0.0000000, 0.0000000),
    (0.0000000, 1.0000000, 0.0000000),
    (0.0000000, 0.0000000, 1.0000000),
    (0.0000000, 0.0000000, 1.0000000),
    (0.0000000, 1.0000000, 0.0000000),
    (1.0000000, 0.0000000, 0.0000000),
    (0.0000000, 0.0000000, 1.0000000),
    (0.0000000, 1.0000000, 0.0000000),
    (1.0000000, 0.0000000, 0.0000000),
)


def test_probabilities_are_those_of_crowd_kit() -> None:
    # crowd-kit 1.4.2, DawidSkene(n_iter=600, tol=-1).fit_predict_proba, columns in the order of the levels.
    assert level_probabilities(VOTES) == pytest.approx(np.array(CROWD_KIT), abs=1e-6)


def test_an_annotator_who_votes_the_other_way_round_counts_as_informative() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 400).astype(float)
    rate = np.array([0.1, 0.15, 0.2, 0.9])
    votes = np.where(rng.random((400, 4)) < rate, 1 - true[:, None], true[:, None])
    by_model, by_majority = level_probabilities(votes)[:, 1] > 0.5, votes.mean(axis=1) > 0.5
    assert (by_model == true).mean() > 0.95 > (by_majority == true).mean()


def test_items_without_a_vote_have_no_probability() -> None:
    votes = np.array([[0, 1.0], [NONE, NONE], [1, 1]])
    assert np.isnan(level_probabilities(votes)).any(axis=1).tolist() == [False, True, False]


def test_the_weighted_area_and_its_error_are_scikit_learns_and_the_jackknifes() -> None:
    rng = np.random.default_rng(1)
    score, positive, group = rng.integers(0, 9, 600).astype(float), rng.random(600), np.arange(600) // 6

    def area(keep: np.ndarray) -> float:
        s, p = score[keep], positive[keep]
        return roc_auc_score(np.r_[np.ones(s.size), np.zeros(s.size)], np.r_[s, s], sample_weight=np.r_[p, 1 - p])

    influence = weighted_area(score, positive, group, 100)

    assert influence is not None
    assert influence.value == pytest.approx(area(np.ones(600, dtype=bool)), abs=1e-12)
    left_out = np.array([area(group != number) for number in range(100)])
    jackknife = np.sqrt(0.99 * ((left_out - left_out.mean()) ** 2).sum())
    assert influence.standard_error == pytest.approx(jackknife, rel=0.02)
    assert weighted_area(score, np.ones(600), group, 100) is None


def test_the_reliability_is_that_of_shrout_and_fleiss() -> None:
    # Shrout and Fleiss (1979), tables 2 to 4: six targets, four judges, ICC(1,4) = .44.
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert round(mean_reliability(np.array(ratings, dtype=float)), 2) == 0.44


def test_a_correlation_is_freed_of_the_errors_of_votes() -> None:
    rng = np.random.default_rng(2)
    quality = rng.normal(size=20_000)
    votes = quality[:, None] + 1.2 * rng.normal(size=(20_000, 3))
    votes[rng.random(votes.shape) < 0.2] = np.nan
    votes[np.isnan(votes).all(axis=1), 0] = 0.0
    score = quality + rng.normal(size=20_000)
    of_quality, of_votes = (spearmanr(score, gold).statistic for gold in (quality, np.nanmean(votes, axis=1)))
    freed = of_votes / np.sqrt(mean_reliability(votes))
    assert abs(freed - of_quality) < 0.01 < of_quality - of_votes


def test_one_vote_an_item_has_no_reliability() -> None:
    assert np.isnan(mean_reliability(np.array([[1.0, NONE], [NONE, 2.0]])))
