"""Values, ties, bounds and notes of each protocol, against scipy and scikit-learn and by hand."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from metaeval.stats.resampling import bootstrap
from protocols import classification, contrast_sets, correlation, preference, retrieval, systems, verdicts
from protocols.contract import Judgements, Resampling

POINT = Resampling(n=0)


def sample(seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    pool = np.sort(rng.integers(0, 40, 400))
    gold = rng.choice([0.0, 1, 2], 400, p=[0.6, 0.2, 0.2])
    score = np.round(gold + rng.normal(size=400), 1)
    return Judgements(gold, np.where(rng.random(400) < missing, np.nan, score), pool // 4, pool)


def rows(gold, score, pool=None):
    """Each row in a group of its own, or each pool in one."""
    codes = np.array(pool if pool is not None else range(len(gold)), dtype=np.int64)
    return Judgements(np.array(gold, dtype=float), np.array(score, dtype=float), codes, codes)


def values(outcome):
    return {key: estimate.value for key, estimate in outcome.estimates.items()}


def refills(given, n):
    """Random scores in the place of the missing ones, some tied with observed scores, some beyond them."""
    rng, missing = np.random.default_rng(1), np.isnan(given.score)
    return [np.where(missing, np.round(rng.normal(size=missing.size) * 4, 1), given.score) for _ in range(n)]


def test_correlation_leaves_unscored_rows_out_and_bounds_them():
    given = sample(missing=0.2)
    scored = ~np.isnan(given.score)
    outcome = correlation.evaluate(given, POINT, {})
    assert outcome.scored == scored.sum()
    assert outcome.unscored == (~scored).sum()
    assert values(outcome) == pytest.approx(values(correlation.evaluate(given.rows(scored), POINT, {})), abs=1e-12)
    for estimate in outcome.estimates.values():
        assert estimate.bounds[0] < estimate.value < estimate.bounds[1]


def test_many_groups_have_the_intervals_of_few(monkeypatch):
    rng = np.random.default_rng(0)
    system = np.tile(np.arange(3), 100)
    gold = rng.integers(0, 5, 300).astype(float)
    given = Judgements(gold, gold + rng.normal(size=300), np.arange(300) // 3, np.arange(300), system)
    constant = dataclasses.replace(given, score=system.astype(float))

    left_out = correlation.evaluate(given, Resampling(n=1), {}).estimates
    monkeypatch.setattr(correlation, "MOST_LEFT_OUT", 99)
    differentiated = correlation.evaluate(given, Resampling(n=1), {}).estimates
    for key, estimate in differentiated.items():
        assert estimate.value == left_out[key].value
        assert estimate.low == pytest.approx(left_out[key].low, abs=0.01 if key in correlation.BY_RANKS else 0)
        assert (estimate.low == left_out[key].low) == (key not in correlation.BY_RANKS)
    undefined = correlation.evaluate(constant, Resampling(n=1), {}).estimates["residual_spearman"]
    assert (undefined.value, undefined.low) == (None, None)


@pytest.mark.parametrize("groups", [1000, 1001])
def test_partial_coefficients_of_ranks_have_each_group_left_out_up_to_1000(groups, monkeypatch):
    gold, noise = np.random.default_rng(0).normal(size=(2, 2 * groups))
    row = np.arange(2 * groups)
    given = Judgements(gold, gold + noise, row // 2, row, row % 2)
    first = correlation.evaluate(given, Resampling(n=1), {}).estimates["residual_spearman"]
    monkeypatch.setattr(correlation, "MOST_LEFT_OUT", 99)
    differentiated = correlation.evaluate(given, Resampling(n=1), {}).estimates["residual_spearman"]
    assert (first.low == differentiated.low) == (groups > 1000)


INPUTS = np.repeat(np.arange(5), (6325, 26, 7, 3, 2))  # 20,000,000 pairs of rows share one


@pytest.mark.parametrize(
    ("protocol", "key", "most", "columns"),
    [
        (verdicts, "accuracy", 10, lambda n: (np.arange(2 * n) % n, np.arange(2 * n))),
        (systems, "spa", 20_000, lambda n: (np.arange(n) % 2, np.arange(n), np.arange(n) % 3)),
        (contrast_sets, "fall", 60, lambda n: (np.zeros(2 * n), np.arange(2 * n) // 2, None)),
        (preference, "consistency", 0, lambda n: (np.arange(6363 + 2 * n) % 2, np.append(INPUTS, [5] * 2 * n))),
    ],
)
def test_a_measure_takes_so_many_levels_inputs_kinds_or_pairs_and_no_more(protocol, key, most, columns):
    measure = next(one for one in protocol.PROTOCOL.measures if one.key == key)
    for number in (most, most + 1):
        gold, pool, *system = columns(number)
        kind = np.array(["original" if row % 2 == 0 else f"kind {row}" for row in range(gold.size)], np.object_)
        given = Judgements(gold * 1.0, gold * 1.0, pool, pool, *system, kind=kind)
        assert bool(measure.blind(given)) == (number > most)


def test_classification_agrees_with_scikit_learn():
    given = sample()
    expected = {}
    for key, high, low in (("fs_ns", 2, 0), ("fs_ps", 2, 1), ("ps_ns", 1, 0)):
        member = np.isin(given.gold, (high, low))
        expected[key] = roc_auc_score(given.gold[member] == high, given.score[member])
    expected["overall"] = np.mean(list(expected.values()))
    expected["ap_full"] = average_precision_score(given.gold == 2, given.score)
    assert values(classification.evaluate(given, POINT, {})) == pytest.approx(expected, abs=1e-12)
    declared = {(of.chance, of.about[:7]) for of in classification.PROTOCOL.measures}
    assert declared == {(0.5, "ROC-AUC"), (0.5, "chance "), (0.5, "unweigh"), (None, "average")}


@pytest.mark.parametrize(("evaluate", "times"), [(classification.evaluate, 40), (retrieval.evaluate, 20)])
def test_bounds_hold_every_refill(evaluate, times):
    given = sample(missing=0.1)
    outcome = evaluate(given, POINT, {})
    for score in refills(given, times):
        refilled = evaluate(dataclasses.replace(given, score=score), POINT, {})
        for key, estimate in outcome.estimates.items():
            value = refilled.estimates[key].value
            assert estimate.bounds[0] < value < estimate.bounds[1]
            assert refilled.estimates[key].bounds is None


@pytest.mark.parametrize("gains", ["linear", "exponential"])
def test_retrieval_agrees_with_scikit_learn(gains):
    given = sample()
    outcome = retrieval.evaluate(given, POINT, {"gains": gains})
    gain = given.gold if gains == "linear" else 2**given.gold - 1
    pools = [given.pool == code for code in np.unique(given.pool) if given.gold[given.pool == code].any()]
    for k in (5, 10, 20):
        expected = np.mean([ndcg_score([gain[pool]], [given.score[pool]], k=k) for pool in pools])
        assert outcome.estimates[f"ndcg@{k}"].value == pytest.approx(expected, abs=1e-12)


def test_retrieval_by_hand():
    # Pool 0 ranked NONE, FULL: MRR = MAP = 1/2, P@1 = 0, NDCG = (2 / log2(3)) / 2 = .63093. Pool 1 ranked FULL, NONE:
    # all 1. Means .75, .75, .5, .81546; recall@5 1.
    given = rows([0, 2, 2, 0], [0.9, 0.1, 0.9, 0.1], pool=[0, 0, 1, 1])
    found = values(retrieval.evaluate(given, POINT, {}))
    assert found["ndcg@5"] == pytest.approx(0.81546, abs=5e-6)
    assert [found[key] for key in ("mrr", "map", "p@1", "recall@5")] == pytest.approx([0.75, 0.75, 0.5, 1.0])


def test_retrieval_counts_what_it_leaves_out():
    # Pool 0 counts (2 scored, 1 unscored). Pool 1 has no support (2 rows, one of them unscored). The only support of
    # pool 2 is unscored: that row is unscored, the two scored ones are excluded.
    given = rows(
        [2, 0, 1, 0, 0, 2, 0, 0], [0.9, 0.1, np.nan, 0.3, np.nan, np.nan, 0.2, 0.4], pool=[0, 0, 0, 1, 1, 2, 2, 2]
    )
    outcome = retrieval.evaluate(given, POINT, {})
    assert outcome.excluded == {
        "pool without a supporting candidate": 2,
        "pool whose supporting candidates are all unscored": 2,
    }
    assert (outcome.scored, outcome.unscored, outcome.total) == (2, 2, 8)
    # Pool 0 alone is ideal. At worst pool 0 ranks the missing PARTIAL first ((1 + 2 / log2(3)) / 2.63093 = .85972,
    # counting the tail NONE as 0) and pool 2 ranks its FULL third (1 / log2(4) = .5): (.85972 + .5) / 2 = .67986.
    estimate = outcome.estimates["ndcg@5"]
    assert estimate.value == pytest.approx(1)
    assert estimate.bounds == pytest.approx((0.67986, 1.0), abs=5e-6)


def test_retrieval_refuses_a_pool_in_two_groups():
    given = dataclasses.replace(rows([2, 0], [0.1, 0.2], pool=[3, 3]), group=np.array([0, 1]))
    with pytest.raises(ValueError, match="pool 3 has rows in two"):
        retrieval.evaluate(given, POINT, {})


def test_a_resampled_mean_is_the_mean_over_the_drawn_pools():
    # Two groups of one pool each, values 1 and .63093: a resample holds both, or one of them twice.
    given = rows([2, 0, 0, 2], [0.9, 0.1, 0.9, 0.1], pool=[0, 0, 1, 1])
    draws = bootstrap(2, 50, 0)
    weights = np.concatenate(list(draws), axis=1)
    found = retrieval.PROTOCOL.replicate(given, 2, draws, {}, ["ndcg@5"])["ndcg@5"]
    assert found == pytest.approx((weights.T @ [1, 1 / np.log2(3)]) / 2, abs=1e-12)


def test_pools_that_no_metric_can_get_wrong_are_said():
    # Pool 0: one candidate. Pool 1: two of one level. Pool 2: full and none, ranked wrongly: gain 2 at rank 2.
    given = rows([1, 2, 2, 2, 0], [0.1, 0.2, 0.3, 0.4, 0.5], pool=[0, 1, 1, 2, 2])
    outcome = retrieval.evaluate(given, POINT, {})
    assert outcome.warnings[0].startswith("2 of 3 pools hold candidates of one level only")
    assert outcome.estimates["ndcg@5"].value == pytest.approx((1 + 1 + 1 / np.log2(3)) / 3)
    assert retrieval.evaluate(rows([2, 0], [0.4, 0.5], pool=[2, 2]), POINT, {}).warnings == ()
    one = retrieval.evaluate(rows([1, 2, 0], [0.1, 0.4, 0.5], pool=[0, 2, 2]), POINT, {})
    assert one.warnings[0].startswith("1 of 2 pools holds candidates")
