"""Williams' t and Steiger's Z: published examples."""

from __future__ import annotations

import math

import pytest
from scipy.stats import t as student

from metaeval.stats.significance import steiger, williams

both = pytest.mark.parametrize("test", [williams, steiger])


def test_published_examples():
    # Silver, Hittner and May, "A FORTRAN 77 program for comparing dependent correlations" (2006), as cited in the tests
    # of the R package cocor: r12 = .3, r13 = .4, r23 = .5, n = 100.
    assert [round(x, 4) for x in williams(0.3, 0.4, 0.5, 100)] == [-1.0767, 0.2843]
    assert [round(x, 4) for x in steiger(0.3, 0.4, 0.5, 100)] == [-1.0718, 0.2838]
    statistic, p = williams(0.3, 0.4, 0.5, 8)  # of few rows the degrees of freedom show: n - 3
    assert p == pytest.approx(2 * student.sf(abs(statistic), 5), rel=1e-12)
    # Steiger (1980), case A, p. 249, prints -.8913 after rounding; exact arithmetic gives cocor's -0.8887185.
    assert round(steiger(0.4, 0.5, 0.1, 103)[0], 7) == -0.8887185


@both
def test_undefined(test):
    for arguments in [(0.5, 0.3, 0.7, 3), (math.nan, 0.3, 0.7, 40), (0.5, 0.3, math.nan, 40), (0.5, 0.5, 1.0, 40)]:
        assert all(map(math.isnan, test(*arguments)))
    assert all(map(math.isnan, steiger(1.0, 0.3, 0.3, 40)))
    with pytest.raises(ValueError, match=r"got 1\.2"):
        test(1.2, 0.3, 0.7, 40)
