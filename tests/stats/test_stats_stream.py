"""Counts from chunks of sorted rows: the integers of the same rows in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from metaeval.stats import rank_counts, resampling
from metaeval.stats.group_counts import GroupTotals, group_totals_of
from metaeval.stats.rank_counts import count_orders, count_wins, resampled_orders
from metaeval.stats.resampling import bootstrap, jackknife
from metaeval.stats.ties import Entries, sorted_entries

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sample(n: int, groups: int, levels: int, decimals: int) -> tuple[Floats, Floats, Ints]:
    rng = np.random.default_rng(n + levels)
    group = rng.integers(0, groups, n)
    gold = rng.integers(0, levels, n).astype(float)
    return np.round(gold + rng.normal(size=groups)[group] + rng.normal(size=n), decimals), gold, group


def chunks_of(score: Floats, gold: Floats, group: Ints, levels: int, groups: int, edges: Floats) -> Iterator[Entries]:
    bucket = np.searchsorted(edges, score, side="right")
    for number in range(edges.size + 1):
        own = bucket == number
        if own.any():
            yield sorted_entries(score[own], gold[own].astype(np.int64), group[own], levels, groups)


def check(n: int, groups: int, levels: int, decimals: int, parts: int, resamples: int) -> None:
    rows = score, gold, group = sample(n, groups, levels, decimals)
    edges = np.unique(np.quantile(score, np.linspace(0, 1, parts + 1)[1:-1], method="inverted_cdf"))

    def chunks() -> Iterator[Entries]:
        return chunks_of(*rows, levels, groups, edges)

    totals = group_totals_of(chunks(), levels, groups)
    found, entries = totals.orders(), sorted_entries(score, gold.astype(np.int64), group, levels, groups)
    at_once = group_totals_of([entries], levels, groups)
    for name, values in vars(at_once).items():
        np.testing.assert_array_equal(getattr(totals, name), values, err_msg=name)
    if groups < 1000:
        anew = [count_orders(score, gold, group, groups)(tile) for tile in jackknife(groups)]
        for name in vars(found):
            values = np.concatenate([getattr(one, name) for one in anew], axis=-1)
            np.testing.assert_array_equal(getattr(found, name), values, err_msg=name)
    draws = bootstrap(groups, resamples, 0)
    drawn, in_memory = resampled_orders(chunks, totals, draws), count_wins(score, gold, group, groups)
    at = 0
    for tile in draws:
        own = slice(at, at + tile.shape[1])
        at = own.stop
        for name, values in vars(in_memory(tile).orders()).items():
            np.testing.assert_array_equal(getattr(drawn, name)[..., own], values, err_msg=name)
    whole = in_memory(np.ones((groups, 1), dtype=np.uint8)).orders()
    for name, values in vars(whole).items():
        np.testing.assert_array_equal(getattr(found, name)[..., :1], values, err_msg=name)


@pytest.mark.parametrize("decimals", [0, 12], ids=["ties", "no ties"])
@pytest.mark.parametrize("levels", [2, 3, 8])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_the_integers_are_those_of_the_rows_in_memory(levels: int, decimals: int, parts: int, both_paths: None) -> None:
    check(400, 30, levels, decimals, parts, 140)


def test_a_pass_for_each_tile_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap.cache_clear()
    for module in (resampling, rank_counts):
        monkeypatch.setattr(module, "KEPT_BYTES", 0)
    check(400, 30, 3, 0, 3, 300)


@pytest.mark.parametrize("decimals", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_a_million_rows(decimals: int) -> None:
    check(1_000_000, 20_000, 3, decimals, 9, 2)


@pytest.mark.slow
def test_ten_million_rows() -> None:
    check(10_000_000, 200_000, 3, 3, 9, 2)


def test_nothing_at_all() -> None:
    assert isinstance(group_totals_of([], 2, 3), GroupTotals)
