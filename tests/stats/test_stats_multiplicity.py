"""Adjusted p-values: against statsmodels, and by hand."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from metaeval.stats.significance import benjamini_hochberg, holm

both = pytest.mark.parametrize(("adjust", "method"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])


@pytest.fixture(scope="module", autouse=True)
def uncollected() -> Iterator[None]:
    """statsmodels' Holm collects garbage in every call, which takes a second once torch is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda: 0)
        yield


@both
@settings(max_examples=100, deadline=None)
@given(p=st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=30))
def test_agrees_with_statsmodels_to_the_last_bit(adjust, method, p):
    assert adjust(np.array(p)).tolist() == multipletests(p, method=method)[1].tolist()


@both
def test_undefined_p_values_are_not_counted(adjust, method):
    p = np.array([0.04, np.nan, 0.01, 0.03, np.nan])
    adjusted = adjust(p)
    assert np.isnan(adjusted).tolist() == [False, True, False, False, True]
    assert adjusted[[0, 2, 3]].tolist() == multipletests([0.04, 0.01, 0.03], method=method)[1].tolist()


def test_by_hand():
    p = np.array([0.04, 0.01, 0.03])
    # Holm: .01 x 3 = .03; .03 x 2 = .06; .04 x 1 = .04, lifted to the .06 before it.
    assert holm(p) == pytest.approx([0.06, 0.03, 0.06], abs=1e-15)
    # Benjamini-Hochberg: .01 x 3/1 = .03; .03 x 3/2 = .045, lowered to the .04 x 3/3 behind it.
    assert benjamini_hochberg(p) == pytest.approx([0.04, 0.03, 0.04], abs=1e-15)


@both
def test_edges(adjust, method):
    assert adjust(np.array([])).size == 0
    assert np.isnan(adjust(np.full(2, np.nan))).all()
    given_p = np.array([0.5, 0.1])
    adjust(given_p)
    assert given_p.tolist() == [0.5, 0.1]
    with pytest.raises(ValueError, match=r"0 \.\. 1, got 1\.5"):
        adjust(np.array([0.1, 1.5]))
