"""What a stack of metrics gains: known answers by construction, and no choice that a held-out row could sway."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from metaeval.stats.decisions import group_folds
from metaeval.stats.stacking_gain import stack_gain


def _rows(seed, n=400, noise=(1.0, 1.0, 3.0)):
    """Metrics that see the gold through independent noise of these sizes."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 3, size=n).astype(float)
    scores = np.stack([gold + size * rng.normal(size=n) for size in noise])
    return scores, gold, np.arange(n) // 4


@pytest.mark.parametrize("objective", ["spearman", "auc"])
def test_independent_metrics_gain_and_copies_do_not(objective):
    scores, gold, group = _rows(0)
    found = stack_gain(scores, gold, group, objective=objective)
    # Two looks with noise 1 are one with noise s = .71. Spearman, near Pearson's .82 / sqrt(.67 + s**2), goes from .63
    # to .76; AUC of 2 v. 0 and 1, the mean of Phi(2 / s sqrt(2)) and Phi(1 / s sqrt(2)), from .84 to .91. 400 rows put
    # an error near .02 on either.
    assert found.pair_gain > 0.03
    assert found.everything_gain > 0.03
    assert set(found.pairs) == {(0, 1)}
    assert set(found.singles) <= {0, 1}
    assert found.pair_gain == found.pair - found.single
    copies = stack_gain(np.stack([scores[0], 5 * scores[0] + 2]), gold, group, objective=objective)
    assert copies.singles == (0,) * 5
    assert abs(copies.pair_gain) < 1e-12
    assert copies.everything == copies.pair


@pytest.mark.parametrize("objective", ["spearman", "auc"])
def test_the_single_metric_is_judged_on_the_held_out_folds(objective):
    scores, gold, group = _rows(1, noise=(0.5, 9.0))
    found = stack_gain(scores, gold, group, folds=4, seed=3, objective=objective)
    fold = group_folds(group, 4, seed=3)
    judge = {
        "spearman": lambda test: spearmanr(scores[0, test], gold[test])[0],
        "auc": lambda test: roc_auc_score(gold[test] == 2, scores[0, test]),
    }[objective]
    # With the metric's ranks among training rows, two held-out scores that lie between the same training scores tie;
    # 300 training rows leave few such pairs.
    assert found.single == pytest.approx(np.mean([judge(fold == k) for k in range(4)]), abs=2e-3)
    assert found.singles == (0, 0, 0, 0)


def test_only_ranks_count():
    scores, gold, group = _rows(2)
    plain = stack_gain(scores, gold, group)
    # Powers of e keep every order and turn linear scores into wildly skewed ones.
    assert stack_gain(np.exp(3 * scores), gold, group) == plain


def test_noise_gains_nothing():
    # A metric beside pure noise, 20 data sets: each gain has a standard deviation near .01.
    gains = [stack_gain(*_rows(seed, noise=(1.0, 500.0))).pair_gain for seed in range(20)]
    assert abs(np.mean(gains)) < 0.01


def test_held_out_rows_choose_nothing():
    scores, gold, group = _rows(3, noise=(1.0, 1.1, 1.2, 1.3))
    found = stack_gain(scores, gold, group)
    fold = group_folds(group, 5, seed=0)
    for held_out in range(5):
        test = fold == held_out
        # In the held-out rows alone, the worst metric becomes perfect and the others nonsense.
        altered = np.where(test, -np.abs(scores), scores)
        altered[3, test] = gold[test]
        again = stack_gain(altered, gold, group)
        assert again.singles[held_out] == found.singles[held_out]
        assert again.pairs[held_out] == found.pairs[held_out]


def test_held_out_scores_do_not_shift_the_ranks_of_training_rows():
    # Six equally good metrics, so that the least change of a fit changes the pair chosen.
    for seed in range(8):
        scores, gold, group = _rows(seed, n=120, noise=(1.0,) * 6)
        found = stack_gain(scores, gold, group, folds=2)
        fold = group_folds(group, 2, seed=0)
        for held_out in range(2):
            test = fold == held_out
            crowded = np.where(test, scores.mean() + scores / 100, scores)
            assert stack_gain(crowded, gold, group, folds=2).pairs[held_out] == found.pairs[held_out]


def test_undefined_and_errors():
    scores, gold, group = _rows(0)
    nothing = stack_gain(scores, np.ones(400), group)
    assert math.isnan(nothing.single)
    assert math.isnan(nothing.everything_gain)
    constant = stack_gain(np.stack([np.zeros(400), scores[0]]), gold, group)
    assert constant.singles == (1,) * 5
    with pytest.raises(ValueError, match="at least two metrics"):
        stack_gain(scores[:1], gold, group)
    with pytest.raises(ValueError, match="score must be finite"):
        stack_gain(np.where(scores > 3, np.nan, scores), gold, group)
    with pytest.raises(ValueError, match="one length"):
        stack_gain(scores, gold[:-1], group)
