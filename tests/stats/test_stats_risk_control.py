"""Learn then Test: the binomial numbers by hand and from scipy, the order, clusters, and the promise itself."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from benchmarks.gate_promise import MADE, fitted, normal_scores
from benchmarks.promises.cells import measured
from benchmarks.promises.gate import CELLS
from metaeval.stats.risk_control import (
    answers_for_mean,
    answers_of_one_size,
    choose_threshold,
    corrected_share,
    design_effect,
    effective_labels,
    kolmogorov_smirnov_p,
    labels_for,
    labels_for_power,
    mean_bounds,
    tail,
    threshold_order,
    upper_bound,
)


def test_29_labels_without_a_miss_tell_a_tenth_and_more_reach_a_power():
    # .9 ** 28 = .0523 and .9 ** 29 = .0471.
    assert labels_for(0.1, 0.05) == 29
    assert labels_for(0.1, 0.05, misses=1) == 46
    # ln .05 / ln(1 - 1e-9) is 2,995,732,272.1, and not every number up to it is tried.
    assert labels_for(1e-9, 0.05) == pytest.approx(2_995_732_273, rel=1e-9)
    n = labels_for_power(0.04, 0.1, 0.05)
    most = max(k for k in range(n) if binom.cdf(k, n, 0.1) <= 0.05)
    assert binom.cdf(most, n, 0.04) >= 0.8
    assert [labels_for_power(true, 0.1, 0.05) for true in (0.01, 0.0981, 0.1)] == [46, None, None]


def test_tail_and_bound_are_the_binomial_ones():
    for misses, labels, rate in ((0, 29, 0.1), (3, 60, 0.1), (7, 100, 0.2)):
        assert tail(misses, labels, rate) == pytest.approx(binom.cdf(misses, labels, rate))
        # The one-sided bound at .05 is the upper end of the two-sided interval at .9.
        exact = binomtest(misses, labels).proportion_ci(0.9, "exact").high
        assert upper_bound(misses, labels, 0.05) == pytest.approx(exact)
    assert tail(5, 5, 0.1) == upper_bound(5, 5, 0.05) == 1


def test_labels_of_a_missed_answer_count_as_one_label():
    thresholds, cluster, equal = np.array([np.inf, 5, 3, -9]), np.array([0, 0, 1, 1, 2, 2]), np.ones(6)
    # Ranks have between 2 * (4 + 1 + 1) / 2 = 6 and within 5.5 / 3: icc 25 / 47, design effect 72 / 47.
    by_ranks = 6 / (72 / 47)
    # At 5 the first answer alone is missed: icc 1. At 3 misses are 2, 1 and 1 of 2: between 1 / 6, within 1 / 3.
    # Above all scores and below all, three answers count as three.
    found = effective_labels(np.array([5.0, 6, 1, 4, 2, 3]), cluster, equal, thresholds)
    assert found == pytest.approx([3, 3, by_ranks, 3])
    # Misses of two answers, neither whole: no correlation, of the ranks as well.
    spread = np.array([1.0, 6, 2, 5, 3, 4])
    assert effective_labels(spread, cluster, equal, thresholds[:2]) == pytest.approx([3, 6])
    # The order of rows is nothing; weights 1 and 3 cost 6 * 30 / 144.
    rows, weight = np.array([4, 0, 2, 5, 1, 3]), np.array([1.0, 3, 1, 3, 1, 3])
    found = effective_labels(spread[rows], cluster[rows], weight[rows], thresholds[:2])
    assert found == pytest.approx([3 / 1.25, 6 / 1.25])


def test_answers_of_unequal_size_count_alike_until_one_is_missed():
    # Sizes 1, 1 and 4; scores of the third above and below the others, so that the ranks' correlation is 0.
    score, cluster = np.array([3.0, 4, 1, 2, 5, 6]), np.array([0, 1, 2, 2, 2, 2])
    found = effective_labels(score, cluster, np.ones(6), np.array([np.inf, 6.0, 1.0]))
    assert found == pytest.approx([3, 6, 3])
    # Missed whole, the third counts with its size: 6 ** 2 / (1 + 1 + 16), Kish's number of clusters.
    score[2:] += 10
    assert effective_labels(score, cluster, np.ones(6), np.array([10.0])) == pytest.approx([36 / 18])
    for cluster, weight in ((np.arange(2), np.ones(3)), (np.arange(3), np.ones(2))):
        with pytest.raises(ValueError, match="length"):
            design_effect(np.arange(3.0), cluster, weight)


def test_large_answers_that_may_fail_alone_count_as_fewer():
    # Unsupported labels 4, 1, 1, in answers of 10, 5 and 5 citations: of the half that is missed the largest could hold
    # all, which is 3 / 4 of it and so a fourth of three answers.
    cluster, weight, size = np.array([0, 0, 0, 0, 1, 2]), np.ones(6), np.array([10.0, 10, 10, 10, 5, 5])
    found = answers_of_one_size(cluster, weight, size, 0.5)
    assert found == pytest.approx(3 * np.log(3 / 4) / np.log(1 / 2))
    assert effective_labels(np.arange(6.0), cluster, weight, np.array([np.inf]), found) == pytest.approx(found)
    # Answers of one size count alike, whichever of them has more unsupported labels.
    assert answers_of_one_size(cluster, weight, np.full(6, 10.0), 0.1) == pytest.approx(3)
    # Small answers with most labels: those that hold a tenth, the largest, are more than a tenth of the answers.
    assert answers_of_one_size(cluster, weight, 1 / size, 0.1) == pytest.approx(3)
    # As 1 / 3 of the labels of weight 2: the largest holds 4 of 8.
    assert answers_of_one_size(cluster, np.array([1.0, 1, 1, 1, 2, 2]), size, 0.5) == pytest.approx(
        3 * np.log(2 / 3) / np.log(1 / 2)
    )


def test_without_clusters_the_test_is_the_binomial_one():
    random = np.random.default_rng(0)
    score, thresholds = np.round(random.normal(size=60), 1), np.linspace(3, -3, 30)
    tested, passed = choose_threshold(score, np.ones(60), np.ones(60), np.arange(60), thresholds, 0.4, 0.05)
    misses = [int(np.sum(score >= one)) for one in thresholds]
    assert [one.labels for one in tested] == [60] * 30
    assert passed == sum(binom.cdf(np.array(misses), 60, 0.4) <= 0.05) > 3
    exact = [binomtest(one, 60).proportion_ci(0.9, "exact").high for one in misses]
    assert [one.bound for one in tested] == pytest.approx(exact)


def test_failing_answers_break_the_promise_no_more_often_than_promised():
    # Without a correlation of misses it is broken in 11 and 9 % of fits.
    cells = {cell.name: cell for cell in CELLS}
    broken, passes = measured(cells["20 answers x 10, 0.1 fail"], 120, 1)
    assert broken.share <= 0.05
    assert passes.share == 0  # of 20 answers none fails with chance .9 ** 20 = .12
    broken, passes = measured(cells["40 answers x 5, 0.1 fail"], 120, 1)
    assert broken.share <= 0.05
    assert passes.share > 0.15
    # Where long answers fail more often, 8 to 11 % of fits broke it while each answer counted as one.
    long = [cell for name, cell in cells.items() if name.startswith("120 answers, log sizes")]
    broken, passes = measured(long[0], 120, 1)
    assert broken.share <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in MADE if case.correlation == 0], ids=str)
def test_gates_pass_about_as_often_where_misses_do_not_cluster(case):
    def alone(random):
        drawn = normal_scores(case, random)
        return replace(drawn, cluster=np.arange(drawn.bad.size))

    passes = fitted(partial(normal_scores, case), 600, 0.1)[1]
    assert passes >= 0.9 * fitted(alone, 600, 0.1)[1] > 0.5


def test_the_last_threshold_before_the_first_failure_is_taken():
    bad = np.repeat([1.0, 0.0], [40, 40])
    score = np.concatenate([np.linspace(0, 0.4, 40), np.linspace(0.6, 1, 40)])
    order = np.array([np.inf, 0.5, 0.35, 0.2, 0.1])
    tested, passed = choose_threshold(score, bad, np.ones(80), np.arange(80), order, 0.1, 0.05)
    # At .35 five of 40 are missed; none is allowed more than 0 of 40 (46 labels for one miss).
    assert passed == 2
    assert [round(40 * one.missed) for one in tested] == [0, 0, 5, 20, 30]
    assert [one.flagged for one in tested] == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_the_promise_holds_under_clusters(correlation):
    random = np.random.default_rng(3)
    cluster, shift, kept = np.arange(300) // 5, np.sqrt(2) * norm.ppf(0.95), 0
    order = threshold_order(random.normal(size=300) + shift * (random.random(300) < 0.7))
    for _ in range(150):
        bad = (random.random(300) < 0.3) * 1.0
        common = random.normal(size=60)[cluster] * np.sqrt(correlation)
        score = common + random.normal(size=300) * np.sqrt(1 - correlation) + shift * (1 - bad)
        tested, passed = choose_threshold(score, bad, np.ones(300), cluster, order, 0.1, 0.05)
        kept += passed == 0 or 1 - norm.cdf(tested[passed - 1].threshold) <= 0.1
    assert kept >= 0.94 * 150


def test_the_bound_of_the_mean_is_the_written_formula_and_that_of_mapie():
    score = np.array([0.33, 0.99, 0.32, 0.79, 0.87, 0.39, 0.44, 0.37, 0.11, 0.48, 0.24, 0.26])
    score = np.append(score, [0.18, 0.19, 0.81, 0.42, 0.26, 0.59, 0.6, 0.65, 0.91, 0.15, 0.37, 0.28])
    answer, thresholds = np.arange(24) // 3, np.array([1, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1])
    found = mean_bounds(score, np.ones(24), answer, thresholds)
    # get_r_hat_plus(losses (8, 7), thresholds, "crc", None, None, None)[1] of MAPIE 1.6.0.
    mapie = [0.111111111111, 0.259259259259, 0.37037037037, 0.518518518519, 0.703703703704, 0.851851851852, 1]
    assert found == pytest.approx(mapie, abs=1e-11)
    losses = [np.mean(score[answer == one] >= 0.6) for one in range(8)]
    assert found[2] == pytest.approx((sum(losses) + 1) / (8 + 1))
    # Answers of weight 1 and 3, one miss in the second: (3 * 1 / 2 + 3) / (1 + 3 + 3).
    few = mean_bounds(np.array([0.1, 0.1, 0.9]), np.array([1.0, 3, 3]), np.array([0, 1, 1]), np.array([0.5]))
    assert few == pytest.approx([4.5 / 7])
    assert mean_bounds(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), np.array([0.5])).tolist() == [1]


def test_nine_answers_without_a_miss_tell_a_mean_of_a_tenth():
    # (9 * 0 + 1) / 10 is .1; with a missed share of .05, (n * .05 + 1) / (n + 1) is .1 from n = 18 on.
    assert answers_for_mean(0.1) == 9
    assert answers_for_mean(0.1, 0.05) == 18
    assert answers_for_mean(0.1, 0.1) is None
    score, bad = np.zeros(9), np.ones(9)
    given = np.ones(9), np.arange(9), np.array([0.5]), 0.1, 0.05
    assert choose_threshold(score, bad, *given, "mean")[1] == 1
    assert choose_threshold(score, bad, *given)[1] == 0


def test_a_flagged_share_is_corrected_for_both_errors():
    # .2 unsupported, of which .9 are flagged, and .1 of the others: .18 + .08 = .26.
    value, low, high = corrected_share(0.26, 1e-12, (0.9, 1e9), (0.1, 1e9), 0.05, np.inf)
    assert (value, low, high) == pytest.approx((0.2, 0.2, 0.2), abs=1e-3)
    value, low, high = corrected_share(0.26, 0.001, (0.9, 60), (0.1, 100), 0.05, np.inf)
    assert low < 0.13 < 0.2 < 0.27 < high
    # Where the share detected alone is uncertain, the ends s solve s d + (1 - s) f - flagged = s z e, of either sign,
    # with e = sqrt(p (1 - p) / (n + 1)) and p the share of n + 1 labels, half a one of which is added to either side.
    p = (0.8 * 30 + 0.5) / 31
    half = norm.ppf(0.95) * np.sqrt(p * (1 - p) / 31)
    ends = [0.3 / (0.7 + side * half) for side in (1, -1)]
    assert corrected_share(0.4, 0.0, (0.8, 30), (0.1, 1e12), 0.05, np.inf)[1:] == pytest.approx(ends, abs=2e-4)
    # A metric that flags both alike tells nothing, and says so.
    assert corrected_share(0.5, 0.001, (0.5, 60), (0.5, 100), 0.05, np.inf)[1:] == (0, 1)


def test_drift_is_seen_and_clusters_count():
    random = np.random.default_rng(0)
    one, other = random.normal(size=300), random.normal(size=300) + 0.4
    assert kolmogorov_smirnov_p(one, 300, other, 300) < 1e-3
    assert kolmogorov_smirnov_p(one, 20, other, 20) > 0.01
    assert kolmogorov_smirnov_p(one, 300, one, 300) > 0.99
