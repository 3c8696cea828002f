"""Rankings held against each other: scipy, and pairs counted by hand."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from metaeval.stats.agreement import pair_signs, rank_agreement


@pytest.mark.parametrize("seed", range(6))
def test_tau_is_scipys_with_ties(seed):
    generator = np.random.default_rng(seed)
    one, other = generator.integers(5, size=(2, 7, 30)).astype(float)
    tau, _ = rank_agreement(one, other)
    expected = [kendalltau(one[:, r], other[:, r]).statistic for r in range(30)]
    np.testing.assert_allclose(tau, expected, atol=1e-12)


def test_flips_are_the_pairs_in_opposite_order():
    # a > b > c against c > a > b: (a, c) and (b, c) change order, (a, b) does not. tau = (1 - 2) / 3.
    one, other = np.array([[3.0], [2.0], [1.0]]), np.array([[2.0], [1.0], [3.0]])
    tau, flips = rank_agreement(one, other)
    assert flips == [2]
    assert tau == pytest.approx([-1 / 3], abs=1e-15)
    one, other = np.array([[2.0], [1.0]]), np.array([[1.0], [1.0]])
    tau, flips = rank_agreement(one, other)
    assert flips == [0]
    assert np.isnan(tau[0])
    assert rank_agreement(one, one)[0] == [1.0]
    one = np.array([[1.0, 1.0], [np.nan, 2.0]])
    tau, flips = rank_agreement(one, np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert np.isnan([tau[0], flips[0]]).all()
    assert (tau[1], flips[1]) == (1.0, 0.0)


def test_means_that_differ_by_rounding_are_tied_and_infinite_ones_refused():
    # 0.1 + 0.2 is 0.30000000000000004 in floats.
    assert pair_signs(np.array([[0.1 + 0.2], [0.3]])) == [[0]]
    assert pair_signs(np.array([[0.3 + 1e-9], [0.3]])) == [[1]]
    # What rounding is goes with the size of the values.
    assert pair_signs(np.array([[1e6 + 1e-9], [1e6]])) == [[0]]
    assert pair_signs(np.array([[3e-9], [1e-9]])) == [[1]]
    with pytest.raises(ValueError, match="infinity"):
        pair_signs(np.array([[np.inf], [1.0]]))
