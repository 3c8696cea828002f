"""Stacks and likeness of metrics, with planted knowledge and explicit resamples."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from metaeval import registry
from metaeval.analyses.comparing.bias_and_agreement import agreement_sheet, complementarity_sheet
from metaeval.config import load_run
from metaeval.errors import UserError
from metaeval.runs.score_columns import column_of
from metaeval.runs.score_panel import load_panel
from metaeval.scoring.contract import PairScore, Status
from metaeval.stats.resampling import bootstrap
from metaeval.stats.stacking_gain import resampled_gains, stack_gain

CORRELATION = (registry.find("protocol", "correlation"), {})


@pytest.fixture(scope="module")
def panel(scored_folder):
    settings = {"metrics": "overlap,rouge,bm25", "interval": {"resamples": 20}, "results": scored_folder("t")}
    return load_panel(load_run(None, settings), True)


def with_scores(panel, **scores):
    """The panel with other metrics; a NaN is a row without a score."""
    columns = [
        column_of(
            name,
            [PairScore(None, Status.ABSENT) if np.isnan(value) else PairScore(float(value)) for value in values],
            {"metric": name},
        )
        for name, values in scores.items()
    ]
    return replace(panel, columns=columns)


def gold_of(panel):
    return np.array([float(row.level or 0) for row in panel.source.rows])


def test_agreement_is_scipys_spearman_on_the_rows_that_both_scored(panel):
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, len(panel.source.rows)))
    a[:100] = np.nan

    sheet = agreement_sheet(with_scores(panel, a=a, b=b + c, c=c), CORRELATION)

    found = {(record["one"], record["other"]): (record["spearman"], record["rows"]) for record in sheet.records}
    assert found["a", "b"] == (pytest.approx(spearmanr(a[100:], (b + c)[100:]).statistic, abs=1e-12), 954)
    assert found["b", "c"] == (pytest.approx(spearmanr(b + c, c).statistic, abs=1e-12), 1054)
    assert [line.name for line in sheet.lines] == ["b", "c"]


def test_metrics_with_errors_of_their_own_gain_and_a_double_gains_nothing(panel):
    rng = np.random.default_rng(1)
    gold = gold_of(panel)
    noise = rng.normal(size=(3, gold.size))
    apart = with_scores(panel, one=gold + noise[0], other=gold + noise[1])
    double = with_scores(panel, one=gold + noise[2], same=gold + noise[2])

    gains, none = (complementarity_sheet(one, CORRELATION).records for one in (apart, double))

    (spearman,) = (record for record in gains if record["objective"] == "spearman")
    assert spearman["low"] > 0
    assert spearman["least"] <= spearman["gain"] <= spearman["most"]
    assert spearman["gain"] == pytest.approx(spearman["stack"] - spearman["single"], abs=1e-12)
    assert {(record["gain"], record["low"], record["high"]) for record in none} == {(0.0, 0.0, 0.0)}


def test_with_three_metrics_a_pair_is_chosen_and_all_are_stacked(panel):
    sheet = complementarity_sheet(panel, CORRELATION)

    assert [(record["objective"], record["kind"]) for record in sheet.records] == [
        ("spearman", "pair"),
        ("spearman", "everything"),
        ("auc", "pair"),
        ("auc", "everything"),
    ]
    assert sheet.settings["gain-resamples"] == 20


def test_the_value_is_the_mean_over_ten_ways_of_cutting_the_folds(panel):
    gold, group = gold_of(panel), np.array([row.group for row in panel.source.rows])
    order = sorted(range(gold.size), key=lambda number: panel.source.rows[number].id)
    _, codes = np.unique(group, return_inverse=True)
    scores = np.array([column.score for column in panel.columns])[:, order]
    expected = np.mean(
        [stack_gain(scores, gold[order], codes[order].astype(np.int64), 5, seed).pair_gain for seed in range(10)]
    )

    record = complementarity_sheet(panel, CORRELATION).records[0]

    assert record["gain"] == pytest.approx(expected, abs=1e-12)


def test_a_resample_repeats_the_rows_of_its_groups_and_keeps_copies_in_one_fold():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(12), 10)
    gold = rng.integers(3, size=120).astype(float)
    scores = gold + rng.normal(size=(2, 120))
    weights = next(iter(bootstrap(12, 1, 4)))[:, 1].astype(int)
    rows = np.repeat(np.arange(120), weights[group])

    (found,) = resampled_gains(scores, gold, group, 5, 1, 4, "spearman")

    assert weights.max() > 1
    assert found == stack_gain(scores[:, rows], gold[rows], group[rows], 5, 4, "spearman")


def test_too_few_groups_that_all_scored_are_refused(panel):
    gold = gold_of(panel)
    groups = [row.group for row in panel.source.rows]
    kept = set(sorted(set(groups))[:5])
    some = np.array([1.0 if group in kept else np.nan for group in groups])

    with pytest.raises(UserError, match=r"takes 6 groups or more .* mini has 5"):
        complementarity_sheet(with_scores(panel, a=some * np.arange(gold.size), b=gold), CORRELATION)
