"""Three-way decisions: thresholds against exhaustive search, folds that split no group, nothing chosen on test rows."""

import itertools
import math

import numpy as np
import pytest
from sklearn import metrics as official

from metaeval.stats.decisions import best_thresholds, decide, group_folds, nested_decisions


def _rows(seed, n, decimals=1, n_levels=3):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, n_levels, size=n)
    return np.round(gold + rng.normal(size=n), decimals), gold, rng.integers(0, max(n // 4, 1), size=n)


def _official(name, gold, predicted, n_levels=3):
    labels = list(range(n_levels))
    measure = official.f1_score if name == "macro-f1" else official.recall_score
    return measure(gold, predicted, labels=labels, average="macro", zero_division=0)


@pytest.mark.parametrize("objective", ["macro-f1", "balanced-accuracy"])
@pytest.mark.parametrize("n_levels", [2, 3])
def test_thresholds_are_the_best_of_all(objective, n_levels):
    for seed in range(2):
        score, gold, _ = _rows(seed, 12, n_levels=n_levels)
        gold[:n_levels] = np.arange(n_levels)
        distinct = np.unique(score)
        cuts = [-np.inf, *(distinct[:-1] + distinct[1:]) / 2, np.inf]
        best = max(
            _official(objective, gold, decide(score, np.array(pair)), n_levels)
            for pair in itertools.combinations_with_replacement(cuts, n_levels - 1)
        )
        found = best_thresholds(score, gold, objective, n_levels)
        assert found.shape == (n_levels - 1,)
        assert np.all(np.diff(found) >= 0)
        assert _official(objective, gold, decide(score, found), n_levels) == pytest.approx(best, abs=1e-12)


def test_the_widest_gap_wins_between_equally_good_cuts():
    # Gold 0 1 0 1 up the scores: a cut behind the first row has recalls 1/2 and 1, one before the last 1 and 1/2.
    gold = np.array([0, 1, 0, 1])
    for score, expected in [([0.0, 1.0, 5.0, 9.0], 7.0), ([0.0, 4.0, 5.0, 6.0], 2.0), ([0.0, 1.0, 5.0, 6.0], 0.5)]:
        found = best_thresholds(np.array(score), gold, "balanced-accuracy", 2)
        assert found.tolist() == [expected]
    # Without a middle level in the gold both thresholds fall into one gap.
    assert best_thresholds(np.array([0.0, 1.0, 9.0, 9.5]), np.array([0, 0, 2, 2])).tolist() == [5.0, 5.0]
    # Perfectly separable: half-way between the neighbours.
    assert best_thresholds(np.array([0.0, 1.0, 3.0, 7.0]), np.array([0, 1, 1, 2])).tolist() == [0.5, 5.0]
    # A constant score leaves only "always this level": of three such answers the one with the best F1, level 2 here.
    assert best_thresholds(np.zeros(4), np.array([0, 1, 2, 2])).tolist() == [-np.inf, -np.inf]
    low = 1.0
    high = np.nextafter(low, 2)
    thresholds = best_thresholds(np.array([low, low, high, high]), np.array([0, 0, 1, 1]), n_levels=2)
    assert decide(np.array([low, high]), thresholds).tolist() == [0, 1]


def test_of_many_cut_points_those_at_equal_shares_of_the_rows_are_tried():
    score = np.arange(300.0)
    found = {
        row for row in range(1, 300) if best_thresholds(score, (score >= row).astype(int), n_levels=2) == row - 0.5
    }
    assert found == {math.ceil(number * 300 / 201) for number in range(1, 201)}


def test_thinning_costs_little():
    # 3,000 distinct scores have 3,001 cut points; 200 of them are a row share of .005 apart, so that the best pair
    # has a candidate within .0025 of the rows on either side: at most 8 rows move per cut.
    rng = np.random.default_rng(7)
    gold = rng.integers(0, 3, size=3000)
    score = gold + 0.7 * rng.normal(size=3000)
    found = _official("macro-f1", gold, decide(score, best_thresholds(score, gold)))
    grid = np.quantile(score, np.linspace(0.02, 0.98, 60))
    best = max(_official("macro-f1", gold, decide(score, np.array(p))) for p in itertools.combinations(grid[::3], 2))
    assert found > best - 0.005


def test_folds_split_no_group_and_are_even():
    group = np.random.default_rng(0).integers(0, 30, size=500) * 11
    fold = group_folds(group, 5, seed=4)
    assert all(np.unique(fold[group == one]).size == 1 for one in np.unique(group))
    sizes = np.bincount(fold, minlength=5)
    # The smallest fold takes each group in turn, so no two folds differ by more than the largest group.
    assert np.ptp(sizes) <= np.bincount(group).max()
    assert group_folds(group, 5, seed=4).tolist() == fold.tolist()
    assert group_folds(group, 5, seed=5).tolist() != fold.tolist()
    # Large groups go first: six single rows then balance one group of six, in whatever order they were shuffled.
    for seed in range(10):
        assert np.bincount(group_folds(np.repeat(np.arange(7), [1, 1, 1, 6, 1, 1, 1]), 2, seed)).tolist() == [6, 6]
    for n_folds in (1, 31):
        with pytest.raises(ValueError, match=rf"2 \.\. 30 \(the groups\), got {n_folds}"):
            group_folds(group, n_folds, seed=0)


def test_no_row_influences_its_own_threshold():
    score, gold, group = _rows(2, 120)
    predicted, thresholds = nested_decisions(score, gold, group, folds=4, seed=1)
    assert thresholds.shape == (4, 2)
    fold = group_folds(group, 4, seed=1)
    for held_out in range(4):
        test = fold == held_out
        assert predicted[test].tolist() == decide(score[test], thresholds[held_out]).tolist()
        # Turn the held-out gold round and put its scores elsewhere: its thresholds stay.
        turned, moved = np.where(test, 2 - gold, gold), np.where(test, score - 40, score)
        again = nested_decisions(moved, turned, group, folds=4, seed=1)[1]
        assert again[held_out].tolist() == thresholds[held_out].tolist()
        assert any(again[k].tolist() != thresholds[k].tolist() for k in range(4) if k != held_out)
