"""Pearson's r where scores have heavy tails: winsorised scores, and the warning."""

import numpy as np
import pytest
from scipy.stats import kurtosis, pearsonr
from scipy.stats.mstats import winsorize

from protocols import correlation
from protocols.contract import Judgements, Resampling


def rows(errors):
    level = np.tile([0.0, 1.0, 2.0], 200)
    group = np.repeat(np.arange(100), 6)
    return Judgements(level, level + errors, group, group)


RNG = np.random.default_rng(0)
HEAVY, NORMAL = rows(RNG.standard_t(3, 600)), rows(RNG.normal(size=600))


@pytest.mark.parametrize("n", [1, 9, 10, 57])
def test_winsorised_scores_are_scipys(n):
    score = np.random.default_rng(n).normal(size=n).round(1)
    assert correlation.winsorised(score).tolist() == np.asarray(winsorize(score, limits=(0.1, 0.1))).tolist()


def test_the_option_changes_pearson_alone():
    plain, robust = (correlation.evaluate(HEAVY, Resampling(n=0), {"robust": how}) for how in ("none", "winsor"))
    drawn_in = np.asarray(winsorize(HEAVY.score, limits=(0.1, 0.1)))
    assert robust.estimates["pearson"].value == pytest.approx(pearsonr(drawn_in, HEAVY.gold).statistic, abs=1e-12)
    assert robust.estimates["pearson"].value > plain.estimates["pearson"].value
    assert correlation.winsorised(np.empty(0)).size == 0
    for key in ("spearman", "kendall"):
        assert robust.estimates[key].value == plain.estimates[key].value


def test_heavy_tails_are_warned_of_where_nothing_is_drawn_in():
    rest = (
        HEAVY.score - np.array([HEAVY.score[HEAVY.gold == level].mean() for level in (0, 1, 2)])[HEAVY.gold.astype(int)]
    )
    assert kurtosis(rest) > correlation.HEAVY
    scaled = [HEAVY.with_score(HEAVY.score * scale) for scale in (1e-300, 1e300)]
    scaled += [rows(np.repeat([1.0, -1.0, 0.0], [3 * n, 3 * n, 600 - 6 * n])) for n in (22, 26)]  # excess 1.5 and 0.8
    warned = [
        correlation.HEAVY_TAILS in correlation.evaluate(judged, Resampling(n=100), {"robust": how}).warnings
        for judged, how in ((HEAVY, "none"), (HEAVY, "winsor"), (NORMAL, "none"), *((one, "none") for one in scaled))
    ]
    assert warned == [True, False, False, True, True, True, False]
