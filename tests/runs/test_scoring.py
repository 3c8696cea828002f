"""Scoring with several metrics: names with arguments, shared passes, combinations after their members."""

from dataclasses import replace

import pytest
from scipy.stats import zscore

import metaeval
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.metrics import load_metric
from metaeval.runs.score import score_metrics
from metaeval.scoring.score_store import ScoreStore

TEXTS = [
    ("The river rose two metres in a night.", "The river rose."),
    ("The river rose two metres in a night.", "The bakery opened."),
    ("A bakery opened beside the old mill.", "The bakery opened."),
    ("A bakery opened beside the old mill.", "The mill is old and closed."),
    ("The river rose two metres in a night.", "The river rose."),
]


def scored(names, **settings):
    return {name: result for name, _, result in score_metrics(TEXTS, names, RunConfig(**settings))}


def test_an_ensemble_is_the_mean_of_its_members_z_scores_over_unique_pairs():
    found = scored(["ensemble:overlap+rouge", "rouge"])
    assert set(found) == {"ensemble:overlap+rouge", "rouge"}
    parts = scored(["overlap", "rouge"])
    unique = [[answer.score for answer in parts[name].answers[:4]] for name in ("overlap", "rouge")]
    expected = (zscore(unique[0]) + zscore(unique[1])) / 2
    answers = [answer.score for answer in found["ensemble:overlap+rouge"].answers]
    assert answers == pytest.approx([*expected, expected[0]], abs=1e-12)


def test_an_ensembles_identity_holds_its_members_and_the_pairs():
    one, other = scored(["ensemble:overlap+rouge"]), scored(["ensemble:overlap+bm25"])
    first, second = one["ensemble:overlap+rouge"].identity, other["ensemble:overlap+bm25"].identity
    assert [member["name"] for member in first["members"]] == ["overlap", "rouge"]
    assert first["corpus"] == second["corpus"]
    assert first != second


def test_members_are_stored_once_and_served_to_both(tmp_path):
    config = RunConfig()
    with ScoreStore(tmp_path / "s.sqlite") as store:
        list(score_metrics(TEXTS, ["ensemble:overlap+rouge"], config, store))
        again = {name: result for name, _, result in score_metrics(TEXTS, ["overlap", "rouge"], config, store)}
    assert [result.computed for result in again.values()] == [0, 0]


def test_a_metric_that_disagrees_by_direction_is_turned_round(monkeypatch):
    from metrics_zoo.rouge import Rouge

    card = Rouge.card
    straight = scored(["ensemble:overlap+rouge"])["ensemble:overlap+rouge"].answers
    monkeypatch.setattr(Rouge, "card", replace(card, direction=-1))
    turned = scored(["ensemble:overlap+rouge"])["ensemble:overlap+rouge"].answers
    parts = scored(["overlap", "rouge"])
    overlap, rouge = ([answer.score for answer in parts[name].answers[:4]] for name in ("overlap", "rouge"))
    assert [answer.score for answer in turned[:4]] == pytest.approx(((zscore(overlap) - zscore(rouge)) / 2).tolist())
    assert turned != straight


def test_options_under_the_base_name_hold_for_every_argument():
    config = RunConfig(metric_options={"ensemble": {"scale": "rank"}, "ensemble:overlap+bm25": {"scale": "z"}})
    assert load_metric("ensemble:overlap+rouge", config).options.scale == "rank"
    assert load_metric("ensemble:overlap+bm25", config).options.scale == "z"


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("ensemble:overlap", "two or more different metrics"),
        ("ensemble:overlap+overlpa", "Unknown metric 'overlpa'. Did you mean 'overlap'"),
        ("overlap:x", "cannot be imported"),
        ("ensemble:overlap+ensemble", "cannot be a member"),
    ],
)
def test_wrong_arguments_are_one_sentence(metric, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        metaeval.run(metrics=(metric,), results=tmp_path)
