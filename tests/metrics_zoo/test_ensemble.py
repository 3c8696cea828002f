"""The ensemble: means of z-scores and of ranks, against scipy; missing scores; options."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import rankdata, zscore

from metaeval.scoring.contract import PairScore, Status
from metrics_zoo.ensemble import Ensemble

ONE, OTHER = [0.1, 0.9, 0.4, 0.4, 0.7], [-3.0, -1.0, -2.5, -9.0, -1.5]


def answers(scores):
    return [PairScore(score, tokens=3, cut=1) for score in scores]


def combined(*members, **options):
    return Ensemble(Ensemble.Options(members="+".join("abcdef"[: len(members)]), **options)).combine(members)


def test_the_mean_of_z_scores_is_scipys():
    found = [answer.score for answer in combined(answers(ONE), answers(OTHER))]
    assert found == pytest.approx(((zscore(ONE) + zscore(OTHER)) / 2).tolist(), abs=1e-12)


def test_the_mean_of_ranks_runs_from_0_to_1_with_ties_shared():
    found = [answer.score for answer in combined(answers(ONE), answers(OTHER), scale="rank")]
    assert found == pytest.approx((((rankdata(ONE) - 1) / 4 + (rankdata(OTHER) - 1) / 4) / 2).tolist(), abs=1e-12)
    assert combined(answers([1, 2]), answers([5, 6]), scale="rank")[1].score == 1.0


def test_a_pair_that_one_member_could_not_score_has_no_score_and_sets_no_scale():
    holed = [PairScore(None, Status.UNPARSED, 3, 1), *answers(ONE[1:])]
    found = combined(holed, answers(OTHER))
    assert found[0] == PairScore(None, Status.UNPARSED, 6, 2)
    expected = (zscore(ONE[1:]) + zscore(OTHER[1:])) / 2
    assert [answer.score for answer in found[1:]] == pytest.approx(expected.tolist(), abs=1e-12)


def test_a_member_without_any_variation_adds_nothing():
    found = [answer.score for answer in combined(answers([2.0] * 5), answers(OTHER))]
    assert found == pytest.approx((zscore(OTHER) / 2).tolist(), abs=1e-12)
    assert np.isfinite(found).all()


def test_no_pair_at_all_that_both_scored():
    missing = [PairScore(None, Status.EMPTY)] * 5
    assert [answer.status for answer in combined(missing, answers(ONE))] == [Status.EMPTY] * 5


@pytest.mark.parametrize("members", ["overlap", "overlap+", "overlap+overlap", "overlap+ensemble:a+b", ""])
def test_members_that_make_no_ensemble_are_refused(members):
    with pytest.raises(ValidationError, match="ensemble"):
        Ensemble.Options(members=members)
