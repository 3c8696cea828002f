"""Significance clusters, on cases that can be read off the rule."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.significance import significance_clusters


def _square(m: int, *pairs: tuple[int, int]) -> np.ndarray:
    significant = np.zeros((m, m), dtype=bool)
    for i, j in pairs:
        significant[i, j] = significant[j, i] = True
    return significant


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], [1, 1, 1, 1]),
        # d differs from a alone, which suffices: b and c stand between them in the first cluster.
        ([(0, 3)], [1, 1, 1, 2]),
        # c opens the second cluster; d differs from a and b, but only c, its own cluster, counts now.
        ([(0, 2), (0, 3), (1, 3)], [1, 1, 2, 2]),
        ([(0, 2), (2, 3)], [1, 1, 2, 3]),
        ([(0, 1), (1, 2), (2, 3)], [1, 2, 3, 4]),
    ],
)
def test_rule(pairs: list[tuple[int, int]], expected: list[int]) -> None:
    value = np.array([0.9, 0.8, 0.7, 0.6])
    assert significance_clusters(value, _square(4, *pairs)).tolist() == expected


def test_input_order_does_not_matter_and_undefined_is_0() -> None:
    value = np.array([0.6, np.nan, 0.9, 0.8, 0.7])
    # In descending order 2, 3, 4, 0; the undefined metric's comparisons count for nothing.
    significant = _square(5, (2, 0), (1, 2), (1, 3))
    assert significance_clusters(value, significant).tolist() == [2, 0, 1, 1, 1]
    order = np.array([4, 1, 0, 2, 3])
    shuffled = significance_clusters(value[order], significant[np.ix_(order, order)])
    assert shuffled.tolist() == [1, 0, 2, 1, 1]


def test_edges() -> None:
    assert significance_clusters(np.array([]), _square(0)).size == 0
    assert significance_clusters(np.array([np.nan]), _square(1)).tolist() == [0]
    with pytest.raises(ValueError, match="shape"):
        significance_clusters(np.array([1.0, 2.0]), _square(3))
    with pytest.raises(ValueError, match="symmetric"):
        significance_clusters(np.array([1.0, 2.0]), np.array([[False, True], [False, False]]))
