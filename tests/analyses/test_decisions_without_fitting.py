"""Levels by a metric's native probabilities: its options, its decisions, and the comparison with learnt ones."""

import numpy as np
import pytest

import metaeval
from metaeval import registry
from metaeval.analyses.cross_validated_decisions import cross_validated_decisions, prepare_decisions
from metaeval.analyses.decisions_without_fitting import (
    level_probabilities,
    most_likely,
    native_decisions,
    native_decisions_sheet,
)
from metaeval.config import load_run
from metaeval.runs.score_panel import load_panel
from metrics_zoo.support_mini import judge


def test_the_most_likely_level_by_hand():
    # (none, partial, full): .6 .3 .1, .2 .5 .3, .1 .3 .6, and .4 .2 .4, of which the lower counts
    some, full = np.array([0.4, 0.8, 0.9, 0.6]), np.array([0.1, 0.3, 0.6, 0.4])
    assert most_likely(some, full).tolist() == [0, 1, 2, 0]


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    settings = {"metrics": "support-mini,overlap", "protocols": "decision", "interval": {"resamples": 60}}
    return load_panel(load_run(None, settings | {"results": tmp_path_factory.mktemp("own")}), True, 1)


def test_both_probabilities_of_the_metrics_that_declare_them_are_compared_with_what_is_learnt(panel):
    frame, (_, options) = prepare_decisions(panel)
    (one,) = level_probabilities(panel, frame)
    supports = [judge(pair.source, pair.statement) for pair in metaeval.pairs(dataset="mini")]
    assert one.some.score.tolist() == [support.some for support in supports]
    assert one.full.score.tolist() == [support.full for support in supports]
    found = native_decisions(frame, one, options, panel.resampling)
    gold = frame.gold[np.argsort(frame.numbers)]
    assert found["brier, full"].first == pytest.approx(np.mean((one.full.score - (gold == 2)) ** 2))
    assert found["brier, full or partial"].first == pytest.approx(np.mean((one.some.score - (gold >= 1)) ** 2))
    learnt = cross_validated_decisions(frame, one.metric, options)
    assert found["brier, full"].second == pytest.approx(learnt.calibrations["full"].brier)
    levels = most_likely(one.some.score, one.full.score)
    recalls = [(levels[gold == level] == level).mean() for level in range(3)]
    assert found["balanced_accuracy"].first == pytest.approx(np.mean(recalls))
    of = found["macro_f1"]
    assert of.difference == pytest.approx(of.first - of.second)
    assert of.low < of.difference < of.high


def test_the_sheet_has_a_line_for_each_measure(panel):
    frame, (_, options) = prepare_decisions(panel)
    sheet = native_decisions_sheet(panel, frame, options, level_probabilities(panel, frame))
    assert [record["metric"] for record in sheet.records] == ["support-mini"] * 5
    assert len(sheet.blocks) == 5


def test_a_metric_without_probabilities_of_the_levels_has_none(tmp_path):
    settings = {"metrics": "overlap", "protocols": "decision", "results": tmp_path}
    panel = load_panel(load_run(None, settings), True, 1)
    assert level_probabilities(panel, prepare_decisions(panel)[0]) == []


def test_declared_options_are_options_of_the_metric():
    cards = {name: registry.find("metric", name) for name in registry.names("metric")}
    declared = {name: kind for name, kind in cards.items() if kind.card.level_options}
    assert sorted(declared) == ["support-mini"]
    for kind in declared.values():
        for options in kind.card.level_options:
            kind.Options(**options)
