"""Two metrics compared: p-values against an exchange of scores written out here, and what must hold of any pair."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score, f1_score, ndcg_score, roc_auc_score

from metaeval.stats.influence import Influence, minus_known, t_test
from metaeval.stats.resampling import bootstrap, swaps
from protocols import classification, comparison, correlation, decision, preference, retrieval
from protocols.comparison import CHANCE_DRAWS, NOT_BOTH, Difference, Expected, chance, compare
from protocols.contract import Judgements, Protocol, Resampling

Floats = NDArray[np.float64]
Official = Callable[[Judgements], float]

PERMUTATIONS = 79
RESAMPLING = Resampling(n=60, seed=3)


def _auc(high: float, low: float) -> Official:
    def area(rows: Judgements) -> float:
        # By Mann and Whitney's rank sum: scikit-learn's function takes many times as long, and is asked for each swap.
        positive, negative = rows.gold == high, rows.gold == low
        above = scipy_stats.rankdata(rows.score[positive | negative])[positive[positive | negative]].sum()
        n = int(positive.sum())
        return float((above - n * (n + 1) / 2) / (n * negative.sum()))

    return area


def test_the_rank_sum_is_scikit_learns_area() -> None:
    for rows in two():
        kept = rows.rows(rows.gold != 1)
        assert _auc(2, 0)(rows) == pytest.approx(roc_auc_score(kept.gold == 2, kept.score), abs=1e-12)


def _overall(rows: Judgements) -> float:
    return float(np.mean([_auc(*pair)(rows) for pair in ((2, 0), (2, 1), (1, 0))]))


def _ndcg_at_5(rows: Judgements) -> float:
    # Pools of one size are given to scikit-learn together, which takes the mean.
    pools = [rows.rows(rows.pool == code) for code in np.unique(rows.pool)]
    by_size: dict[int, list[Judgements]] = {}
    for pool in pools:
        if pool.gold.max() >= 1:
            by_size.setdefault(pool.gold.size, []).append(pool)
    means = [ndcg_score([p.gold for p in some], [p.score for p in some], k=5) for some in by_size.values()]
    return float(np.average(means, weights=[len(some) for some in by_size.values()]))


def _scipy(function: Callable[[Floats, Floats], object]) -> Official:
    def coefficient(rows: Judgements) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy_stats.ConstantInputWarning)
            return float(function(rows.score, rows.gold)[0])  # type: ignore[index]

    return coefficient


def _macro_f1(rows: Judgements) -> float:
    return float(f1_score(rows.gold, rows.score, average="macro"))


def _kappa(rows: Judgements) -> float:
    return float(cohen_kappa_score(rows.gold, rows.score, weights="quadratic"))


def _ranks(score: Floats) -> Floats:
    return np.asarray(scipy_stats.rankdata(score))


# Measure -> its protocol, the form in which scores are exchanged, the official function.
MEASURES: dict[str, tuple[Protocol, Callable[[Floats], Floats], Official]] = {
    "pearson": (correlation.PROTOCOL, scipy_stats.zscore, _scipy(scipy_stats.pearsonr)),
    "spearman": (correlation.PROTOCOL, _ranks, _scipy(scipy_stats.spearmanr)),
    "kendall": (correlation.PROTOCOL, _ranks, _scipy(scipy_stats.kendalltau)),
    "fs_ns": (classification.PROTOCOL, _ranks, _auc(2, 0)),
    "overall": (classification.PROTOCOL, _ranks, _overall),
    "ndcg@5": (retrieval.PROTOCOL, _ranks, _ndcg_at_5),
    "macro_f1": (decision.PROTOCOL, np.asarray, _macro_f1),
    "kappa": (decision.PROTOCOL, np.asarray, _kappa),
}
every_measure = pytest.mark.parametrize("key", list(MEASURES))


def two(seed: int = 0, n_groups: int = 20, noise: tuple[float, float] = (1.0, 1.25)) -> tuple[Judgements, Judgements]:
    """Two tied metrics on groups of two pools of four rows, whose errors have a part that a group shares."""
    rng = np.random.default_rng(seed)
    pool = np.repeat(np.arange(2 * n_groups), 4)
    gold = rng.choice([0.0, 1, 2], pool.size)
    shared = rng.normal(size=(2, n_groups))[:, pool // 2]
    one, other = np.round(gold + np.array(noise)[:, None] * (shared + rng.normal(size=shared.shape)), 1)
    return Judgements(gold, one, pool // 2, pool), Judgements(gold, other, pool // 2, pool)


def held(
    key: str, one: Judgements, other: Judgements, resampling: Resampling = RESAMPLING, permutations: int = PERMUTATIONS
) -> Difference:
    protocol = MEASURES[key][0] if key in MEASURES else correlation.PROTOCOL
    outcomes = protocol.evaluate(one, resampling, {}), protocol.evaluate(other, resampling, {})
    return compare(protocol, (one, other), outcomes, resampling, permutations, {}, (key,))[key]


def exchanged(key: str, one: Judgements, other: Judgements) -> tuple[float, float]:
    """The difference and its p: both metrics on one scale, and group by group their scores exchanged."""
    protocol, scale, official = MEASURES[key]
    both = ~np.isnan(one.score) & ~np.isnan(other.score)
    pair = one.rows(both), other.rows(both)
    if protocol.judge:
        pair = protocol.judge(pair[0], {}), protocol.judge(pair[1], {})
    a, b = (scale(rows.score) for rows in pair)
    codes, group = np.unique(pair[0].group, return_inverse=True)
    weights = np.concatenate(list(swaps(codes.size, PERMUTATIONS, RESAMPLING.seed)), axis=1).T
    differences = []
    # Every other weighting is the first metric's side: in its second half, the groups that it takes from the other.
    for from_other in weights[0::2, codes.size :].astype(bool):
        swapped = from_other[group]
        sides = np.where(swapped, b, a), np.where(swapped, a, b)
        values = [official(pair[0].with_score(side)) for side in sides]
        differences.append(values[0] - values[1])
    observed, permuted = abs(differences[0]), np.abs(differences[1:])
    hits = np.sum(permuted >= observed - 1e-12) + np.isnan(permuted).sum()
    return differences[0], float((1 + hits) / (1 + PERMUTATIONS))


@every_measure
@pytest.mark.parametrize("seed", [0, 1])
def test_p_is_that_of_an_exchange_written_out(key: str, seed: int) -> None:
    value, p = exchanged(key, *two(seed))
    found = held(key, *two(seed))
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.p == p
    assert found.rows == 160


@pytest.mark.parametrize("key", ["pearson", "spearman", "fs_ns", "ndcg@5", "macro_f1"])
def test_missing_scores_restrict_to_the_rows_of_both(key: str) -> None:
    # Group 5 is lost to the first metric as a whole, and rows here and there to either.
    one, other = two(4)
    rng = np.random.default_rng(9)
    one = one.with_score(np.where((one.group == 5) | (rng.random(160) < 0.1), np.nan, one.score))
    other = other.with_score(np.where(rng.random(160) < 0.1, np.nan, other.score))
    both = ~np.isnan(one.score) & ~np.isnan(other.score)
    value, p = exchanged(key, one, other)
    found = held(key, one, other)
    assert (found.rows, found.p) == (both.sum(), p)
    assert found.value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_the_interval_is_that_of_paired_differences_of_resampled_groups(missing: bool) -> None:
    # Resampled are all 20 groups, also one that lost its scores: rows repeated by weight, scipy's rho of either.
    one, other = two(2)
    if missing:
        one = one.with_score(np.where(one.group == 5, np.nan, one.score))
    kept = ~np.isnan(one.score)
    differences = []
    for weights in np.concatenate(list(bootstrap(20, 60, 3)), axis=1).T[1:]:
        rows = np.repeat(np.flatnonzero(kept), weights[one.group[kept]])
        rho = [scipy_stats.spearmanr(metric.score[rows], metric.gold[rows]).statistic for metric in (one, other)]
        differences.append(rho[0] - rho[1])
    found = held("spearman", one, other, dataclasses.replace(RESAMPLING, method="percentile"))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])), abs=1e-12)


@every_measure
def test_identical_metrics(key: str) -> None:
    one, _ = two()
    assert held(key, one, one) == Difference(160, 0.0, 0.0, 0.0, p=1.0)


@every_measure
def test_the_other_way_round_is_the_mirror_image(key: str) -> None:
    one, other = two(6)
    there, back = held(key, one, other), held(key, other, one)
    assert back.p == there.p
    assert there.value is not None
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low), abs=1e-12)


@every_measure
def test_p_is_never_0(key: str) -> None:
    # The oracle against noise: no exchange of 40 groups comes near, so that p is the least there is, 1 / (1 + 79).
    one, other = two(8, n_groups=40, noise=(0.0, 9.0))
    assert held(key, one, other).p == 1 / 80


@every_measure
def test_one_group_shows_no_difference(key: str) -> None:
    # All is exchanged or nothing, and either way the two are as far apart as they are. Decisions need five groups.
    one, other = (dataclasses.replace(rows, group=np.zeros(160, dtype=np.int64)) for rows in two())
    found = held(key, one, other)
    assert (found.low, found.high) == (None, None)
    if MEASURES[key][0] is decision.PROTOCOL:
        assert (found.value, found.p, found.note) == (None, None, "undefined for one of the two")
    else:
        assert (found.p, found.note) == (None, "no interval: all pairs come from one group")


def test_a_measure_whose_rows_come_from_one_group_has_no_interval() -> None:
    # FULL and PARTIAL stand in group 0 alone: to resample it only repeats it, and an interval would be one point.
    one, other = two()
    gold = np.where(one.group == 0, 1.0 + np.arange(160) % 2, 0.0)
    one, other = (dataclasses.replace(rows, gold=gold) for rows in (one, other))
    resampling = dataclasses.replace(RESAMPLING, method="percentile")
    outcomes = tuple(classification.evaluate(rows, resampling, {}) for rows in (one, other))
    found = compare(classification.PROTOCOL, (one, other), outcomes, resampling, 79, {}, ("fs_ps", "fs_ns"))
    note = "no interval: all pairs come from one group"
    assert (found["fs_ps"].low, found["fs_ps"].high, found["fs_ps"].p, found["fs_ps"].note) == (None, None, None, note)
    assert found["fs_ns"].low is not None


def test_an_exchange_without_effect_is_as_large_as_none() -> None:
    # The metrics have the same scores in another order: in group 0 turned against the gold, elsewhere among rows of
    # one level, which changes no sum but for its last bits. Whichever groups are exchanged, the difference is the
    # observed one or its opposite: every exchange is a hit, and p = 1.
    rng = np.random.default_rng(0)
    group, gold = np.repeat(np.arange(12), 30), np.tile(np.repeat([0.0, 1, 2], 10), 12)
    score = gold + rng.normal(size=gold.size)
    other = score.reshape(12, 3, 10)[:, :, ::-1].copy()
    other[0] = other[0, ::-1]
    pair = (Judgements(gold, scores.ravel(), group, group) for scores in (score, other))
    assert held("pearson", *pair).p == 1


def test_groups_of_one_row_are_exchanged_row_by_row() -> None:
    one, other = (dataclasses.replace(rows, group=np.arange(160)) for rows in two(3))
    value, p = exchanged("spearman", one, other)
    found = held("spearman", one, other)
    assert found.p == p
    assert found.value == pytest.approx(value, abs=1e-12)


def test_an_exchange_that_leaves_nothing_defined_counts_against_the_difference() -> None:
    # One metric varies in group 0 alone, the other in group 1 alone. To exchange one of the two groups leaves one side
    # without any variation, so that all four exchanges are hits: p = 1 (scipy's coefficient is NaN there).
    gold, group = np.array([0.0, 1, 2, 0, 2, 1]), np.array([0, 0, 0, 1, 1, 1])
    one = Judgements(gold, np.array([1.0, 2, 3, 2, 2, 2]), group, group)
    other = Judgements(gold, np.array([2.0, 2, 2, 1, 2, 3]), group, group)
    value, p = exchanged("spearman", one, other)
    found = held("spearman", one, other, dataclasses.replace(RESAMPLING, n=0))
    assert value != 0
    assert found.p == p == 1


def test_no_row_in_common() -> None:
    one, other = two()
    first = np.arange(160) < 80
    one, other = (rows.with_score(np.where(kept, rows.score, np.nan)) for rows, kept in ((one, first), (other, ~first)))
    for key in MEASURES:
        assert held(key, one, other) == Difference(0, None, note=NOT_BOTH)


@pytest.mark.parametrize("key", ["pearson", "spearman", "kendall"])
def test_a_constant_metric_has_no_difference(key: str) -> None:
    one, other = two()
    found = held(key, one.with_score(np.full(160, 0.1)), other)
    assert found == Difference(160, None, note="undefined for one of the two")


def test_measures_that_are_not_tested_have_an_interval_and_no_p() -> None:
    system = np.tile(np.arange(4), 40)
    one, other = (dataclasses.replace(rows, system=system) for rows in two())
    for key in ("partial_spearman", "residual_spearman"):
        found = held(key, one, other)
        assert found.p is None
        assert found.low is not None
        assert found.high is not None
        assert found.value is not None
        assert found.low < found.value < found.high
    assert held("partial_pearson", one, other).p is not None


def test_without_permutations_or_resamples() -> None:
    found = held("spearman", *two(), resampling=Resampling(n=0), permutations=0)
    assert (found.low, found.p, found.note) == (None, None, "")
    assert found.value is not None


@pytest.mark.parametrize("method", ["t", "percentile"])
def test_a_control_is_met_with_an_interval_where_the_run_gives_intervals(method: str) -> None:
    one, other = two(3)

    def met(**settings: object) -> Difference:
        resampling = dataclasses.replace(RESAMPLING, method=method, **settings)
        tested = [(rows, classification.PROTOCOL.evaluate(rows, resampling, {})) for rows in (one, other)]
        against = {"metric": {"control": tested[1]}}
        found = comparison.tested_against(
            classification.PROTOCOL, {}, resampling, {"metric": tested[0]}, against, ["fs_ns"], 0
        )
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
    exact = {"consistency": Expected(0.5), "pairwise": Expected(0.5)}
    assert chance(preference.PROTOCOL, rows, options, ["consistency", "pairwise"]) == exact
    # With equal gold the margin of ties is fitted: the mean of draws, whose error says how far another mean may lie.
    tied = dataclasses.replace(rows, gold=rows.gold // 2)
    drawn = chance(preference.PROTOCOL, tied, options, ["consistency", "pairwise"])
    assert drawn["consistency"] == Expected(0.5)
    values = []
    for _ in range(CHANCE_DRAWS):
        scores = tied.with_score(rng.random(120))
        values.append(preference.PROTOCOL.evaluate(scores, Resampling(n=0), options).estimates["pairwise"].value)
    error = np.std(values, ddof=1) / CHANCE_DRAWS**0.5
    assert drawn["pairwise"].error == pytest.approx(error, rel=0.35)
    assert drawn["pairwise"].value == pytest.approx(np.mean(values), abs=4 * error)


def test_the_error_of_an_expectation_widens_its_test():
    given = Influence(0.7, np.array([[0.02, -0.01, -0.01, 0.03, -0.03, 0.0]]), np.ones((1, 6), dtype=int), (0.0, 1.0))
    apart = minus_known(given, 0.5, 0.03)
    assert apart.standard_error == pytest.approx(np.hypot(given.standard_error, 0.03), abs=1e-15)
    assert t_test(apart) > t_test(minus_known(given, 0.5))
    assert (apart - apart).error == pytest.approx(0.03 * 2**0.5)
