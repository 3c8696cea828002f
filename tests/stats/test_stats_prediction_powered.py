"""Prediction-powered shares: the official PPI++ numbers, hand arithmetic, and designs whose mean is known."""

import json
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from metaeval.stats.prediction_powered import Sample, Share, difference, labels_saved, ppi_mean, share, wilson

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "stats" / "ppi_mean.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=[case["name"] for case in GOLDEN["cases"]])
def test_the_estimate_and_the_wald_interval_are_those_of_ppi_python(case):
    columns = [np.array(case[name]) for name in ("label", "prediction", "unlabelled")]
    weight = None if case["weight"] is None else np.array(case["weight"])
    found = ppi_mean(*columns, weight=weight, lam=case["lam"], level=1 - case["alpha"])
    assert found == pytest.approx((case["estimate"], case["low"], case["high"]), rel=0, abs=1e-10)


def every(n, total, unit=None):
    rows = np.arange(n)
    return Sample(rows, np.full(n, n / total), rows if unit is None else unit, np.zeros(n, dtype=np.int64))


def test_a_simple_sample_has_the_textbook_variance_of_a_set_or_a_process():
    # 4 of 8 items, one of them 1: p = 1/4, s2 = 3/4 * 1/4 * 4/3 = 1/4, and (1 - 4/8) * s2 / 4 = 1/32.
    label = np.array([1.0, 0, 0, 0])
    found = share(label, np.zeros(8), every(4, 8), np.arange(8))
    assert (found.value, found.df) == (0.25, pytest.approx(3))
    assert found.variance == pytest.approx(1 / 32)
    label = np.array([1.0, 0, 0, 0])
    found = share(label, np.zeros(8), every(4, 8), np.arange(8), estimand="process")
    assert found.variance == pytest.approx(1 / 16)


def test_ends_of_all_none_and_two_labels():
    label = np.array([1.0, 0, 1, 1])
    found = share(label, np.arange(4.0), every(4, 4), np.arange(4))
    assert (found.value, found.low, found.high) == (0.75, 0.75, 0.75)
    found = share(np.zeros(30), np.arange(300.0), every(30, 300), np.arange(300))
    assert found.value == 0
    assert found.low == 0
    assert 0.05 < found.high < 0.2
    # 2 of 8 items, of which one is 1: one degree of freedom, whose t quantile leaves nothing out but the ends.
    found = share(np.array([1.0, 0]), np.zeros(8), every(2, 8), np.arange(8))
    assert found.df == 1
    assert 0 < found.low < 0.5 < found.high < 1
    sample = Sample(np.arange(3), np.full(3, 0.3), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="two sampling units"):
        share(np.ones(3), np.zeros(9), sample, np.zeros(9, dtype=np.int64))


def test_wilson_is_the_textbook_interval_where_labels_are_independent():
    for hits in (3, 20):  # of 20, with z = 1.96, as statsmodels has them
        ends = proportion_confint(hits, 20, method="wilson")
        assert wilson(hits / 20, hits * (20 - hits) / 20**3, 20, 1e9, 0.95) == pytest.approx(ends, abs=1e-6)
    with pytest.raises(ValueError, match="prediction"):
        ppi_mean(np.array([1.0, 0, 1]), np.array([0.5]), np.ones(4))


def test_a_perfect_score_narrows_and_a_useless_one_is_not_used():
    random = np.random.default_rng(5)
    truth = (random.random(2000) < 0.4) * 1.0
    rows = random.permutation(2000)[:100]
    sample = Sample(rows, np.full(100, 0.05), rows, np.zeros(100, dtype=np.int64))
    own = np.arange(2000)
    alone = share(truth[rows], truth, sample, own, use_scores=False)
    perfect = share(truth[rows], truth + 0.1 * random.random(2000), sample, own)
    assert perfect.high - perfect.low < 0.2 * (alone.high - alone.low)
    noise = share(truth[rows], random.random(2000), sample, own)
    assert noise.lam == pytest.approx(0, abs=0.02)


def test_inverse_weights_undo_a_design_that_prefers_items():
    random = np.random.default_rng(1)
    score = random.random(4000)
    truth = (random.random(4000) < score) * 1.0
    chance = 0.02 + 0.18 * score  # what is likely to be 1 is drawn up to ten times as often
    found = []
    for _ in range(60):
        rows = np.flatnonzero(random.random(4000) < chance)
        sample = Sample(rows, chance[rows], rows, np.zeros(rows.size, dtype=np.int64))
        found.append(share(truth[rows], score, sample, np.arange(4000)))
    assert np.mean([one.value for one in found]) == pytest.approx(truth.mean(), abs=0.01)
    covered = [one.low <= truth.mean() <= one.high for one in found]
    assert np.mean(covered) > 0.85


def test_strata_take_the_variance_between_them_away():
    # Two strata of 50 items, all 1 and all 0: any stratified sample gives exactly one half.
    rows = np.array([0, 1, 2, 50, 51, 52])
    stratum = np.array([0, 0, 0, 1, 1, 1])
    found = share((rows < 50) * 1.0, np.zeros(100), Sample(rows, np.full(6, 0.06), rows, stratum), np.arange(100))
    assert found.value == pytest.approx(0.5)
    assert found.variance == pytest.approx(0)
    assert found.df == pytest.approx(4)


def test_a_difference_of_dependent_and_of_independent_shares():
    random = np.random.default_rng(2)
    one = (random.random(400) < 0.5) * 1.0
    other = np.where(random.random(400) < 0.1, 1 - one, one)
    rows = random.permutation(400)[:80]
    sample = Sample(rows, np.full(80, 0.2), rows, np.zeros(80, dtype=np.int64))
    first, second = (share(y[rows], np.zeros(400), sample, np.arange(400)) for y in (one, other))
    value, low, high = difference(first, second)
    assert value == pytest.approx(np.mean(one[rows] - other[rows]))
    assert high - low < first.high - first.low
    # Newcombe 1998, table II, case (a): 56/70 less 48/80 is .2, .0524 to .3339 by method 10.
    shares = []
    for number, (hits, of) in enumerate(((56, 70), (48, 80))):
        low, high = proportion_confint(hits, of, method="wilson")
        parts = np.zeros(2)
        parts[number] = np.sqrt(hits / of * (1 - hits / of) / of)
        shares.append(Share(hits / of, low, high, parts[number] ** 2, 0, 9, parts))
    assert difference(*shares) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize("share_of_ones", [1.0, 0.7])
def test_a_difference_counts_errors_that_no_label_shows(share_of_ones):
    # Both metrics are right on nearly all items, or all labels are alike: the labels hardly vary about them.
    random = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        one, other = (random.random((2, 1000)) < 0.99 * share_of_ones) * 1.0
        rows = np.sort(random.permutation(1000)[:60])
        sample = Sample(rows, np.full(60, 0.06), rows, np.zeros(60, dtype=np.int64))
        metrics = [np.where(random.random(1000) < 0.01, 1 - truth, truth) for truth in (one, other)]
        found = [share(y[rows], f, sample, np.arange(1000)) for y, f in zip((one, other), metrics, strict=True)]
        value, low, high = difference(*found)
        assert low <= value <= high
        covered += low <= one.mean() - other.mean() <= high
    assert covered >= 0.93 * 200


def test_labels_saved_stop_at_the_set():
    alone, found = (Share(0.5, 0, 1, variance, 0, 9, np.zeros(1)) for variance in (0.04, 0.01))
    assert labels_saved(50, found, alone) == pytest.approx(150)  # a quarter of the variance: 200 labels
    # Of 100 items, 50 labels leave 1/50 - 1/100 = .01; a quarter of it is 1/n - 1/100 for n = 80.
    assert labels_saved(50, found, alone, 100) == pytest.approx(30)
    assert labels_saved(50, alone, found) == 0


@pytest.mark.parametrize("estimand", ["set", "process"])
def test_labels_that_all_agree_count_by_kishs_number_where_weights_differ(estimand):
    # Weights 2 (ten times) and 10 (twice): 40^2 / (10 * 4 + 2 * 100) = 6.67 labels of equal weight, of 12.
    probability = np.array([0.5] * 10 + [0.1] * 2)
    codes = np.arange(12)
    sample = Sample(codes, probability, codes, np.zeros(12, dtype=np.int64))
    agreed = share(np.ones(12), np.zeros(40), sample, np.arange(40), estimand)
    drawn = 1 - probability.mean() if estimand == "set" else 1.0
    assert (agreed.value, agreed.high) == (1.0, 1.0)
    assert agreed.low == pytest.approx(wilson(1.0, 0.0, 40**2 / 240, agreed.df, 0.95, drawn)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("strata", "together"), [((0, 0, 1, 2), (0, 0, 1, 1)), ((0, 0, 0, 1), (0, 0, 0, 0)), ((0, 1, 2, 3), (0, 0, 0, 0))]
)
def test_strata_of_one_unit_stand_together_or_with_all_others(strata, together):
    # A single unit shows no variance of its stratum: it is that of the single ones, or of all where there is but one.
    codes, probability = np.arange(4), np.array([0.5, 0.5, 0.2, 0.1])
    lone, whole = (
        share(
            np.array([1.0, 0.0, 1.0, 0.0]), np.zeros(12), Sample(codes, probability, codes, np.array(of)), np.arange(12)
        )
        for of in (strata, together)
    )
    assert (lone.variance, lone.df, lone.low) == pytest.approx((whole.variance, whole.df, whole.low))
    assert lone.variance > 0
