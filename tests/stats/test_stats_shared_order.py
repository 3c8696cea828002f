"""The agreement of two rankings: scipy's tau-b, intervals by hand, and how often they hold the true tau."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kendalltau

from metaeval.core import registry
from metaeval.core.config import ComparisonConfig
from metaeval.runs.significance import significance
from metaeval.stats.agreement import rank_agreement
from metaeval.stats.ranking import shared_order
from protocols.contract import Judgements, Resampling

CASES = json.loads(Path(__file__).with_name("shared_order.json").read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("case", CASES["by hand"], ids=lambda case: case["why"])
def test_intervals_by_hand(case):
    first, other, p = (np.array(case[name], dtype=float) for name in ("first", "other", "p"))
    tau, *counts = shared_order(first, other, p, 0.05)
    assert tau.ends == pytest.approx(tuple(case["tau"]), abs=1e-15)
    assert counts == case["counts"]
    assert bool(tau.note) == (None in case["tau"])


def test_the_base_papers_own_tables():
    """Zhang et al. 2024 (arXiv 2406.15264), in the order of Table 2: its Spearman, and Table 3's overall ROC-AUC.

    6 of 36 pairs change places: (30 - 6) / 36.
    """
    spearman = np.array([0.057, 0.181, 0.199, 0.180, 0.444, 0.488, 0.639, 0.227, 0.235])
    overall = np.array([53.51, 55.37, 62.47, 70.08, 75.20, 80.66, 82.94, 82.07, 78.07])
    tau, *_ = shared_order(spearman, overall, np.full((2, 36), np.nan), 0.05)
    assert tau.ends == (pytest.approx(2 / 3, abs=1e-15), None, None)


@pytest.mark.parametrize(("name", "truth"), CASES["true values in standard errors"].items())
def test_the_interval_holds_the_true_tau(name, truth):
    """400 draws with 95 % promised: fewer than 360 have a chance of 1e-4. Percentiles of resamples do not hold it."""
    generator = np.random.default_rng(7)
    true, held, by_percentiles, metrics = kendalltau(*truth).statistic, 0, 0, len(truth[0])

    def drawn(*size):
        return math.sqrt(0.5) * (generator.normal(size=(2, *size, metrics)) + generator.normal(size=(*size, metrics)))

    for _ in range(400):
        first, other = np.array(truth, float) + drawn()
        p = np.array([2 * ndtr(-abs(pairs_of(values)) / math.sqrt(2)) for values in (first, other)])
        tau, *_ = shared_order(first, other, p, 0.05)
        held += tau.low - 1e-9 <= true <= tau.high + 1e-9
        if name == "nine near":
            resampled = rank_agreement(*(np.array([first, other])[:, None] + drawn(200)).transpose(0, 2, 1))[0]
            by_percentiles += np.quantile(resampled, 0.975) >= true
    assert (held >= 360, by_percentiles) == (True, 0)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES["metrics"].values(), ids=CASES["metrics"])
def test_the_protocols_tests_make_intervals_that_hold_the_true_tau(case):
    """200 draws: fewer than 178 have a chance of 1e-3. Which order is true follows from how the scores are made.

    Of each metric: the weights of the gold, and of an offset of its pool, which only retrieval does not see.
    """
    ranks = {"classification": case["by all"], "correlation": case["by all"], "retrieval": case["in pools"]}
    protocols = {name: registry.find("protocol", name) for name in ranks}
    held, draws = dict.fromkeys([("classification", "retrieval"), ("correlation", "classification")], 0), 200
    for draw in range(draws):
        generator = np.random.default_rng(draw)
        pool = np.repeat(np.arange(60), 6)
        gold = generator.integers(3, size=pool.size).astype(float)
        offset = generator.normal(size=60)[pool]
        group = pool // 2
        scores = [a * gold + b * offset + generator.normal(size=pool.size) for a, b in case["weights"]]
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
