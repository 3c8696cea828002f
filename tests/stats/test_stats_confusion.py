"""Measures of three-way decisions from counts: against scikit-learn, and under weights."""

import warnings

import numpy as np
import pytest
from sklearn import metrics as official

from metaeval.stats import classification
from metaeval.stats.resampling import bootstrap, replicate


def _official(name, gold, predicted, n_levels=3):
    labels = list(range(n_levels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "macro-f1": lambda: official.f1_score(gold, predicted, labels=labels, average="macro", zero_division=0),
            "balanced-accuracy": lambda: official.recall_score(
                gold, predicted, labels=labels, average="macro", zero_division=0
            ),
            "accuracy": lambda: official.accuracy_score(gold, predicted),
            "kappa": lambda: official.cohen_kappa_score(gold, predicted, labels=labels, weights="quadratic"),
        }[name]()


MEASURES = {
    "macro-f1": classification.macro_f1,
    "balanced-accuracy": classification.balanced_accuracy,
    "accuracy": classification.accuracy,
    "kappa": classification.quadratic_kappa,
}


@pytest.mark.parametrize("name", list(MEASURES))
@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_measures_agree_with_scikit_learn(name, n_levels):
    rng = np.random.default_rng(0)
    for n in (6, 40, 40, 300):
        gold = np.concatenate((np.arange(n_levels), rng.integers(0, n_levels, size=n)))
        predicted = rng.integers(0, rng.integers(1, n_levels + 1), size=gold.size)  # some level is often left out
        counts = classification.decision_counts(predicted, gold, np.zeros(gold.size, dtype=np.int64), 1, n_levels)
        expected = _official(name, gold, predicted, n_levels)
        assert MEASURES[name](counts)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", list(MEASURES))
def test_weights_are_repeated_rows(name):
    rng = np.random.default_rng(1)
    gold, group = np.tile([0, 1, 2], 20), np.arange(60) // 4
    predicted = np.where(rng.random(60) < 0.6, gold, rng.integers(0, 3, size=60))
    counts = classification.decision_counts(predicted, gold, group, 15)
    draws = bootstrap(15, 40, seed=0)
    prepared = classification.resampled(counts, MEASURES[name])
    columns = np.concatenate(list(draws), axis=1).T
    for weights, value in zip(columns, replicate(prepared, draws), strict=True):
        rows = np.repeat(np.arange(60), weights[group].astype(int))
        assert value == pytest.approx(_official(name, gold[rows], predicted[rows]), abs=1e-12)
    assert prepared.groups == np.unique(group).size
