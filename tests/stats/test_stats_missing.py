"""What missing scores could have led to, and scores that float32 cannot tell apart."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from metaeval.stats.bounds import extreme_ranks
from metaeval.stats.pools import ndcg, ndcg_ranges, rank_pools

rows_of_a_pool = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.0, np.nan]), st.integers(0, 2)), min_size=1, max_size=6
).filter(lambda rows: any(gold for _, gold in rows))


@given(rows=rows_of_a_pool, k=st.integers(1, 6), gains=st.sampled_from(["linear", "exponential"]))
def test_ndcg_ranges_is_what_all_refills_give(rows, k, gains):
    # Around and between the observed scores 0, 1, 2 there is room for three missing rows in any order, tied or not.
    score, gold = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    pool, missing = np.zeros(score.size, dtype=int), np.flatnonzero(np.isnan(score))
    assume(missing.size <= 3)
    ((low, high),) = ndcg_ranges(score, gold, pool, (k,), gains)
    candidates = [region + offset for region in (-0.6, 0.4, 1.4, 2.4) for offset in (0, 0.1, 0.2)] + [0.0, 1.0, 2.0]
    refills = []
    for values in itertools.product(candidates, repeat=missing.size):
        score[missing] = values
        refills.append(score.copy())
    stacked = np.concatenate(refills)
    pools = np.repeat(np.arange(len(refills)), score.size)
    reached = ndcg(rank_pools(stacked, np.tile(gold, len(refills)), pools), k, gains)
    assert low[0] == pytest.approx(reached.min(), abs=1e-12)
    assert high[0] == pytest.approx(reached.max(), abs=1e-12)


def test_ndcg_ranges_of_many_pools_at_once():
    rng = np.random.default_rng(0)
    pool = np.repeat(np.arange(30), rng.integers(2, 40, 30))
    gold = rng.choice([0.0, 1, 2], pool.size)
    score = np.where(rng.random(pool.size) < 0.2, np.nan, np.round(gold + rng.normal(size=pool.size)))
    ((low, high),) = ndcg_ranges(score, gold, pool, (5,))
    assert (low < high).any()
    for _ in range(20):
        refill = np.where(np.isnan(score), rng.normal(size=pool.size) * 3, score)
        for code in range(30):
            rows = pool == code
            if gold[rows].any():
                value = ndcg_score([gold[rows]], [refill[rows]], k=5)
                assert low[code] - 1e-12 <= value <= high[code] + 1e-12


@pytest.mark.parametrize("official", [roc_auc_score, average_precision_score])
def test_extreme_ranks_hold_every_refill(official):
    # Two missing rows of either class over all placements around four observed scores, by scikit-learn.
    positive = np.array([True, False, True, False, True, True, False, False])
    score = np.array([0.0, 1, 2, 2, np.nan, np.nan, np.nan, np.nan])
    low, high = (official(positive, ranks) for ranks in extreme_ranks(score, positive))
    places = [-1.1, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 2.6]
    values = []
    for refill in itertools.islice(itertools.product(places, repeat=4), 0, None, 17):
        score[4:] = refill
        values.append(official(positive, score))
    # The corner refills belong to the grid's 9**4 placements; a step of 17, prime to 9, keeps the test quick.
    score[4:] = -1.0, -1.1, 2.5, 2.6
    values.append(official(positive, score))
    score[4:] = 2.5, 2.6, -1.0, -1.1
    values.append(official(positive, score))
    assert low == pytest.approx(min(values), abs=1e-12)
    assert high == pytest.approx(max(values), abs=1e-12)
