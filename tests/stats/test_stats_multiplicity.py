"""Adjusted p-values: against statsmodels, and by hand."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from metaeval.stats.significance import holm, holm_against


@pytest.fixture(scope="module", autouse=True)
def uncollected():
    """statsmodels' Holm collects garbage in every call, which takes a second once torch is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda: 0)
        yield


@given(p=st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=30))
def test_agrees_with_statsmodels_to_the_last_bit(p):
    assert holm(np.array(p)).tolist() == multipletests(p, method="holm")[1].tolist()


def test_against_controls_by_hand():
    p = np.array([[0.01, 0.02], [0.015, 0.2], [0.001, 0.004]])
    difference = np.array([[0.1, 0.1], [0.1, -0.1], [-0.1, -0.1]])
    # First control: .01 x 3 = .03; .015 x 2 = .03; the third metric is below it. Second: .02 x 3 = .06.
    # Above every control: the largest p of the first metric is .02, of the others 1: .02 x 3 = .06, for its second.
    # Below a control, of all six tests: .001 x 6, .004 x 5 = .02; .2 x 4 = .8 (the other three count with 1).
    expected = [[0.03, 0.06], [0.03, 0.8], [0.006, 0.02]]
    assert holm_against(p, difference) == pytest.approx(np.array(expected), abs=1e-15)
    p, difference = np.array([[0.01, np.nan], [0.04, 0.02], [np.nan, np.nan]]), np.full((3, 2), 0.1)
    # First control: .01 x 2, .04. Second: .02. Above every control: .01 x 2 and .04, for the first control of both.
    assert holm_against(p, difference) == pytest.approx(
        np.array([[0.02, np.nan], [0.04, 0.02], [np.nan, np.nan]]), abs=1e-15, nan_ok=True
    )


cells = st.tuples(st.floats(0, 0.1), st.sampled_from([-1.0, 1.0, 1.0, 1.0]))


@given(st.integers(1, 4).flatmap(lambda wide: st.lists(st.lists(cells, min_size=wide, max_size=wide), min_size=1)))
def test_above_all_controls_is_holm_over_the_metrics_of_the_largest_p(table):
    p, difference = np.moveaxis(np.array(table), 2, 0)
    adjusted = holm_against(p, difference)
    beaten = (adjusted <= 0.05) & (difference > 0)
    every = holm(np.where(difference > 0, p, 1.0).max(axis=1)) <= 0.05
    assert beaten.all(axis=1).tolist() == every.tolist()
    # One control at a time, the claims are at most those of Holm over the metrics.
    for control, own in enumerate(np.where(difference > 0, p, 1.0).T):
        assert (holm(own) <= adjusted[:, control])[difference[:, control] > 0].all()
