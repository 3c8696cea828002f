"""Rank measures of pools against scikit-learn (ties expected) and pytrec_eval (no ties)."""

import math

import numpy as np
import pytest
import pytrec_eval
from scipy.special import expit
from sklearn.metrics import ndcg_score

from metaeval.stats import pools
from metaeval.stats.pools import (
    ndcg,
    rank_pools,
)
from metaeval.stats.ties import float32_collapse

CUTOFFS = (1, 5, 10, 20)


def _pools(seed, decimals, levels=(0, 1, 2)):
    """60 pools of 1 to 200 rows, rows and codes in no order."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate(([1, 2, 64, 65, 200], rng.integers(2, 60, 55)))
    pool = rng.permutation(np.repeat(rng.permutation(300)[:60], sizes))
    gold = rng.choice(np.array(list(levels), dtype=float), pool.size)
    gold[rng.random(pool.size) < 0.6] = 0
    return np.round(gold + rng.normal(size=pool.size), decimals), gold, pool


@pytest.mark.parametrize("gains", ["linear", "exponential"])
@pytest.mark.parametrize("levels", [(0, 1, 2), (0, 1), (0, 0.5, 1.5, 7), range(50)], ids=["3", "2", "graded", "50"])
@pytest.mark.parametrize("decimals", [0, 1, 12], ids=["heavy ties", "ties", "no ties"])
def test_ndcg_agrees_with_scikit_learn(decimals, levels, gains):
    score, gold, pool = _pools(1, decimals, levels)
    gain = gold if gains == "linear" else 2**gold - 1
    expected = np.empty((len(CUTOFFS), np.unique(pool).size))
    for place, code in enumerate(np.unique(pool)):
        rows = pool == code
        if not gold[rows].any():
            expected[:, place] = math.nan  # scikit-learn says 0 where nothing can be found
        elif rows.sum() == 1:
            expected[:, place] = 1  # scikit-learn refuses a pool of one
        else:
            expected[:, place] = [ndcg_score([gain[rows]], [score[rows]], k=k) for k in CUTOFFS]
    ranked = pools.rank_pools(score, gold, pool)
    found = np.stack([pools.ndcg(ranked, k, gains) for k in CUTOFFS])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def _by_pytrec(score, gold, pool):
    """pytrec_eval's measures of each pool; rows are documents 0000, 0001, ..."""
    names = [f"{row:04d}" for row in range(score.size)]
    judged = {}
    given = {}
    for name, code, s, y in zip(names, pool.tolist(), score.tolist(), gold.tolist(), strict=True):
        judged.setdefault(str(code), {})[name] = int(y)
        given.setdefault(str(code), {})[name] = s
    measures = {"ndcg_cut.5,10,20", "recip_rank", "map", "P.1", "recall.5"}
    return pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(given)


def test_all_agree_with_pytrec_eval_on_dense_ranks():
    # Its float32 holds whole numbers exactly up to 2**24; distinct ranks leave it no tie to break by document id.
    score, gold, pool = _pools(3, 12)
    dense = np.argsort(np.argsort(score)).astype(float)
    official = _by_pytrec(dense, gold, pool)
    ranked = pools.rank_pools(score, gold, pool)
    ours = {f"ndcg_cut_{k}": pools.ndcg(ranked, k) for k in (5, 10, 20)}
    ours |= {
        "recip_rank": pools.reciprocal_rank(ranked),
        "map": pools.average_precision_of_pools(ranked),
        "P_1": pools.precision_at_1(ranked),
        "recall_5": pools.recall_at(ranked, 5),
    }
    supported = 0
    for place, code in enumerate(np.unique(pool)):
        if not (gold[pool == code] >= 1).any():
            # There pytrec_eval says 0, which is not a value here.
            assert all(math.isnan(values[place]) for values in ours.values())
            continue
        supported += 1
        for name, values in ours.items():
            assert values[place] == pytest.approx(official[str(code)][name], abs=1e-9), name
    assert supported > 50


def test_probabilities_near_one_lose_their_order_in_float32_and_log_odds_keep_it():
    # Pools of 20: log-odds of 20 and more, levels ordered perfectly by them. Above 1 - 2**-25 every probability is 1 in
    # float32, so what a tool that stores float32 sees are ties, which trec_eval breaks by the document's name, from
    # the last; FULL comes first here, so it is ranked last. In float64 they are distinct to 1 - 2**-53 (log-odds 36).
    gold = np.tile(np.repeat([2.0, 1.0, 0.0], [2, 2, 16]), 10)
    pool = np.repeat(np.arange(10), 20)
    log_odds = 20 + np.tile(np.linspace(12, 0, 20), 10) + np.repeat(np.linspace(0, 0.5, 10), 20)
    probability = expit(log_odds)
    assert float32_collapse(probability) == (200, 200)
    assert float32_collapse(log_odds)[0] == 0

    def mean_by_pytrec(score):
        return float(np.mean([values["ndcg_cut_5"] for values in _by_pytrec(score, gold, pool).values()]))

    def ours(score):
        return float(ndcg(rank_pools(score, gold, pool), 5).mean())

    assert ours(probability) == ours(log_odds) == pytest.approx(1, abs=1e-12)
    assert mean_by_pytrec(log_odds) == pytest.approx(1, abs=1e-9)
    # The last five rows of a pool are NONE, so that nothing is found among the first five.
    assert mean_by_pytrec(probability) == 0
    # All 20 tied: each row gets the mean of the first five discounts over 20 ranks, 2.948459 / 20 = .1474230; gains
    # add up to 6; ideal 2 (1 + .630930) + .5 + .430677 = 4.192537: .884538 / 4.192537 = .210979.
    assert ours(probability.astype(np.float32).astype(np.float64)) == pytest.approx(0.210979, abs=5e-7)
