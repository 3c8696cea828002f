"""What each group contributes to the counts: against counts of the rows without it, and pairs counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from metaeval.stats.group_counts import group_totals_of
from metaeval.stats.rank_counts import count_orders
from metaeval.stats.resampling import jackknife
from metaeval.stats.ties import sorted_entries

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sample(n: int, groups: int, levels: int, decimals: int) -> tuple[Floats, Floats, Ints]:
    rng = np.random.default_rng(n + levels)
    group = rng.integers(0, groups, n)
    gold = rng.integers(0, levels, n).astype(float)
    return np.round(gold + rng.normal(size=groups)[group] + rng.normal(size=n), decimals), gold, group


@pytest.mark.parametrize("decimals", [0, 12], ids=["ties", "no ties"])
@pytest.mark.parametrize("levels", [2, 3, 8])
def test_what_goes_with_a_group_is_what_a_count_without_it_lacks(levels: int, decimals: int, both_paths: None) -> None:
    score, gold, group = sample(400, 30, levels, decimals)
    entries = sorted_entries(score, gold.astype(np.int64), group, levels, 30)
    found = group_totals_of(entries, levels, 30).orders()
    counted = [count_orders(score, gold, group, 30)(tile) for tile in jackknife(30)]
    for name in vars(found):
        values = np.concatenate([getattr(one, name) for one in counted], axis=-1)
        np.testing.assert_array_equal(getattr(found, name), values, err_msg=name)


@pytest.mark.parametrize("levels", [2, 3, 8])
def test_the_pairs_inside_a_group_are_those_of_its_rows(levels: int) -> None:
    score, gold, group = sample(200, 9, levels, 0)
    entries = sorted_entries(score, gold.astype(np.int64), group, levels, 9)
    found = group_totals_of(entries, levels, 9).pairs_inside()
    for number in range(9):
        own = np.flatnonzero(group == number)
        pairs = [(a, b) for a in own for b in own if gold[a] > gold[b]]
        won = sum(2 * (score[a] > score[b]) + (score[a] == score[b]) for a, b in pairs)
        unlike = sum(score[a] != score[b] for a in own for b in own)
        assert found[number].tolist() == [won, len(pairs), unlike]
