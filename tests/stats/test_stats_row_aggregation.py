"""Rows in order of score, counted: against a plain count of the same rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from metaeval.stats.resampling import bootstrap
from metaeval.stats.ties import lone_powers, self_ties, sorted_entries

Ints = NDArray[np.int64]


def sample(distinct: int, n: int = 400) -> tuple[NDArray[np.float64], Ints, Ints]:
    rng = np.random.default_rng(distinct)
    return rng.integers(0, distinct, n) / 7 - 3.0, rng.integers(0, 3, n), rng.integers(0, 25, n)


@pytest.mark.parametrize("distinct", [1, 5, 60, 10**6])
def test_entries_are_the_distinct_rows_with_their_number(distinct: int) -> None:
    score, level, group = sample(distinct)
    entries = sorted_entries(score, level, group, 3, 25)
    values = np.unique(score)[entries.block]
    counted = Counter(zip(score.tolist(), level.tolist(), group.tolist(), strict=True))
    found = list(zip(values.tolist(), entries.level.tolist(), entries.group.tolist(), strict=True))
    assert found == sorted(counted)  # by score, then level, then group, each once
    assert entries.count.tolist() == [counted[key] for key in found]
    assert entries.n_blocks == np.unique(score).size


@pytest.mark.parametrize("distinct", [5, 60, 10**6])
def test_starts_cut_the_entries_into_blocks_and_solo_ones_are_alone_there(distinct: int) -> None:
    score, level, group = sample(distinct)
    entries = sorted_entries(score, level, group, 3, 25)
    size = np.diff(entries.start)
    assert entries.block.tolist() == np.repeat(np.arange(size.size), size).tolist()
    assert entries.solo.tolist() == (size[entries.block] == 1).tolist()


@pytest.mark.parametrize("distinct", [60, 10**6])
def test_self_ties_are_those_of_repeated_rows_with_a_score_of_their_own(distinct: int) -> None:
    score, level, group = sample(distinct)
    entries = sorted_entries(score, level, group, 3, 25)
    lone = np.unique(score)[entries.block[entries.solo]]
    draws = bootstrap(25, 7, seed=0)
    for tile in draws:
        squares, cubes = self_ties(lone_powers(entries, 25), tile)
        for column, weights in enumerate(tile.T):
            _, sizes = np.unique(
                np.repeat(score, weights[group])[np.isin(np.repeat(score, weights[group]), lone)], return_counts=True
            )
            assert (squares[column], cubes[column]) == ((sizes**2).sum(), (sizes**3).sum())
