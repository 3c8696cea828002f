"""Williams' t and Steiger's Z: published examples, and their level on simulated data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metaeval.stats.significance import steiger, williams

both = pytest.mark.parametrize("test", [williams, steiger])


def test_published_examples():
    # Silver, Hittner and May, "A FORTRAN 77 program for comparing dependent correlations" (2006), as cited in the tests
    # of the R package cocor: r12 = .3, r13 = .4, r23 = .5, n = 100.
    assert [round(x, 4) for x in williams(0.3, 0.4, 0.5, 100)] == [-1.0767, 0.2843]
    assert [round(x, 4) for x in steiger(0.3, 0.4, 0.5, 100)] == [-1.0718, 0.2838]
    # Steiger (1980), case A, p. 249, prints -.8913 after rounding; exact arithmetic gives cocor's -0.8887185.
    assert round(steiger(0.4, 0.5, 0.1, 103)[0], 7) == -0.8887185


def test_by_hand():
    # r12 = .6, r13 = .2, r23 = 0, n = 53: determinant 1 - .36 - .04 = .6; mean .4;
    # t = .4 sqrt(52 / (2 x .6 x 52 / 50 + .16)) = .4 sqrt(52 / 1.408).
    assert williams(0.6, 0.2, 0.0, 53)[0] == pytest.approx(0.4 * math.sqrt(52 / 1.408), abs=1e-12)
    # Mean square .16: psi = -.16 (1 - .32) / 2 = -.0544, divided by .84**2 = .7056.
    z = (math.atanh(0.6) - math.atanh(0.2)) * math.sqrt(50 / (2 + 2 * 0.0544 / 0.7056))
    assert steiger(0.6, 0.2, 0.0, 53)[0] == pytest.approx(z, abs=1e-12)


@both
def test_holds_its_level(test):
    # Two scores that are the gold plus independent noise of one size, 2,000 draws of 60 rows; alpha .05, of which the
    # binomial standard error is sqrt(.05 x .95 / 2000) = .0049; three of them either way.
    rng = np.random.default_rng(5)
    gold, one, other = rng.normal(size=(3, 2000, 60))
    rejected = []
    for y, a, b in zip(gold, gold + one, gold + other, strict=True):
        r = np.corrcoef([y, a, b])
        rejected.append(test(r[0, 1], r[0, 2], r[1, 2], 60)[1] < 0.05)
    assert abs(np.mean(rejected) - 0.05) < 0.015


@both
def test_swapping_the_metrics_flips_the_sign(test):
    there, back = test(0.5, 0.3, 0.7, 40), test(0.3, 0.5, 0.7, 40)
    assert (there[0], there[1]) == (-back[0], back[1])
    assert there[0] > 0
    # The more alike the metrics are, the more a difference between them says.
    assert test(0.5, 0.3, 0.9, 40)[1] < there[1]


@both
def test_undefined(test):
    for arguments in [(0.5, 0.3, 0.7, 3), (math.nan, 0.3, 0.7, 40), (0.5, 0.3, math.nan, 40), (0.5, 0.5, 1.0, 40)]:
        assert all(map(math.isnan, test(*arguments)))
    assert all(map(math.isnan, steiger(1.0, 0.3, 0.3, 40)))
    with pytest.raises(ValueError, match=r"got 1\.2"):
        test(1.2, 0.3, 0.7, 40)
