"""What stands beside the test of the table: equivalence within a margin, by the same intervals as the table's."""

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from metaeval.core import registry
from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.influence import Influence, t_interval
from protocols.contract import Judgements, Resampling
from protocols.contrasts import Contrast, contrasts

RESAMPLING = Resampling(n=200, seed=3)
OPTIONS = {
    "correlation": {},
    "classification": {},
    "retrieval": {"gains": "linear", "ties": "expected"},
    "decision": {"folds": "3", "objective": "macro-f1"},
}
KEYS = {"correlation": "spearman", "classification": "overall", "retrieval": "ndcg@5", "decision": "macro_f1"}


def metrics(missing=0, seed=0, rows=8):
    """Two metrics on 30 groups of some rows, the first the better one; of each, other rows have no score."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(30), rows)
    gold = rng.integers(3, size=group.size).astype(float)
    scores = [gold * weight + rng.normal(size=group.size) for weight in (1.5, 0.7)]
    for number, score in enumerate(scores):
        score[number * missing : (number + 1) * missing] = np.nan
    return {name: Judgements(gold, score, group, group) for name, score in zip("ab", scores, strict=True)}


@pytest.mark.parametrize("missing", [0, 10], ids=["all scored", "ten of each without a score"])
@pytest.mark.parametrize("name", OPTIONS)
def test_two_metrics_are_equivalent_where_the_90_percent_interval_of_the_table_lies_inside_the_margin(name, missing):
    protocol, options, key = registry.find("protocol", name), OPTIONS[name], KEYS[name]
    pair, wide = metrics(missing), replace(RESAMPLING, level=0.9)
    tested = {metric: (rows, protocol.evaluate(rows, wide, options)) for metric, rows in pair.items()}
    (tabled,) = significance(protocol, options, wide, ComparisonConfig(), tested, [key]).comparisons
    reach = max(abs(tabled.low), abs(tabled.high))

    for margin, equivalent in ((reach + 1e-9, True), (reach - 1e-9, False)):
        (found,) = contrasts(protocol, options, RESAMPLING, pair, [key], margin, 0.05)
        assert (found.equivalent, found.groups) == (equivalent, 30)
        assert found.equal_within == pytest.approx(reach, abs=1e-12)
        assert found.standard_error > 0


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.4, -0.7])
def test_the_interval_decides_as_the_two_one_sided_tests_of_statsmodels(mean):
    # A mean of 80 groups of one row has no range, so that its interval is that of Student's t.
    sample = np.random.default_rng(0).normal(size=80)
    sample += mean - sample.mean()
    influence = Influence(mean, (sample - mean)[None] / 80, np.ones((1, 80), dtype=int))
    for margin in (0.1, 0.2, 0.3, 0.6, 0.9):
        p = ttost_paired(sample, np.zeros(80), -margin, margin)[0]
        reach = max(map(abs, t_interval(influence, 0.9)))
        assert (reach < margin) == (p < 0.05), (margin, p, reach)


def test_two_metrics_without_a_common_row_have_no_contrast():
    one, other = metrics().values()
    first = np.arange(one.gold.size) < 100
    pair = {
        "a": one.with_score(np.where(first, one.score, np.nan)),
        "b": other.with_score(np.where(first, np.nan, other.score)),
        "c": other,
    }
    found = contrasts(registry.find("protocol", "correlation"), {}, RESAMPLING, pair, ["spearman"], 0.1, 0.05)
    assert [each == Contrast("spearman", each.one, each.other) for each in found] == [True, False, False]


def test_rows_without_groups_are_a_group_each():
    protocol, pair = registry.find("protocol", "correlation"), metrics(rows=1)
    (found,) = contrasts(protocol, {}, RESAMPLING, pair, ["pearson"], 5.0, 0.05)
    assert (found.groups, found.equivalent) == (30, True)
    assert 0 < found.standard_error < found.equal_within < 5


def test_an_interval_that_is_withheld_shows_no_equivalence():
    protocol, pair = registry.find("protocol", "classification"), metrics()
    usual, withheld = (
        contrasts(protocol, {}, replace(RESAMPLING, fewest=fewest), pair, ["fs_ns"], 0.02, 0.05)[0]
        for fewest in (6, 1000)
    )
    assert usual.equivalent is False
    assert (withheld.equivalent, withheld.equal_within) == (None, None)
    assert withheld.standard_error == usual.standard_error


def test_a_metric_and_its_double_are_equal_without_a_standard_error():
    protocol, pair = registry.find("protocol", "classification"), dict.fromkeys("ab", metrics()["a"])
    (found,) = contrasts(protocol, {}, RESAMPLING, pair, ["fs_ns"], 0.02, 0.05)
    assert (found.standard_error, found.equivalent, found.equal_within) == (None, True, 0.0)


@pytest.mark.parametrize(("margin", "alpha", "said"), [(0, 0.05, "got 0"), (-1, 0.05, "got -1"), (0.1, 0.5, "got 0.5")])
def test_a_margin_or_an_alpha_out_of_range_is_refused(margin, alpha, said):
    with pytest.raises(ValueError, match=said):
        contrasts(registry.find("protocol", "correlation"), {}, RESAMPLING, metrics(), ["spearman"], margin, alpha)
