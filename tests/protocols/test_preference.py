"""Pairs of texts of one input: the numbers of the papers' definitions, written out."""

from itertools import combinations

import numpy as np
import pytest

from metaeval.stats.text_pairs import accuracy_of_pools, calibrated_tie, text_pairs
from protocols.contract import Judgements, Resampling
from protocols.preference import PROTOCOL, TIES


def rows(score, gold, pool):
    score, gold, pool = (np.asarray(one) for one in (score, gold, pool))
    return Judgements(gold.astype(float), score.astype(float), pool, pool)


def written_out(score, gold, pool, tie):
    """Mean over inputs of the share of pairs that agree, scores at most `tie` apart being tied."""
    shares = []
    for one in sorted(set(pool.tolist())):
        pairs = list(combinations(np.flatnonzero(pool == one), 2))
        agree = [
            np.sign(gold[i] - gold[j]) == (0 if abs(score[i] - score[j]) <= tie else np.sign(score[i] - score[j]))
            for i, j in pairs
        ]
        shares += [np.mean(agree)] if pairs else []
    return np.mean(shares)


def test_the_calibrated_margin_is_said():
    # Scores 0, 2, 6, 8 with one better text: best is that the first three tie, 6 apart at most, and the last does not.
    given = rows([0, 2, 6, 8], [1, 1, 1, 4], [0, 0, 0, 0])
    found = PROTOCOL.evaluate(given, Resampling(0), {})
    margin = calibrated_tie(given.score, given.gold, text_pairs(given.pool))
    assert 4 < margin <= 6
    assert found.notes == (TIES.format(f"{margin:.3g}"),)
    assert PROTOCOL.evaluate(given.rows(given.gold > 3), Resampling(0), {}).notes == ()
    assert PROTOCOL.measure("consistency").blind(rows(*np.zeros((3, 6326), int))).startswith("20,005,975 pairs")


def best_written_out(score, gold, pool):
    apart = [abs(score[i] - score[j]) for i, j in combinations(range(score.size), 2) if pool[i] == pool[j]]
    return max(written_out(score, gold, pool, tie) for tie in [0.0, *apart])


# Examples of google-research/mt-metrics-eval, tau_optimization_test.py (acc_23): scores, gold, best value and tie.
@pytest.mark.parametrize(
    ("metric", "human", "best", "low", "high"),
    [
        ([[0, 2, 6, 8]], [[1, 2, 3, 4]], 1.0, 0, 2),
        ([[0, 2, 6, 8]], [[1, 1, 1, 4]], 4 / 6, 4, 6),
        (
            [[0, 5, 2, 3, 2], [None, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1]],
            [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, None, 3, 2]],
            0.4916666666666668,
            1,
            2,
        ),
    ],
)
def test_ties_are_calibrated_as_in_the_official_examples(metric, human, best, low, high):
    known = [
        (m, h, number)
        for number, both in enumerate(zip(metric, human, strict=True))
        for m, h in zip(*both, strict=True)
        if m is not None and h is not None
    ]
    score, gold, pool = (np.array(column) for column in zip(*known, strict=True))
    pairs = text_pairs(pool)
    assert low < calibrated_tie(score.astype(float), gold.astype(float), pairs) < high
    found = PROTOCOL.evaluate(rows(score, gold, pool), Resampling(0), {}).estimates["pairwise"].value
    assert found == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_pairwise_accuracy_is_the_best_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    pool = np.sort(rng.integers(0, 12, 60))
    gold = rng.integers(0, 3, 60).astype(float)
    score = np.round(10 * (gold + rng.normal(size=60)))  # whole, so that equal differences are equal
    found = PROTOCOL.evaluate(rows(score, gold, pool), Resampling(0), {}).estimates["pairwise"].value
    assert found == pytest.approx(best_written_out(score, gold, pool), abs=1e-9)
    values = accuracy_of_pools(score, gold, text_pairs(pool), 0.0)
    assert values.mean() == pytest.approx(written_out(score, gold, pool, 0.0), abs=1e-12)


def test_intervals_are_of_groups_and_not_of_pairs():
    rng = np.random.default_rng(1)
    pool = np.repeat(np.arange(40), 2)
    gold = np.tile([1.0, 0.0], 40)
    score = gold + rng.normal(size=80)
    alone = PROTOCOL.evaluate(Judgements(gold, score, pool, pool), Resampling(), {}).estimates["consistency"]
    together = PROTOCOL.evaluate(Judgements(gold, score, pool // 8, pool), Resampling(fewest=2), {}).estimates[
        "consistency"
    ]
    assert alone.value == together.value
    assert (round(alone.effective), round(together.effective)) == (40, 5)
