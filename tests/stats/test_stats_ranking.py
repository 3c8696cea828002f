"""NDCG, MRR, MAP, P@1 and recall@k: exact expectations under ties, against enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import pools


# The textbook definitions on one strict order of levels, independent of the code under test.
def _ndcg(order, k, gain=float):
    def dcg(levels):
        return sum(gain(level) / math.log2(i + 2) for i, level in enumerate(levels[:k]))

    return dcg(order) / dcg(sorted(order, reverse=True))


def _reciprocal_rank(order):
    return 1 / (1 + next(i for i, level in enumerate(order) if level >= 1))


def _average_precision(order):
    hits = [i for i, level in enumerate(order) if level >= 1]
    return sum((n + 1) / (i + 1) for n, i in enumerate(hits)) / len(hits)


def _recall(order, k):
    return sum(level >= 1 for level in order[:k]) / sum(level >= 1 for level in order)


MEASURES = {
    "ndcg@1": (lambda ranked: pools.ndcg(ranked, 1), lambda order: _ndcg(order, 1)),
    "ndcg@3": (lambda ranked: pools.ndcg(ranked, 3), lambda order: _ndcg(order, 3)),
    "ndcg@20": (lambda ranked: pools.ndcg(ranked, 20), lambda order: _ndcg(order, 20)),
    "exponential ndcg@3": (
        lambda ranked: pools.ndcg(ranked, 3, "exponential"),
        lambda order: _ndcg(order, 3, lambda level: 2**level - 1),
    ),
    "mrr": (pools.reciprocal_rank, _reciprocal_rank),
    "map": (pools.average_precision_of_pools, _average_precision),
    "p@1": (pools.precision_at_1, lambda order: float(order[0] >= 1)),
    "recall@2": (lambda ranked: pools.recall_at(ranked, 2), lambda order: _recall(order, 2)),
}
every_measure = pytest.mark.parametrize("name", list(MEASURES))
pools_of_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6).filter(
    lambda rows: any(gold >= 1 for _, gold in rows)
)


def _orders(score, gold):
    """The levels in every order that the scores allow, each as often as permutations of tied rows make it."""
    tied = [gold[score == value].tolist() for value in np.unique(score)[::-1]]
    for orders in itertools.product(*map(itertools.permutations, tied)):
        yield list(itertools.chain(*orders))


@every_measure
@given(rows=pools_of_rows)
def test_ties_against_enumeration(name, rows):
    measure, textbook = MEASURES[name]
    score, gold = np.array(rows, dtype=float).T
    values = [textbook(order) for order in _orders(score, gold)]
    policies = {"expected": float(np.mean(values)), "worst": min(values), "best": max(values)}
    for ties, expected in policies.items():
        ranked = pools.rank_pools(score, gold, np.zeros(score.size, dtype=int), ties)
        assert measure(ranked)[0] == pytest.approx(expected, abs=1e-12), ties


def _pools(seed, distinct):
    rng = np.random.default_rng(seed)
    pool = np.repeat(np.arange(40) * 3, rng.integers(2, 60, 40))
    gold = rng.choice([0.0, 1, 2], pool.size, p=[0.7, 0.1, 0.2])
    return np.round((gold + rng.normal(size=pool.size)) * distinct) / distinct, gold, pool


@every_measure
def test_oracle_is_perfect_and_monotone_transforms_change_nothing(name):
    measure, _ = MEASURES[name]
    score, gold, pool = _pools(2, 2)
    perfect = measure(pools.rank_pools(gold, gold, pool))
    if not name.startswith("recall"):  # two ranks cannot hold three relevant rows
        np.testing.assert_allclose(perfect[~np.isnan(perfect)], 1, rtol=0, atol=1e-12)
    values, cubed = (measure(pools.rank_pools(s, gold, pool)) for s in (score, score**3))
    assert cubed.tobytes() == values.tobytes()


@every_measure
def test_pool_without_support_is_undefined(name):
    measure, _ = MEASURES[name]
    values = measure(pools.rank_pools(np.arange(4.0), np.array([0.0, 0, 0, 1]), np.array([5, 5, 9, 9])))
    assert np.isnan(values).tolist() == [True, False]
    assert measure(pools.rank_pools(np.array([]), np.array([]), np.array([], dtype=int))).size == 0


def test_large_tied_pools():
    # With r = 2 of t tied rows relevant, the first is on rank j with chance (t - j) / (t (t - 1) / 2), so the
    # expectation is 2 / (t (t - 1)) * (t H - t) = 2 (H - 1) / (t - 1), where H = sum of 1/j for j = 1 .. t and the
    # j = t term is 0.
    t = 5000
    gold = np.isin(np.arange(t), (7, 4000)).astype(float)
    value = pools.reciprocal_rank(pools.rank_pools(np.zeros(t), gold, np.zeros(t, dtype=int)))[0]
    assert value == pytest.approx(2 * (np.sum(1 / np.arange(1, t + 1)) - 1) / (t - 1), rel=1e-9)
    everything = pools.rank_pools(np.zeros(100_000), np.ones(100_000), np.zeros(100_000, dtype=int))
    assert pools.average_precision_of_pools(everything) == pytest.approx(1)  # products of its ranks are beyond 32 bits
