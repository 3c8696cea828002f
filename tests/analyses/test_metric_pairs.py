"""What stands beside the test of the table: the same intervals as the table's, the rows of the closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from metaeval import registry
from metaeval.stats.significance import delong, steiger, williams
from protocols.comparison import compare
from protocols.contract import Judgements, Resampling
from protocols.contrasts import closed_forms, contrasts, spread_of, spreads

RESAMPLING = Resampling(n=200, seed=3)
MEASURES = {
    measure.key: measure for name in registry.names("protocol") for measure in registry.find("protocol", name).measures
}
OPTIONS = {
    "correlation": {},
    "classification": {},
    "retrieval": {"gains": "linear", "ties": "expected"},
    "decision": {"folds": "3", "objective": "macro-f1"},
}
KEYS = {"correlation": "spearman", "classification": "overall", "retrieval": "ndcg@5", "decision": "macro_f1"}


def metrics(missing=0, seed=0):
    """Two metrics on 30 groups of 8 rows, the first the better one; of each, other rows have no score."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(30), 8)
    gold = rng.integers(3, size=group.size).astype(float)
    scores = [gold * weight + rng.normal(size=group.size) for weight in (1.5, 0.7)]
    for number, score in enumerate(scores):
        score[number * missing : (number + 1) * missing] = np.nan
    return [Judgements(gold, score, group, group) for score in scores]


@pytest.mark.parametrize("missing", [0, 10], ids=["all scored", "ten of each without a score"])
@pytest.mark.parametrize("method", ["t", "percentile"])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_differences_are_those_of_the_table_of_pairs(name, method, missing):
    protocol, options, key = registry.find("protocol", name), OPTIONS[name], KEYS[name]
    pair, resampling = metrics(missing), replace(RESAMPLING, method=method)
    outcomes = [protocol.evaluate(one, resampling, options) for one in pair]
    tabled = compare(protocol, tuple(pair), tuple(outcomes), resampling, 10, options, [key])[key]

    spread = spreads(protocol, options, resampling, dict(zip("ab", pair, strict=True)), [key])["a", "b"][key]

    assert spread.observed == tabled.value
    assert spread.interval(0.95) == pytest.approx((tabled.low, tabled.high), abs=1e-12)
    assert spread.groups == 30


def test_both_standard_errors_of_a_difference_agree():
    # 30 groups: the bootstrap of 2,000 resamples has a standard error of 1.6 % itself.
    protocol, pair = registry.find("protocol", "correlation"), dict(zip("ab", metrics(), strict=True))
    first, second = (
        spreads(protocol, {}, Resampling(n=2000, method=method), pair, ["spearman"])["a", "b"]["spearman"]
        for method in ("t", "percentile")
    )
    assert first.standard_error == pytest.approx(second.standard_error, rel=0.1)


def test_two_metrics_without_a_common_row_have_no_spread():
    one, other = metrics()
    first = np.arange(one.gold.size) < 100
    pair = (one.with_score(np.where(first, one.score, np.nan)), other.with_score(np.where(first, np.nan, other.score)))
    protocol = registry.find("protocol", "correlation")

    assert spreads(protocol, {}, RESAMPLING, dict(zip("ab", pair, strict=True)), ["spearman"]) == {("a", "b"): {}}
    (found,) = contrasts(protocol, {}, RESAMPLING, dict(zip("ab", pair, strict=True)), ["spearman"], 0.1, 0.05)
    assert (found.standard_error, found.equivalent, found.needed, found.williams) == (None, None, None, None)


def test_a_spread_with_most_resamples_undefined_has_no_standard_error():
    resampled = replace(RESAMPLING, method="percentile")
    # Two of five resamples are defined: fewer than half.
    assert spread_of(np.array([0.1, 0.1, 0.3, np.nan, np.nan, np.nan]), None, 9, resampled).standard_error is None
    # Three of five: sd of 1, 2, 3 with n - 1 is 1.
    assert spread_of(np.array([0.1, 1.0, 2.0, 3.0, np.nan, np.nan]), None, 9, resampled).standard_error == 1.0


def test_needed_equal_within_and_tost_follow_from_the_spread():
    protocol, named = registry.find("protocol", "correlation"), dict(zip("ab", metrics(), strict=True))
    spread = spreads(protocol, {}, RESAMPLING, named, ["spearman"])["a", "b"]["spearman"]
    low, high = spread.interval(0.9)

    (wide,) = contrasts(protocol, {}, RESAMPLING, named, ["spearman"], 0.9, 0.05)
    (narrow,) = contrasts(protocol, {}, RESAMPLING, named, ["spearman"], 0.01, 0.05)

    # z(0.975) + z(0.8) = 1.959964 + 0.841621; n = G (z se / d)^2, rounded up.
    assert wide.needed == math.ceil(30 * ((1.959964 + 0.841621) * spread.standard_error / spread.observed) ** 2)
    assert wide.equal_within == narrow.equal_within == max(abs(low), abs(high))
    assert (wide.equivalent, narrow.equivalent) == (True, False)
    assert wide.tost < 0.05 < narrow.tost


def test_no_test_stands_beside_an_interval_that_is_withheld():
    protocol, pair = registry.find("protocol", "classification"), dict(zip("ab", metrics(), strict=True))
    usual, withheld = (
        contrasts(protocol, {}, replace(RESAMPLING, fewest=fewest), pair, ["fs_ns"], 0.02, 0.05)[0]
        for fewest in (6, 1000)
    )
    assert None not in (usual.tost, usual.delong, usual.needed)
    assert (withheld.equivalent, withheld.tost, withheld.delong, withheld.needed) == (None, None, None, None)
    assert withheld.standard_error == usual.standard_error


def test_a_metric_and_its_double_are_equal_without_a_standard_error():
    protocol = registry.find("protocol", "classification")
    one, _ = metrics()

    (found,) = contrasts(protocol, {}, RESAMPLING, {"a": one, "b": one}, ["fs_ns"], 0.02, 0.05)

    assert (found.standard_error, found.needed, found.tost, found.delong) == (None, None, None, None)
    assert (found.equivalent, found.equal_within) == (True, 0.0)


@pytest.mark.parametrize(("key", "high", "low"), [("fs_ns", 2, 0), ("fs_ps", 2, 1), ("ps_ns", 1, 0)])
def test_delong_takes_the_rows_of_its_two_levels_that_both_scored(key, high, low):
    one, other = metrics(missing=7)
    used = np.isin(one.gold, (high, low))
    used[:14] = False  # the first metric lacks rows 0 .. 6, the second rows 7 .. 13
    expected = delong(one.score[used], other.score[used], one.gold[used] == high).p

    assert closed_forms(MEASURES[key], one, other) == {"delong": expected, "williams": None, "steiger": None}


def test_of_ratings_delong_holds_the_top_rating_against_the_other():
    one, other = metrics()
    gold = np.where(one.gold > 0, 1.0, -1.0)
    pair = [Judgements(gold, score.score, one.group, one.pool, levels=False) for score in (one, other)]

    assert closed_forms(MEASURES["auc"], *pair)["delong"] == delong(one.score, other.score, gold > 0).p


@pytest.mark.parametrize(("key", "coefficient"), [("pearson", pearsonr), ("spearman", spearmanr)])
def test_williams_and_steiger_take_the_coefficients_of_scipy(key, coefficient):
    one, other = metrics(missing=7)
    columns = one.gold[14:], one.score[14:], other.score[14:]
    r = [coefficient(columns[a], columns[b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))]

    found = closed_forms(MEASURES[key], one, other)

    assert found["williams"] == pytest.approx(williams(*r, 226)[1], rel=1e-6)
    assert found["steiger"] == pytest.approx(steiger(*r, 226)[1], rel=1e-6)
    assert found["delong"] is None


@pytest.mark.parametrize("key", ["overall", "kendall", "ndcg@5", "macro_f1"])
def test_other_measures_have_no_closed_form(key):
    assert set(closed_forms(MEASURES[key], *metrics()).values()) == {None}


def test_a_constant_score_has_no_closed_form():
    one, _ = metrics()
    assert closed_forms(MEASURES["spearman"], one, one.with_score(np.ones(one.gold.size)))["williams"] is None
