"""The agreement of two rankings: scipy's tau-b, intervals by hand, and how often they hold the true tau."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kendalltau

from metaeval.core import registry
from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.ranking import shared_order
from protocols.contract import Judgements, Resampling

NONE = math.nan


def pairs_of(values):
    first, second = np.triu_indices(len(values), 1)
    return np.asarray(values)[first] - np.asarray(values)[second]


@pytest.mark.parametrize("seed", range(5))
def test_the_value_is_scipys_and_lies_in_its_interval(seed):
    generator = np.random.default_rng(seed)
    for _ in range(20):
        first, other = generator.integers(4, size=(2, 6)).astype(float)
        p = generator.choice([0.0001, 0.004, 0.2, 1.0], size=(2, 15))
        tau, alike, opposite = shared_order(first, other, p, 0.05)
        expected = kendalltau(first, other).statistic
        assert tau.value == (None if np.isnan(expected) else pytest.approx(expected, abs=1e-12))
        product = np.sign(pairs_of(first) * pairs_of(other))
        assert alike <= (product > 0).sum()
        assert opposite <= (product < 0).sum()
        assert tau.value is None or tau.low <= tau.value <= tau.high


@pytest.mark.parametrize(
    ("first", "other", "p", "expected", "counts"),
    [
        # a > b > c and b > a > c: (a, b) is opposite, the others alike. tau = (2 - 1) / 3.
        ((3, 2, 1), (2, 3, 1), [[0.001] * 3] * 2, (1 / 3, 1 / 3, 1 / 3), (2, 1)),
        ((3, 2, 1), (2, 3, 1), [[0.9] * 3] * 2, (1 / 3, -1, 1), (0, 0)),
        # One ranking's test alone decides nothing.
        ((3, 2, 1), (2, 3, 1), [[0.001] * 3, [0.9] * 3], (1 / 3, -1, 1), (0, 0)),
        # Holm over three pairs: .016, then .024 and .04, of which the larger p of each pair counts.
        ((3, 2, 1), (3, 2, 1), [[0.016, 0.024, 0.04], [0.001] * 3], (1, 1, 1), (3, 0)),
        ((3, 2, 1), (3, 2, 1), [[0.016, 0.026, 0.001], [0.001, 0.001, 0.04]], (1, -1 / 3, 1), (1, 0)),
        ((3, 2, 1), (3, 2, 1), [[0.017, 0.001, 0.001], [0.001, 0.017, 0.017]], (1, -1, 1), (0, 0)),
        # A pair without a test is not decided, and not in the family: .025 is then enough.
        ((3, 2, 1), (3, 2, 1), [[NONE, 0.025, 0.05], [0.001] * 3], (1, 1 / 3, 1), (2, 0)),
        ((3, 2, 1), (3, 2, 1), [[NONE] * 3, [0.001] * 3], (1, None, None), (0, 0)),
        # A tied pair is neither, however small p is: tau-b = 2 / sqrt(2 * 3), and it could be tied in truth.
        ((2, 2, 1), (3, 2, 1), [[0.001] * 3] * 2, (2 / math.sqrt(6), 1 / 3, 1), (2, 0)),
        ((1, 1, 1), (3, 2, 1), [[0.001] * 3] * 2, (None, None, None), (0, 0)),
    ],
)
def test_intervals_by_hand(first, other, p, expected, counts):
    tau, *found = shared_order(np.array(first, float), np.array(other, float), np.array(p), 0.05)
    assert tau.ends == pytest.approx(expected, abs=1e-15)
    assert tuple(found) == counts
    assert bool(tau.note) == (None in expected)


# True values in units of their standard errors: near-equal, tied, three metrics and nine, the same order and another.
TRUTHS = {
    "three near": ((0, 0.5, 1), (0, 0.5, 1)),
    "three near, reversed": ((0, 0.5, 1), (1, 0.5, 0)),
    "three with ties": ((0, 0, 6), (0, 6, 6)),
    "six with ties": ((0, 0, 0, 5, 5, 5), (0, 5, 0, 5, 0, 5)),
    "nine near": (np.arange(9) * 0.5, np.arange(9) * 0.5),
    "nine near, reversed": (np.arange(9) * 0.5, np.arange(9) * -0.5),
    "nine apart": (np.arange(9) * 4.0, np.array([1, 0, 2, 5, 3, 4, 8, 6, 7]) * 4.0),
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_the_interval_holds_the_true_tau(truth):
    """400 draws with 95 % promised: fewer than 360 have a chance of 1e-4. Percentiles hold 0 % of "nine near"."""
    generator = np.random.default_rng(7)
    true, held, metrics = kendalltau(*truth).statistic, 0, len(truth[0])
    for _ in range(400):
        errors = generator.normal(size=(2, metrics)) * math.sqrt(0.5) + generator.normal(size=metrics) * math.sqrt(0.5)
        first, other = np.array(truth, float) + errors
        p = np.array([2 * ndtr(-abs(pairs_of(values)) / math.sqrt(2)) for values in (first, other)])
        tau, *_ = shared_order(first, other, p, 0.05)
        held += tau.low - 1e-9 <= true <= tau.high + 1e-9
    assert held >= 360


# Of each metric: the weight of the gold, and of an offset of its pool, which only retrieval does not see.
METRICS = {
    "ties": ([(1, 0), (1, 0), (0.5, 0), (0.5, 0)], [2, 2, 1, 1], [2, 2, 1, 1]),
    "three near": ([(1.1, 0), (1.0, 0), (0.9, 0)], [3, 2, 1], [3, 2, 1]),
    "offsets": ([(1, 0), (1.3, 4), (0.5, 0), (0.5, 0)], [4, 1, 3, 3], [3, 4, 1, 1]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("metrics", "by_all", "within_pools"), METRICS.values(), ids=METRICS)
def test_the_protocols_tests_make_intervals_that_hold_the_true_tau(metrics, by_all, within_pools):
    """The ranks in truth follow from how the scores are made; 200 draws: fewer than 178 have a chance of 1e-3."""
    ranks = {"classification": by_all, "correlation": by_all, "retrieval": within_pools}
    protocols = {name: registry.find("protocol", name) for name in ranks}
    held, draws = dict.fromkeys([("classification", "retrieval"), ("correlation", "classification")], 0), 200
    for draw in range(draws):
        generator = np.random.default_rng(draw)
        pool = np.repeat(np.arange(60), 6)
        gold = generator.integers(3, size=pool.size).astype(float)
        offset = generator.normal(size=60)[pool]
        group = pool // 2
        scores = [a * gold + b * offset + generator.normal(size=pool.size) for a, b in metrics]
        values, p = {}, {}
        for name, protocol in protocols.items():
            options = {key: of.default for key, of in protocol.options.items()}
            rows = [Judgements(gold, score, group, pool) for score in scores]
            tested = {str(n): (of, protocol.evaluate(of, Resampling(), options)) for n, of in enumerate(rows)}
            key = protocol.ranked_by(protocol.shown(rows[0], options))
            tests = significance(protocol, options, Resampling(), ComparisonConfig(), tested, [key]).comparisons
            values[name] = np.array([outcome.estimates[key].value for _, outcome in tested.values()])
            p[name] = [test.p for test in tests]
        for both in held:
            tau, *_ = shared_order(*(values[name] for name in both), np.array([p[name] for name in both]), 0.05)
            true = kendalltau(*(ranks[name] for name in both)).statistic
            held[both] += tau.low - 1e-9 <= true <= tau.high + 1e-9
    assert min(held.values()) >= 178
