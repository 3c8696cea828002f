"""`metaeval.evaluate_arrays`: arrays in, the tables of `evaluate_scores` out."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

import metaeval
from metaeval.errors import UserError

SETTINGS = {"interval": {"resamples": 50}, "comparison": {"permutations": 50}}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 240)
    groups = np.repeat(np.arange(40), 6)
    return {"good": labels + rng.normal(size=240), "poor": rng.normal(size=240)}, labels, groups


def values(results, protocol, metric):
    (result,) = [one for one in results if one.protocol == protocol]
    (row,) = [one for one in result.rows if one.metric == metric]
    return result, row.values


def test_the_values_are_those_of_scikit_learn_and_scipy(arrays):
    scores, labels, groups = arrays

    results = metaeval.evaluate_arrays(scores, labels, groups, protocols=["classification", "correlation"], **SETTINGS)

    result, found = values(results, "classification", "good")
    extremes = labels != 1
    assert found["fs_ns"].value == pytest.approx(
        roc_auc_score(labels[extremes] == 2, scores["good"][extremes]), abs=1e-12
    )
    assert (result.data.groups, found["fs_ns"].low < found["fs_ns"].value < found["fs_ns"].high) == (40, True)
    _, found = values(results, "correlation", "poor")
    assert found["spearman"].value == pytest.approx(spearmanr(labels, scores["poor"])[0], abs=1e-12)


def test_texts_mappings_frames_and_one_array_are_the_same(arrays):
    pandas = pytest.importorskip("pandas")
    scores, labels, groups = arrays
    names = np.array(["none", "partial", "full"])[labels]
    given = {"protocols": "classification", **SETTINGS}

    _, expected = values(metaeval.evaluate_arrays(scores, labels, groups, **given), "classification", "good")
    for other in (pandas.DataFrame(scores), {name: list(column) for name, column in scores.items()}):
        _, found = values(
            metaeval.evaluate_arrays(other, names.tolist(), groups.tolist(), **given), "classification", "good"
        )
        assert found == expected
    _, alone = values(metaeval.evaluate_arrays(scores["good"], labels, groups, **given), "classification", "scores")
    assert {key: one.value for key, one in alone.items()} == {key: one.value for key, one in expected.items()}


def test_every_row_is_a_group_where_no_groups_are_given_and_missing_scores_are_counted(arrays):
    scores, labels, _ = arrays
    missing = [math.nan, None, *scores["good"][2:]]

    result, _ = values(
        metaeval.evaluate_arrays({"good": missing}, labels, protocols="classification", **SETTINGS),
        *("classification", "good"),
    )

    (row,) = [one for one in result.rows if one.metric == "good"]
    assert (result.data.groups, row.scored, row.unscored) == (240, 238, 2)


def test_ratings_that_are_no_levels_are_read_as_ratings(arrays):
    scores, labels, groups = arrays

    results = metaeval.evaluate_arrays(scores, labels + 0.5, groups, protocols="correlation", **SETTINGS)

    assert set(results[0].data.levels) == {"0.5", "1.5", "2.5"}


@pytest.mark.parametrize(
    ("scores", "labels", "groups", "says"),
    [
        ([1.0, 2.0], [0, 1, 2], None, r"scores has shape \(2,\) and labels \(3,\)"),
        ([1.0, 2.0, 3.0], [0, 1, 2], ["a"], r"groups has shape \(1,\)"),
        ([1.0, 2.0], ["full", "partly"], None, "labels contains 'partly'; allowed texts: full, partial and none"),
        ([1.0, 2.0], [0, math.nan], None, "finite numbers"),
        (["a", "b"], [0, 2], None, "scores should be numbers"),
        ([], [], None, "at least one"),
    ],
)
def test_wrong_arrays_are_one_sentence(scores, labels, groups, says):
    with pytest.raises(UserError, match=says):
        metaeval.evaluate_arrays(scores, labels, groups)
