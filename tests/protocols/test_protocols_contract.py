"""What must hold for every protocol: the edge matrix, the counts, the resamples."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import pearsonr

from metaeval.conformance.protocol import CHECKS, EDGES, ProtocolSubject
from metaeval.core import registry
from metaeval.stats.resampling import bootstrap
from protocols.classification import PROTOCOL as CLASSIFICATION
from protocols.contract import Judgements, Option, Resampling
from protocols.correlation import PROTOCOL as CORRELATION
from protocols.retrieval import PROTOCOL as RETRIEVAL

PROTOCOLS = [CORRELATION, CLASSIFICATION, RETRIEVAL]
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)


def run(protocol, given, n=20, seed=0):
    return protocol.evaluate(given, Resampling(n=n, seed=seed), {})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", registry.names("protocol"))
def test_every_protocol_keeps_the_contract(name, check):
    check(ProtocolSubject(registry.find("protocol", name), name))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_levels_cut_in_two_keep_the_contract(check):
    cut = {"multi_class": Option("how levels become two classes", {"ovr": "full against the rest, some against none"})}
    check(ProtocolSubject(dataclasses.replace(CLASSIFICATION, options=cut), CLASSIFICATION.name))


@every_protocol
@pytest.mark.parametrize("edge", EDGES)
def test_a_measure_that_gives_opposite_scores_one_value_says_why(protocol, edge):
    # The other direction is a check of the contract: `what_is_blind_is_blind`.
    given = EDGES[edge]
    for keys in (given, dataclasses.replace(given, levels=False)):
        best, worst = (run(protocol, keys.with_score(score)).estimates for score in (given.gold, -given.gold))
        for key, estimate in best.items():
            reason = protocol.measure(key).blind(keys)
            assert bool(reason) == (estimate.value == worst[key].value), (key, reason, estimate.value)


def pools(*levels):
    """One pool, and one group, for each list of levels; no scores."""
    gold = np.array([level for pool in levels for level in pool])
    pool = np.repeat(np.arange(len(levels)), [len(pool) for pool in levels])
    return Judgements(gold, np.full(gold.size, np.nan), pool, pool)


ALL_SUPPORT = "the candidates of each statement all support it"
NO_SUPPORT = "no statement has a supporting candidate"


@pytest.mark.parametrize(
    ("given", "ndcg", "mrr", "recall"),
    [
        (pools([2, 0], [1]), "", "", "no statement has more than 5 candidates"),
        (pools([2], [1, 1], [0, 0]), "the candidates of each statement are of one level", ALL_SUPPORT, ALL_SUPPORT),
        (pools([2, 1]), "", ALL_SUPPORT, ALL_SUPPORT),
        (pools([2, 0, 0, 0, 0, 0]), "", "", ""),
        (pools([0, 0], [0]), NO_SUPPORT, NO_SUPPORT, NO_SUPPORT),
    ],
)
def test_pools_that_any_metric_ranks_alike(given, ndcg, mrr, recall):
    assert [RETRIEVAL.measure(key).blind(given) for key in ("ndcg@5", "mrr", "recall@5")] == [ndcg, mrr, recall]
    assert RETRIEVAL.blind(given, {}) == ndcg
    assert (RETRIEVAL.chance(given, {}) == {}) == (ndcg == NO_SUPPORT)


def test_groups_without_a_score_take_part_in_the_draw():
    # Two metrics must meet the same resamples even if one of them has no score in some group. The expected values
    # repeat the scored rows by the weights over all 17 groups and take scipy's r of each resample.
    given = EDGES["plain"]
    scored = given.rows(given.group != 3)
    draws = bootstrap(17, 50, seed=4)
    resampled = []
    for weights in np.concatenate(list(draws), axis=1).T:
        repeats = weights[scored.group].astype(int)
        resampled.append(pearsonr(np.repeat(scored.score, repeats), np.repeat(scored.gold, repeats)).statistic)
    assert np.unique(given.group).size == 17
    found = CORRELATION.replicate(scored, 17, draws, {}, ["pearson"])["pearson"]
    assert found == pytest.approx(resampled, abs=1e-12)


@every_protocol
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_scores_are_refused_in_one_sentence(protocol, bad):
    score = EDGES["plain"].score.copy()
    score[[4, 9]] = bad
    with pytest.raises(ValueError, match=rf"2 of 300 are infinite \(the first is {bad} at row 4\)"):
        run(protocol, dataclasses.replace(EDGES["plain"], score=score))


@every_protocol
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_gold_must_be_finite(protocol, bad):
    gold = EDGES["plain"].gold.copy()
    gold[7] = bad
    with pytest.raises(ValueError, match=rf"Gold levels must be finite numbers, but row 7 has {bad}"):
        run(protocol, dataclasses.replace(EDGES["plain"], gold=gold))


def test_columns_of_unlike_length_are_refused():
    assert np.array_equal(EDGES["plain"].rows(np.array([7, 2])).score, EDGES["plain"].score[[7, 2]])
    with pytest.raises(ValueError, match="vectors of one length"):
        Judgements(np.zeros(3), np.zeros(2), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("resampling", [Resampling(n=-1), Resampling(level=1.0), Resampling(seed=-1)])
def test_bad_resampling_is_refused(resampling):
    with pytest.raises(ValueError, match=r"must not be negative|must be 0 or more"):
        CORRELATION.evaluate(EDGES["plain"], resampling, {})


@every_protocol
def test_float32_collapse_is_reported(protocol):
    # Probabilities within 3e-9 of 1: all 300 become 1.0 in float32, whose spacing below 1 is 6e-8.
    score = 1 - np.arange(300) * 1e-11
    given = dataclasses.replace(EDGES["plain"], score=score, gold=np.tile([0.0, 1.0, 2.0], 100))
    used = run(protocol, given).scored
    warning = run(protocol, given).warnings[-1]
    assert warning.startswith(f"{used} of {used} distinct scores share their float32 value")
    assert not any("float32" in warning for warning in run(protocol, EDGES["plain"]).warnings)


@pytest.mark.parametrize(("distinct", "warned"), [(40, True), (41, False)])
def test_float32_collapse_is_reported_from_one_score_of_twenty_on(distinct, warned):
    # 1 - 1e-9 becomes 1 in float32: two scores that coincide, 2 / 40 = 5 % of 40 distinct ones.
    score = np.append(np.arange(distinct - 1) + 1.0, 1 - 1e-9)
    given = Judgements(np.resize([0.0, 1, 2], distinct), score, np.arange(distinct), np.arange(distinct))
    assert any("share their float32 value" in warning for warning in run(CORRELATION, given).warnings) == warned
