"""Measures under every choice of labels and ties: against scikit-learn and scipy, and where they are undefined."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from metaeval.stats.open_choices import GRADES, MEAN, values_under_choices

SCORE = np.array([0.9, 0.8, 0.8, 0.5, 0.4, 0.3, 0.1])
LEVEL = np.array([2.0, 2.0, 1.0, 0.0, 1.0, 0.0, 0.0])


def test_each_rule_for_labels_has_its_value_and_its_rows():
    found = {name: (value, n) for name, ties, value, n in values_under_choices("auc", SCORE, LEVEL) if ties == "half"}
    keep = LEVEL != 1
    assert found["full v. none"] == (pytest.approx(roc_auc_score(LEVEL[keep] == 2, SCORE[keep])), 5)
    assert found["full v. rest"] == (pytest.approx(roc_auc_score(LEVEL == 2, SCORE)), 7)
    parts = [found[name][0] for name in ("full v. none", "full v. partial", "partial v. none")]
    assert found[MEAN] == (pytest.approx(np.mean(parts)), 7)


@pytest.mark.parametrize("measure", ["pearson", "spearman", "kendall"])
def test_what_is_undefined_is_left_out(measure):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scipy's, of a constant column
        # Without a partial level each rule for it has one class; a constant score has no correlation at all.
        rules = [name for name, *_ in values_under_choices(measure, SCORE[LEVEL != 1], LEVEL[LEVEL != 1])]
        assert rules == [GRADES, "full v. rest", "full or partial v. none", "full v. none"]
        assert list(values_under_choices(measure, np.ones(7), LEVEL)) == []
        assert list(values_under_choices(measure, SCORE[:2], LEVEL[1:3])) == []


def test_grades_are_numbers():
    (_, _, value, n), *_ = values_under_choices("spearman", SCORE, LEVEL)
    assert (value, n) == (pytest.approx(spearmanr(SCORE, LEVEL).statistic), 7)
