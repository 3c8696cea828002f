"""Letters of metrics that do not differ, and intervals of ranks, against published displays and hand arithmetic."""

import numpy as np
import pytest
from scipy.special import ndtr

from metaeval.stats.ranking import LETTERS, letters, rank_intervals
from metaeval.stats.significance import holm


def _square(m, *pairs):
    significant = np.zeros((m, m), dtype=bool)
    for i, j in pairs:
        significant[i, j] = significant[j, i] = True
    return significant


def test_display_of_agricolae_and_stata():
    # Tukey's test of the ten cells of Stata's example `yield`: agricolae's HSD.test and Stata's `pwcompare, group`
    # print these groups (Stata with letters from the lowest). The standard error of a mean is 1.116571, and the upper
    # 5 % of the studentised range of ten means with 190 degrees of freedom 4.53, so means differ from 5.06 on.
    means = [51.17547, 50.7529, 47.36229, 45.81229, 44.55313, 41.81757, 38.79482, 36.91257, 36.34383, 35.69507]
    value = np.array(means)
    differ = np.abs(value[:, None] - value) > 4.53 * 1.116571
    assert letters(value, differ) == ["a", "ab", "abc", "bcd", "cd", "de", "ef", "ef", "f", "f"]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_a_letter_is_shared_if_and_only_if_two_do_not_differ(share):
    rng = np.random.default_rng(int(100 * share))
    for _ in range(250):
        m = int(rng.integers(1, 13))
        differ = np.triu(rng.random((m, m)) < share, 1)
        differ |= differ.T
        value = rng.normal(size=m)
        display = [set(text) for text in letters(value, differ)]
        shared = np.array([[bool(one & other) for other in display] for one in display])
        assert np.array_equal(shared, ~differ)
        assert "a" in display[int(np.argmax(value))]


def test_display_of_intervals_has_runs_of_letters_and_no_more_than_metrics():
    value = np.arange(20.0)
    differ = np.abs(value[:, None] - value) > 6
    display = letters(value, differ)
    assert display[::-1][:3] == ["a", "ab", "abc"]
    assert all(text in LETTERS for text in display)
    assert len(set("".join(display))) == 14  # windows of seven among twenty


def test_input_order_does_not_matter_and_undefined_values_have_no_letter():
    value = np.array([0.6, np.nan, 0.9, 0.8, 0.7])
    significant = _square(5, (2, 0), (1, 2), (1, 3))
    assert letters(value, significant) == ["b", "", "a", "ab", "ab"]
    order = np.array([4, 1, 0, 2, 3])
    assert letters(value[order], significant[np.ix_(order, order)]) == ["ab", "", "b", "a", "ab"]
    assert letters(np.array([]), _square(0)) == []
    assert letters(np.array([np.nan]), _square(1)) == [""]
    more = len(LETTERS) + 1
    assert letters(np.arange(float(more)), ~np.eye(more, dtype=bool)) == [""] * more
    with pytest.raises(ValueError, match="shape"):
        letters(np.array([1.0, 2.0]), _square(3))
    with pytest.raises(ValueError, match="symmetric"):
        letters(np.array([1.0, 2.0]), np.array([[False, True], [False, False]]))


PISA = """
Australia 491.360 1.940, Austria 498.942 2.971, Belgium 508.070 2.263, Canada 512.017 2.357, Chile 417.407 2.416,
Colombia 390.932 2.990, Czechia 499.468 2.461, Denmark 509.398 1.735, Estonia 523.415 1.744, Finland 507.301 1.968,
France 495.408 2.320, Germany 500.044 2.647, Greece 451.370 3.091, Hungary 481.083 2.320, Iceland 495.187 1.953,
Ireland 499.633 2.199, Israel 463.035 3.499, Italy 486.590 2.780, Japan 526.973 2.471, Korea 525.933 3.121,
Latvia 496.126 1.963, Lithuania 481.191 1.953, Luxembourg 483.421 1.098, Mexico 408.801 2.493,
Netherlands 519.231 2.632, New-Zealand 494.490 1.706, Norway 500.964 2.219, Poland 515.648 2.602,
Portugal 492.487 2.685, Slovakia 486.165 2.556, Slovenia 508.898 1.364, Spain 481.393 1.462, Sweden 502.388 2.654,
Switzerland 515.315 2.908, Turkey 453.508 2.260, United-Kingdom 501.770 2.564, United-States 478.245 3.235
"""
"""Mean of mathematics and its standard error, PISA 2018 (OECD), of the 37 countries of the example of R's csranks."""


def _pisa():
    """Return the countries and the one-sided p-values (37, 37) that the first of a pair is not better."""
    names, score, error = zip(*(line.split() for line in PISA.replace("\n", " ").split(",")), strict=True)
    value, variance = np.array(score, dtype=float), np.array(error, dtype=float) ** 2
    return list(names), ndtr((value - value[:, None]) / np.sqrt(variance + variance[:, None]))


def test_simultaneous_rank_intervals_of_pisa():
    # csranks takes the studentised maximum from a bootstrap where Holm bounds it. Its article: at 95 % Chile, Mexico
    # and Colombia overlap with nobody else, and Germany and Korea share rank 7.
    names, p = _pisa()
    pairs = np.triu_indices(len(names), 1)
    differ = np.zeros_like(p, dtype=bool)
    differ[pairs] = holm(np.minimum(1, 2 * np.minimum(p, p.T))[pairs]) <= 0.05
    low, high = rank_intervals((differ | differ.T) & (p < 0.5))
    rank = {name: (int(a), int(b)) for name, a, b in zip(names, low, high, strict=True)}
    assert rank["Germany"][0] == rank["Korea"][1] == 7
    assert (rank["Chile"], rank["Mexico"], rank["Colombia"]) == ((35, 36), (35, 36), (37, 37))


def test_marginal_rank_interval_of_pisa():
    # csranks(..., simul=FALSE) for the United Kingdom: 7 to 23 in the article's text, 8 to 23 in the run that it
    # prints, for its quantile is of a bootstrap; Holm's bound is the wider one.
    names, p = _pisa()
    country = names.index("United-Kingdom")
    others = np.arange(len(names)) != country
    better = np.zeros_like(p, dtype=bool)
    differ = holm(2 * np.minimum(p[country], p[:, country])[others]) <= 0.05
    better[country, others] = differ & (p[country, others] < 0.5)
    better[others, country] = differ & (p[others, country] < 0.5)
    low, high = rank_intervals(better)
    assert (low[country], high[country]) == (7, 23)


@pytest.mark.parametrize(("alpha", "more"), [(0.05, {"Sweden"}), (0.10, set())])
def test_countries_that_may_be_among_the_best_five(alpha, more):
    # cstaubest(..., tau = 5): one-sided tests of all ordered pairs; the article lists these countries. Holm's bound is
    # wider than its bootstrap, by one country at most.
    names, p = _pisa()
    places = np.nonzero(~np.eye(len(names), dtype=bool))
    better = np.zeros_like(p, dtype=bool)
    better[places] = holm(p[places]) <= alpha
    low, _ = rank_intervals(better)
    always = "Belgium Canada Denmark Estonia Finland Japan Korea Netherlands Poland Slovenia Switzerland"
    published = {*always.split()} | more
    possible = {name for name, rank in zip(names, low, strict=True) if rank <= 5}
    assert published <= possible
    assert len(possible - published) <= 1
