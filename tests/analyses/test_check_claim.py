"""Checks of claims: every variant against scikit-learn and scipy, and the protocol's variant against a run."""

import functools

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, f1_score, roc_auc_score

from metaeval import pairs
from metaeval.analyses.check_claim import check_claim, claim_sentence, claim_sheet
from metaeval.analyses.claim_text import read_claim
from metaeval.api import evaluate_scores
from metaeval.errors import UserError
from metaeval.stats.open_choices import BINARY


@pytest.fixture(scope="module")
def scores():
    random = np.random.default_rng(0)
    return {one.pair_id: round(float(random.random() + 0.2 * (one.level or 0)), 2) for one in pairs(dataset="mini")}


@pytest.fixture(scope="module")
def values(scores):
    """The values of a run, by measure."""
    asked = {"protocols": ("classification", "correlation"), "interval": {"resamples": 0}, "controls": False}
    results = evaluate_scores({"mine": scores}, dataset="mini", **asked)
    rows = [next(row for row in result.rows if row.metric == "mine") for result in results]
    return {key: value.value for row in rows for key, value in row.values.items()}


@pytest.fixture(scope="module")
def tried(scores):
    """What is tried of a claim of 0.5, by its measure."""
    return functools.cache(lambda measure: check_claim(scores, f"0.5 {measure} on mini"))


@pytest.mark.parametrize(
    ("text", "value", "digits", "measure"),
    [
        ("0.71 AUC on WiCE", 0.71, 2, "auc"),
        ("71.3 ROC-AUC on wice", 0.713, 3, "auc"),
        (".5 balanced accuracy on expertqa", 0.5, 1, "balanced accuracy"),
        ("1 AUC on wice", 1.0, 0, "auc"),
        ("100 AUC on wice", 1.0, 2, "auc"),
        ("1 % AUC on wice", 0.01, 2, "auc"),
        ("On WiCE we reach an ROC AUC of 71.3%.", 0.713, 3, "auc"),
        ("42 % Spearman's rho on Factcheck-GPT", 0.42, 2, "spearman"),
        ("WiCE: F1 score 0.5", 0.5, 1, "f1"),
        ("Spearman (rho) -0.31 on wice", -0.31, 2, "spearman"),
    ],
)
def test_claims_are_read(text, value, digits, measure):
    claim = read_claim(text)
    assert (claim.value, claim.digits, claim.measure) == (pytest.approx(value), digits, measure)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "A is better than B on WiCE in AUC, 74.7 v. 73.9",
            r"two numbers \(74.7 and 73.9\).*compare METRIC OTHER -d wice",
        ),
        ("ROUGE beats overlap, 74.7 v. 73.9", r"'metaeval compare rouge overlap'"),
        ("0.7 AUC", "names no data set"),
        ("0.7 AUC on " + "x" * 50_000, "at most 500 are read"),
        ("good AUC", "write NUMBER MEASURE on DATA SET"),
        ("0.7 AUC on WICED", r"Unknown data set 'wiced'\. Did you mean 'wice'"),
        ("0.7 AUK on wice", r"measure of a claim 'auk'\. Did you mean 'auc'"),
        ("700 AUC on wice", "lies between -1 and 1"),
        ("42 % gamma on Factcheck-GPT", "Unknown measure of a claim"),
    ],
)
def test_claims_that_cannot_be_read(text, said):
    with pytest.raises(UserError, match=said):
        read_claim(text)


@pytest.mark.parametrize(("measure", "key"), [("AUC", "overall"), ("Spearman", "spearman"), ("Kendall", "kendall")])
def test_the_protocols_own_variant_is_what_a_run_gives(scores, values, tried, measure, key):
    assert [one.value for one in tried(measure).protocol_variants] == [pytest.approx(values[key])]
    claimed = check_claim(scores, f"{values[key]:.4f} {measure} on mini")
    assert set(claimed.protocol_variants) <= set(claimed.giving)
    assert "it is one of them" in claim_sentence(claimed)


def test_variants_are_named_and_counted(tried):
    tried = tried("AUC")
    assert {one.unit for one in tried.variants} == {"chunk", "citation"}
    assert {one.ties for one in tried.variants} == {"half", "optimistic", "pessimistic"}
    assert f"{len(tried.variants):,} variants were tried" in claim_sentence(tried)
    assert len(claim_sheet(tried).records) == len(tried.variants)


def test_measures_are_those_of_scikit_learn():
    random = np.random.default_rng(1)
    positive = random.random(200) < 0.4
    score = np.round(random.random(200) + 0.3 * positive, 1)
    assert BINARY["auc"](score, positive, "half") == pytest.approx(roc_auc_score(positive, score))
    assert BINARY["average precision"](score, positive, "half") == pytest.approx(
        average_precision_score(positive, score)
    )
    fine = score + random.random(200)  # 200 distinct scores, each a threshold
    officials = {"accuracy": accuracy_score, "f1": f1_score, "balanced accuracy": balanced_accuracy_score}
    for name, official in officials.items():
        for own in (score, fine):
            best = max(official(positive, own >= cut) for cut in np.unique(own))
            assert BINARY[name](own, positive, "half") == pytest.approx(best)
    low, middle, high = (BINARY["auc"](score, positive, ties) for ties in ("pessimistic", "half", "optimistic"))
    assert low < middle < high
    assert middle == pytest.approx((low + high) / 2)


def test_scores_of_other_data_are_refused():
    with pytest.raises(UserError, match="is a pair or a citation of mini"):
        check_claim({"x1": 0.5}, "0.5 AUC on mini")
    with pytest.raises(UserError, match="no score in its column 'score'"):
        check_claim({"sa001:a01": None}, "0.5 AUC on mini")


def test_variants_that_differ_in_ties_only_are_one_line(scores):
    apart = {name: score + number * 1e-9 for number, (name, score) in enumerate(scores.items())}
    found = check_claim(apart, "0.5 AUC on mini")
    value = f"{found.protocol_variants[0].value:.6f}"
    tried = check_claim(apart, f"{value} AUC on mini")
    words = [line.cells[-1].number for line in claim_sheet(tried).blocks[-1].lines]
    assert {one.ties for one in tried.giving} == {"half", "optimistic", "pessimistic"}
    assert "mean of the three pairs" in words
    assert not any("ties" in text for text in words)


@pytest.mark.parametrize(
    ("value", "gives"),
    [(0.705, True), (0.7149, True), (0.715, True), (0.7049, False), (0.7151, False), (np.nan, False)],
)
def test_a_value_gives_a_number_that_it_rounds_to(value, gives):
    assert read_claim("0.71 AUC on WiCE").given_by(value) is gives


@pytest.mark.parametrize(
    ("value", "cut"), [(0.7199, True), (0.715, False), (0.71, False), (0.72, False), (-0.7199, False), (np.nan, False)]
)
def test_a_value_can_give_a_number_by_cutting(value, cut):
    assert read_claim("0.71 AUC on WiCE").cut_from(value) is cut


def test_what_cutting_gives_is_said(scores, tried):
    (variant,) = tried("AUC").protocol_variants
    digits = next(digits for digits in range(2, 9) if variant.value * 10**digits % 1 > 0.6)
    claimed = check_claim(scores, f"{int(variant.value * 10**digits) / 10**digits} AUC on mini")
    assert variant in claimed.cut
    assert f"{len(claimed.cut):,} more if further digits are cut" in claim_sentence(claimed)
    assert "give it where further digits are cut, not rounded" in [block.title for block in claim_sheet(claimed).blocks]
