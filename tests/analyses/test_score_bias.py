"""Dependence of scores on length and place at one level, from planted scores and explicit resamples."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from metaeval.analyses.comparing.bias_and_agreement import WITHIN, score_biases
from metaeval.stats.resampling import bootstrap
from protocols.contract import Judgements, Resampling

NAMES = ["full", "partial", "none"]


def planted(per_word, seed=0):
    """40 groups of 6 rows; long statements are mostly FULL; scores depend on the level, and on length by `per_word`."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(40), 6)
    gold = rng.integers(3, size=group.size).astype(float)
    words = (10 * gold + rng.integers(5, 15, size=group.size)).astype(float)
    score = 5 * gold + per_word * words + rng.normal(size=group.size)
    return Judgements(gold, score, group, group), words, (2 - gold).astype(np.int64)


def within(found):
    return next(one for one in found if one.level == WITHIN)


def test_a_level_is_scipys_spearman_and_the_mean_weights_levels_by_their_rows():
    rows, words, stratum = planted(0.1)

    found = score_biases("m", rows, "words", words, stratum, NAMES, Resampling(n=0))

    by_level = {one.level: one for one in found}
    expected = [spearmanr(rows.score[stratum == k], words[stratum == k]).statistic for k in range(3)]
    counts = [int((stratum == k).sum()) for k in range(3)]
    assert [by_level[name].value for name in NAMES] == pytest.approx(expected, abs=1e-12)
    assert [by_level[name].rows for name in NAMES] == counts
    assert by_level[WITHIN].value == pytest.approx(np.average(expected, weights=counts), abs=1e-12)
    assert (by_level[WITHIN].low, by_level[WITHIN].rows) == (None, 240)


def test_a_resample_is_that_of_the_rows_repeated():
    rows, words, stratum = planted(0.1)
    weights = next(iter(bootstrap(40, 1, 5)))[:, 1]
    repeated = np.repeat(np.arange(240), weights[rows.group])
    score, length, level = rows.score[repeated], words[repeated], stratum[repeated]
    expected = np.average(
        [spearmanr(score[level == k], length[level == k]).statistic for k in range(3)],
        weights=[(level == k).sum() for k in range(3)],
    )

    found = within(
        score_biases("m", rows, "words", words, stratum, NAMES, Resampling(n=1, seed=5, method="percentile"))
    )

    assert found.low == found.high == pytest.approx(expected, abs=1e-12)


def test_only_a_planted_bias_is_found():
    resampling = Resampling(n=400)
    honest, biased = (
        within(score_biases("m", rows, "words", words, stratum, NAMES, resampling))
        for rows, words, stratum in map(planted, (0.0, 0.3))
    )

    # Over all levels even the honest score goes with length, since length goes with the level.
    rows, words, _ = planted(0.0)
    assert spearmanr(rows.score, words).statistic > 0.5
    assert honest.low < 0 < honest.high
    assert biased.low > 0.3


def test_a_level_in_which_nothing_varies_is_left_out_of_the_mean():
    rows, words, stratum = planted(0.1)
    words = np.where(stratum == 2, 7.0, words)  # statements of level none are all of one length

    found = {one.level: one for one in score_biases("m", rows, "words", words, stratum, NAMES, Resampling(n=0))}

    weights = [found[name].rows for name in NAMES[:2]]
    values = [found[name].value for name in NAMES[:2]]
    assert found["none"].value is None
    assert found[WITHIN].value == pytest.approx(np.average(values, weights=weights), abs=1e-12)


def test_rows_without_a_score_count_nowhere():
    rows, words, stratum = planted(0.1)
    some = rows.with_score(np.where(np.arange(240) < 60, np.nan, rows.score))
    kept = rows.rows(np.arange(240) >= 60)

    with_gaps = score_biases("m", some, "words", words, stratum, NAMES, Resampling(n=0))
    without = score_biases("m", kept, "words", words[60:], stratum[60:], NAMES, Resampling(n=0))

    assert with_gaps == without
