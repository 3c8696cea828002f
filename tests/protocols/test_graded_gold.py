"""Gold off the three-level scale, and input that no protocol was made for: a value, or none with a reason."""

import dataclasses
import math

import numpy as np
import pytest
from sklearn.metrics import ndcg_score, roc_auc_score

from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from protocols import classification, correlation, decision, retrieval
from protocols.contract import Estimate, Judgements, Resampling

POINT = Resampling(n=0)
PROTOCOLS = [correlation.PROTOCOL, classification.PROTOCOL, retrieval.PROTOCOL, decision.PROTOCOL]
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)


def rated(values, n=120, seed=0):
    """Ratings drawn from `values`, off the three-level scale; pools of four rows, groups of two pools."""
    rng = np.random.default_rng(seed)
    gold, pool = rng.choice(np.array(values, dtype=float), n), np.arange(n) // 4
    return Judgements(gold, np.round(gold + rng.normal(size=n), 1), pool // 2, pool, levels=False)


def small(gold, score):
    codes = np.arange(len(gold))
    return Judgements(np.array(gold, dtype=float), np.array(score, dtype=float), codes, codes // 2, levels=False)


def won(score, gold):
    """Concordance by looking at every pair of rows."""
    higher, lower = np.nonzero(gold[:, None] > gold[None, :])
    return float(np.mean((np.sign(score[higher] - score[lower]) + 1) / 2))


@pytest.mark.parametrize("values", [[0, 1], [0, 2], [-1, 1], [3.5, 4.0]])
def test_two_values_are_told_apart_by_roc_auc(values):
    given = rated(values)
    assert classification.PROTOCOL.shown(given, {}) == ("auc",)
    outcome = classification.evaluate(given, POINT, {})
    assert list(outcome.estimates) == ["auc"]
    expected = roc_auc_score(given.gold == max(values), given.score)
    assert outcome.estimates["auc"].value == pytest.approx(expected, abs=1e-12)
    assert outcome.excluded == {}


@pytest.mark.parametrize("values", [[0, 1, 2], [1, 2, 3, 4, 5], [0, 0.25, 0.5, 1], np.linspace(-1, 1, 60).tolist()])
def test_more_values_are_told_apart_by_concordance(values):
    given = rated(values)
    assert classification.PROTOCOL.shown(given, {}) == ("concordance",)
    outcome = classification.evaluate(given, Resampling(n=50), {})
    estimate = outcome.estimates["concordance"]
    assert estimate.value == pytest.approx(won(given.score, given.gold), abs=1e-12)
    assert estimate.low < estimate.value < estimate.high


def test_concordance_is_bounded_by_what_unscored_rows_can_do():
    # Gold 1 2 3 with scores .1 .5 and none: the pair (1, 2) is won, the two with the third row are lost or won.
    estimate = classification.evaluate(small([1, 2, 3], [0.1, 0.5, math.nan]), POINT, {}).estimates["concordance"]
    assert estimate.value == 1
    assert estimate.bounds == pytest.approx((1 / 3, 1.0), abs=1e-15)
    # With one scored row nothing is known: no value, and all pairs lost or won.
    alone = classification.evaluate(small([1, 2, 3], [0.1, math.nan, math.nan]), POINT, {}).estimates["concordance"]
    assert alone == Estimate(None, worst=0.0, best=1.0, note="one gold level only")


@pytest.mark.parametrize("values", [[0, 1], [1, 2, 3, 4, 5]])
def test_bounds_hold_every_refill(values):
    given = rated(values)
    rng = np.random.default_rng(2)
    missing = rng.random(120) < 0.15
    (estimate,) = classification.evaluate(
        given.with_score(np.where(missing, np.nan, given.score)), POINT, {}
    ).estimates.values()
    for _ in range(30):
        score = np.where(missing, np.round(3 * rng.normal(size=120), 1), given.score)
        assert estimate.bounds[0] < won(score, given.gold) < estimate.bounds[1]


def rescored(values, score, **columns):
    """Ratings with these scores."""
    return dataclasses.replace(rated(values).with_score(score), **columns)


PLACE = np.arange(120)
MISSING = np.where(PLACE % 7 == 0, np.nan, PLACE % 5 / 4)
# Those beside the edges of the contract checks (`metaeval.conformance.protocol`).
EDGES = {
    "one level, some unscored": rescored([1], MISSING),
    "all unscored": rescored([0, 1], MISSING * np.nan),
    "one scored": rescored([0, 1], np.where(PLACE == 3, 0.5, np.nan)),
    "one value": rescored([0, 1, 2], np.full(120, 0.1)),
    "groups of one row": rescored([0, 2], PLACE % 5, group=PLACE, pool=PLACE),
    "binary, one group": rescored([0, 2], PLACE % 5, group=np.zeros(120, dtype=np.int64)),
    "graded, some unscored": rescored([0, 0.5, 1, 3, 4], MISSING),
    "as far apart as floats are": rescored([0, 1, 2], np.where(PLACE < 60, -1.7e308, 1.7e308)),
    "as small as floats are": rescored([0, 1, 2], PLACE * 5e-324),
    "nothing": rated([0, 1]).rows(np.zeros(120, dtype=bool)),
}


@every_protocol
@pytest.mark.parametrize("edge", list(EDGES))
@pytest.mark.parametrize("levels", [False, True], ids=["ratings", "levels"])
def test_edge_matrix(protocol, edge, levels):
    # RuntimeWarnings are errors in this suite, so that this says too: no 0 / 0 and no mean of NaN on the way.
    given = dataclasses.replace(EDGES[edge], levels=levels)
    resampling = Resampling(n=20)
    outcome = protocol.evaluate(given, resampling, {})
    assert outcome.scored + outcome.unscored + sum(outcome.excluded.values()) == outcome.total
    for estimate in outcome.estimates.values():
        numbers = [estimate.value, estimate.low, estimate.high, *(estimate.ties or ()), *(estimate.bounds or ())]
        assert all(math.isfinite(number) for number in numbers if number is not None)
        assert estimate.note or estimate.value is not None
    keys = [key for key in protocol.shown(given, {}) if key in outcome.estimates]
    mirrored = given.with_score(-given.score)
    outcomes = outcome, protocol.evaluate(mirrored, resampling, {})
    tested = {"one": (given, outcomes[0]), "mirrored": (mirrored, outcomes[1])}
    answer = significance(protocol, {}, resampling, ComparisonConfig(), tested, keys)
    for found in answer.comparisons if answer else ():
        numbers = [number for number in (found.difference, found.low, found.high, found.p) if number is not None]
        assert all(math.isfinite(number) for number in numbers)
        assert (found.difference is None) <= bool(found.note), found.measure
        assert found.p is None or 0 <= found.p <= 1


def test_a_metric_of_one_value():
    given = EDGES["one value"]
    for estimate in correlation.evaluate(given, POINT, {}).estimates.values():
        assert (estimate.value, estimate.note) == (None, "constant score")
    # Every pair is tied and counts one half.
    assert classification.evaluate(given, POINT, {}).estimates["concordance"].value == 0.5
    # Pools of four, ties expected: scikit-learn's default.
    pools = [given.rows(given.pool == code) for code in np.unique(given.pool)]
    expected = np.mean([ndcg_score([p.gold], [p.score], k=5) for p in pools if p.gold.max() >= 1])
    assert retrieval.evaluate(given, POINT, {}).estimates["ndcg@5"].value == pytest.approx(expected, abs=1e-12)


def test_a_comparison_leaves_out_what_the_table_leaves_out():
    # Gold beyond the levels in a three-level table, and pools that hold no support though they hold a gain of .5.
    # Their scores are the lowest of both metrics, so that the ranks of all other rows keep their order without them.
    three = dataclasses.replace(rated([0, 1, 2]), levels=True)
    stray = np.arange(120) % 5 == 0
    strayed = dataclasses.replace(three, gold=np.where(stray, 3 + np.arange(120) / 100, three.gold))
    weak = rated([0, 1, 2])
    lost = weak.pool % 2 == 0
    weakened = dataclasses.replace(weak, gold=np.where(lost, 0.5 * (np.arange(120) % 4 == 1), weak.gold))
    rng = np.random.default_rng(1)
    for protocol, given, kept, keys in (
        (classification.PROTOCOL, strayed, ~stray, ("fs_ns", "overall", "ap_full")),
        (retrieval.PROTOCOL, weakened, ~lost, ("ndcg@5", "mrr")),
    ):
        given = given.with_score(np.where(kept, given.score, -100.0))
        other = given.with_score(np.where(kept, given.score + rng.normal(size=120), -100.0))
        assert np.unique(given.group[kept]).size == np.unique(given.group).size
        found, drawn = [], Resampling(n=20)
        for pair in ((given, other), (given.rows(kept), other.rows(kept))):
            tested = {name: (rows, protocol.evaluate(rows, drawn, {})) for name, rows in zip("ab", pair, strict=True)}
            answer = significance(protocol, {}, drawn, ComparisonConfig(), tested, keys)
            found.append([one.model_copy(update={"rows": 0}) for one in answer.comparisons])
        assert found[0] == found[1]
