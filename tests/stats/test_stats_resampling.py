"""Draws and intervals: the cluster bootstrap, the jackknife, exchanges of two metrics."""

import numpy as np
import pytest

from metaeval.stats import resampling as draws_module
from metaeval.stats.arrays import group_ends, varies, varies_without
from metaeval.stats.pools import pool_mean
from metaeval.stats.resampling import Draws, _tile, bootstrap, jackknife, replicate, swaps


def weights_of(draws):
    """Weights (n, n_groups)."""
    return np.concatenate(list(draws), axis=1).T.astype(np.int64)


def given(weights):
    tile = np.array(weights, dtype=np.uint8).T
    return Draws(tile.shape[1], tile.shape[0], lambda number: tile)


def test_a_resample_draws_as_many_groups_as_there_are():
    weights = weights_of(bootstrap(50, 200, seed=3))
    assert weights.shape == (201, 50)
    assert (weights[0] == 1).all()
    assert (weights.sum(axis=1) == 50).all()
    # A group is left out with chance (1 - 1/50)**50 = .364; 10,000 draws give a standard error below .005.
    assert np.mean(weights[1:] == 0) == pytest.approx(0.364, abs=0.02)
    assert weights_of(bootstrap(0, 4, seed=0)).shape == (5, 0)
    assert weights_of(bootstrap(4, 0, seed=0)).tolist() == [[1, 1, 1, 1]]
    assert (weights_of(bootstrap(1, 3, seed=0)) == 1).all()
    assert _tile(np.array([[1, 300]]), 0, 2).tolist() == [[1, 300]]


@pytest.mark.parametrize("values", [[1, 2, 2, 2], [2, 2, 2, 1], [1, 1, 1, 1], [2, 1, 2, 2], [2, 2, 3, 2], [1, 2, 2, 3]])
def test_without_a_group_the_rest_varies_or_does_not(values):
    # The first and last row are groups of their own, those between them one group.
    ends = group_ends(np.array(values, dtype=float), np.array([0, 1, 1, 2]), 3)
    rest = [values[1:], [values[0], values[3]], values[:3]]
    assert varies_without(ends).tolist() == [len(set(some)) > 1 for some in rest]
    assert varies(ends, ~np.eye(3, dtype=bool)).tolist() == varies_without(ends).tolist()


def test_draws_depend_on_groups_number_and_seed_and_not_on_what_is_kept(monkeypatch):
    weights = weights_of(bootstrap(30, 10, seed=5))
    bootstrap.cache_clear()
    assert (weights_of(bootstrap(30, 10, seed=5)) == weights).all()
    assert (weights_of(bootstrap(30, 300, seed=5))[:11] == weights).all()
    assert (weights_of(bootstrap(30, 10, seed=6)) != weights).any()
    kept = weights_of(bootstrap(9, 300, seed=1))
    bootstrap.cache_clear()
    monkeypatch.setattr(draws_module, "KEPT_BYTES", 0)
    assert (weights_of(bootstrap(9, 300, seed=1)) == kept).all()


def test_the_jackknife_leaves_out_each_group_once():
    weights = weights_of(jackknife(200))
    assert weights.shape == (201, 200)
    assert (weights[0] == 1).all()
    assert (weights[1:] == 1 - np.eye(200)).all()


def test_swaps_take_every_group_from_one_of_the_two():
    weights = weights_of(swaps(6, 100, seed=2)).reshape(101, 2, 2, 6)  # permutation, side, metric, group
    assert weights[0].tolist() == [[[1] * 6, [0] * 6], [[0] * 6, [1] * 6]]
    assert (weights.sum(axis=2) == 1).all()
    assert (weights[:, 0] == weights[:, 1, ::-1]).all()
    # Each group is exchanged in half of the permutations: 600 draws give a standard error of .02.
    assert weights[1:, 0, 1].mean() == pytest.approx(0.5, abs=0.08)


def test_pool_means_weigh_pools_by_their_group():
    # Pools of value 1, 0 in group 0 and .5 in group 1. Weights (2, 1): (2 * 1 + 2 * 0 + 1 * .5) / 5 = .5;
    # (1, 3): (1 + 0 + 1.5) / 5 = .5; (0, 1): .5; (1, 0): .5; so make the third .8: .56, .68, .8, .5.
    mean = pool_mean(np.array([1.0, 0.0, 0.8, np.nan]), np.array([0, 0, 1, 1]), 2)
    values = replicate(mean, given([[2, 1], [1, 3], [0, 1], [1, 0], [0, 0]]))
    assert values[:4] == pytest.approx([0.56, 0.68, 0.8, 0.5], abs=1e-15)
    assert np.isnan(values[4])
    rng = np.random.default_rng(0)
    values, group = rng.random((3, 300)), rng.integers(0, 90, 300)
    values[1, :200] = np.nan
    draws = bootstrap(90, 23, seed=0)
    together = replicate(pool_mean(values, group, 90), draws)
    assert [row.tobytes() for row in together] == [
        replicate(pool_mean(row, group, 90), draws).tobytes() for row in values
    ]
