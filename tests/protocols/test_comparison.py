"""Two metrics compared: against a jackknife over groups that is written out here, and what must hold of any pair."""

import dataclasses
import warnings
from argparse import Namespace

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score, f1_score, ndcg_score, roc_auc_score

from metaeval.stats.influence import Influence, minus_known, t_test
from protocols import classification, comparison, correlation, decision, preference, retrieval
from protocols.comparison import CHANCE_DRAWS, NOT_BOTH, chance, compare
from protocols.contract import Estimate, Judgements, Resampling

RESAMPLING = Resampling(n=60, seed=3)


def _auc(high, low):
    def area(rows):
        # By Mann and Whitney's rank sum: scikit-learn's function takes many times as long, and is asked often.
        positive, negative = rows.gold == high, rows.gold == low
        above = scipy_stats.rankdata(rows.score[positive | negative])[positive[positive | negative]].sum()
        n = int(positive.sum())
        return float((above - n * (n + 1) / 2) / (n * negative.sum()))

    return area


def test_the_rank_sum_is_scikit_learns_area():
    for rows in two():
        kept = rows.rows(rows.gold != 1)
        assert _auc(2, 0)(rows) == pytest.approx(roc_auc_score(kept.gold == 2, kept.score), abs=1e-12)


def _overall(rows):
    return float(np.mean([_auc(*pair)(rows) for pair in ((2, 0), (2, 1), (1, 0))]))


def _ndcg_at_5(rows):
    # Pools of one size are given to scikit-learn together, which takes the mean.
    pools = [rows.rows(rows.pool == code) for code in np.unique(rows.pool)]
    by_size = {}
    for pool in pools:
        if pool.gold.max() >= 1:
            by_size.setdefault(pool.gold.size, []).append(pool)
    means = [ndcg_score([p.gold for p in some], [p.score for p in some], k=5) for some in by_size.values()]
    return float(np.average(means, weights=[len(some) for some in by_size.values()]))


def _scipy(function):
    def coefficient(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy_stats.ConstantInputWarning)
            return float(function(rows.score, rows.gold)[0])

    return coefficient


def _macro_f1(rows):
    return float(f1_score(rows.gold, rows.score, average="macro"))


def _kappa(rows):
    return float(cohen_kappa_score(rows.gold, rows.score, weights="quadratic"))


# Measure -> its protocol, and the official function.
MEASURES = {
    "pearson": (correlation.PROTOCOL, _scipy(scipy_stats.pearsonr)),
    "spearman": (correlation.PROTOCOL, _scipy(scipy_stats.spearmanr)),
    "kendall": (correlation.PROTOCOL, _scipy(scipy_stats.kendalltau)),
    "fs_ns": (classification.PROTOCOL, _auc(2, 0)),
    "overall": (classification.PROTOCOL, _overall),
    "ndcg@5": (retrieval.PROTOCOL, _ndcg_at_5),
    "macro_f1": (decision.PROTOCOL, _macro_f1),
    "kappa": (decision.PROTOCOL, _kappa),
}
every_measure = pytest.mark.parametrize("key", list(MEASURES))


def two(seed=0, n_groups=20, noise=(1.0, 1.25)):
    """Two tied metrics on groups of two pools of four rows, whose errors have a part that a group shares."""
    rng = np.random.default_rng(seed)
    pool = np.repeat(np.arange(2 * n_groups), 4)
    gold = rng.choice([0.0, 1, 2], pool.size)
    shared = rng.normal(size=(2, n_groups))[:, pool // 2]
    one, other = np.round(gold + np.array(noise)[:, None] * (shared + rng.normal(size=shared.shape)), 1)
    return Judgements(gold, one, pool // 2, pool), Judgements(gold, other, pool // 2, pool)


def held(key, one, other, resampling=RESAMPLING):
    """The difference as a table has it: tested by t, or with a note that says why there is no test."""
    protocol = MEASURES[key][0] if key in MEASURES else classification.PROTOCOL
    outcomes = protocol.evaluate(one, resampling, {}), protocol.evaluate(other, resampling, {})
    metrics, against = {"one": (one, outcomes[0])}, {"one": {"other": (other, outcomes[1])}}
    by_t = comparison.tested_against(protocol, {}, resampling, metrics, against, [key], 0).get(("one", "other"), {})
    return by_t[key] if key in by_t else compare(protocol, (one, other), outcomes, resampling, 0, {}, (key,))[key]


def written_out(key, one, other):
    """The difference on the rows of both, and its standard error: the jackknife over groups."""
    protocol, official = MEASURES[key]
    both = ~np.isnan(one.score) & ~np.isnan(other.score)
    pair = [rows.rows(both) for rows in (one, other)]
    if protocol.judge:
        pair = [protocol.judge(rows, {}) for rows in pair]
    codes = np.unique(pair[0].group)
    values = [
        official(pair[0].rows(kept)) - official(pair[1].rows(kept))
        for kept in (np.ones(both.sum(), dtype=bool), *(pair[0].group != code for code in codes))
    ]
    left_out, n = np.array(values[1:]), codes.size
    return values[0], float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))


@every_measure
@pytest.mark.parametrize("missing", [False, True])
def test_the_difference_is_that_of_the_rows_that_both_scored(key, missing):
    one, other = two(4)
    if missing:  # group 5 is lost to the first metric as a whole, and rows here and there to either
        rng = np.random.default_rng(9)
        one = one.with_score(np.where((one.group == 5) | (rng.random(160) < 0.1), np.nan, one.score))
        other = other.with_score(np.where(rng.random(160) < 0.1, np.nan, other.score))
    value, _ = written_out(key, one, other)
    found = held(key, one, other)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.n == (~np.isnan(one.score) & ~np.isnan(other.score)).sum()
    assert found.low < value < found.high
    assert (found.p <= 0.05) == (found.low > 0 or found.high < 0)


@pytest.mark.parametrize("groups", ["of eight rows", "of one row"])
@pytest.mark.parametrize("key", ["pearson", "spearman", "kendall"])
def test_p_is_that_of_the_jackknife_over_groups(key, groups):
    # Data without groups have one for each row.
    one, other = two(3)
    if groups == "of one row":
        one, other = (dataclasses.replace(rows, group=np.arange(160)) for rows in (one, other))
    value, error = written_out(key, one, other)
    found = held(key, one, other)
    # On the logit scale of the range of a difference of two correlations, -2 to 2.
    at = (value + 2) / 4
    t = np.log(at / (1 - at)) / (error / 4 / (at * (1 - at)))
    moved = [correlation.PROTOCOL.influence(rows, one.group.max() + 1, {}, [key])[key] for rows in (one, other)]
    apart = moved[0] - moved[1]
    assert apart.standard_error == pytest.approx(error, abs=1e-12)
    assert found.p == pytest.approx(2 * scipy_stats.t.sf(abs(t), apart.effective_groups - 1), rel=1e-9)


@every_measure
def test_identical_metrics(key):
    one, _ = two()
    found = held(key, one, one)
    assert (found.ends, found.n, found.p, found.note) == ((0.0, 0.0, 0.0), 160, 1.0, "")


@every_measure
def test_the_other_way_round_is_the_mirror_image(key):
    one, other = two(6)
    there, back = held(key, one, other), held(key, other, one)
    assert back.p == pytest.approx(there.p, abs=1e-12)
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low), abs=1e-12)


@every_measure
def test_one_group_shows_no_difference(key):
    # Decisions need five groups.
    one, other = (dataclasses.replace(rows, group=np.zeros(160, dtype=np.int64)) for rows in two())
    found = held(key, one, other)
    assert (found.low, found.high) == (None, None)
    if MEASURES[key][0] is decision.PROTOCOL:
        assert (found.value, found.p, found.note) == (None, None, "undefined for one of the two")
    else:
        assert (found.p, found.note) == (None, "no interval: all pairs come from one group")
        assert found.value == pytest.approx(MEASURES[key][1](one) - MEASURES[key][1](other), abs=1e-12)


def test_a_difference_that_is_undefined_without_a_group_says_so():
    # The first metric varies in group 0 alone, so that it has no correlation without it.
    one, other = two()
    flat = one.with_score(np.where(one.group == 0, one.score, 0.5))
    found = held("spearman", flat, other)
    assert found.value is not None
    assert (found.low, found.high, found.p) == (None, None, None)
    assert found.note == "no interval: undefined without one of the groups"


def test_no_row_in_common():
    one, other = two()
    first = np.arange(160) < 80
    one, other = (rows.with_score(np.where(kept, rows.score, np.nan)) for rows, kept in ((one, first), (other, ~first)))
    for key in MEASURES:
        assert held(key, one, other) == Estimate(None, n=0, note=NOT_BOTH)


def test_without_resamples_there_is_a_test_and_no_interval():
    found, usual = held("spearman", *two(), resampling=Resampling(n=0)), held("spearman", *two())
    assert (found.low, found.high, found.note) == (None, None, "")
    assert (found.value, found.p) == (usual.value, usual.p)


def test_a_control_is_met_with_an_interval_where_the_run_gives_intervals():
    def met(**settings):
        protocol, resampling = classification.PROTOCOL, dataclasses.replace(RESAMPLING, **settings)
        one, other = ((rows, protocol.evaluate(rows, resampling, {})) for rows in two(3))
        tested = {"metric": one}, {"metric": {"control": other}}
        found = comparison.tested_against(protocol, {}, resampling, *tested, ["fs_ns"], 0)
        return found["metric", "control"]["fs_ns"]

    usual, few, none = met(fewest=2), met(fewest=1000), met(n=0)
    assert usual.low is not None
    assert (usual.value, usual.p) == (none.value, none.p)
    assert (few.value, few.p) == (usual.value, None)  # no test where the interval is withheld
    assert (few.low, few.high, none.low, none.high) == (None, None, None, None)
    assert few.note == "no interval: fewer than 1000 effective groups"


def test_random_scores_are_expected_to_have_exact_values_where_there_are_any():
    rng = np.random.default_rng(0)
    pool = np.repeat(np.arange(30), 4)
    rows = Judgements(rng.permuted(np.tile(np.arange(4.0), (30, 1)), axis=1).ravel(), np.zeros(120), pool, pool)
    options = {"equal": "lost"}
    exact = {"consistency": (0.5, 0.0), "pairwise": (0.5, 0.0)}
    assert chance(preference.PROTOCOL, rows, options, ["consistency", "pairwise"]) == exact
    # With equal gold the margin of ties is fitted: the mean of draws, whose error says how far another mean may lie.
    tied = dataclasses.replace(rows, gold=rows.gold // 2)
    drawn = chance(preference.PROTOCOL, tied, options, ["consistency", "pairwise"])
    assert drawn["consistency"] == (0.5, 0.0)
    draws = (tied.with_score(rng.random(120)) for _ in range(CHANCE_DRAWS))
    values = [preference.PROTOCOL.evaluate(of, Resampling(n=0), options).estimates["pairwise"].value for of in draws]
    error = np.std(values, ddof=1) / CHANCE_DRAWS**0.5
    assert drawn["pairwise"] == (pytest.approx(np.mean(values), abs=4 * error), pytest.approx(error, rel=0.35))
    # A mean of two defined draws has an error, (.75 - .25) / 2, one alone has none.
    told = iter([0.25, 0.75, *[None] * 38, 0.25, *[None] * 39])
    seldom = dataclasses.replace(
        preference.PROTOCOL, chance=None, evaluate=lambda *_: Namespace(estimates={"pairwise": Estimate(next(told))})
    )
    found = [chance(seldom, tied, options, ["pairwise"]) for _ in range(2)]
    assert found == [{"pairwise": (0.5, pytest.approx(0.25))}, {}]


def test_the_error_of_an_expectation_widens_its_test():
    given = Influence(0.7, np.array([[0.02, -0.01, -0.01, 0.03, -0.03, 0.0]]), np.ones((1, 6), dtype=int), (0.0, 1.0))
    apart = minus_known(given, 0.5, 0.03)
    assert apart.standard_error == pytest.approx(np.hypot(given.standard_error, 0.03), abs=1e-15)
    assert t_test(apart) > t_test(minus_known(given, 0.5))
    assert (apart - apart).error == pytest.approx(0.03 * 2**0.5)
