"""The cluster bootstrap: draws, chunks, intervals."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.auc import roc_auc
from metaeval.stats.columns import column_sum, ratio
from metaeval.stats.pools import pool_mean
from metaeval.stats.resampling import cluster_weights, percentile_interval, replicate


def test_a_resample_draws_as_many_groups_as_there_are() -> None:
    weights = cluster_weights(50, 200, seed=3)
    assert weights.shape == (200, 50)
    assert (weights.sum(axis=1) == 50).all()
    # A group is left out with chance (1 - 1/50)**50 = .364; 10,000 draws give a standard error below .005.
    assert np.mean(weights == 0) == pytest.approx(0.364, abs=0.02)


def test_draws_depend_on_groups_number_and_seed_alone() -> None:
    weights = cluster_weights(30, 10, seed=5)
    assert (cluster_weights(30, 10, seed=5) == weights).all()
    assert (cluster_weights(30, 25, seed=5)[:10] == weights).all()
    assert (cluster_weights(30, 10, seed=6) != weights).any()


def test_counts_of_many_groups_do_not_overflow() -> None:
    weights = cluster_weights(1, 3, seed=0)
    assert (weights == 1).all()
    assert cluster_weights(300, 1, seed=0).dtype.itemsize == 2  # up to 300 draws of one group: one byte is too small


@pytest.mark.parametrize("arguments", [(-1, 1, 0), (1, -1, 0), (1, 1, -1)])
def test_negative_arguments_are_refused(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        cluster_weights(*arguments)


def test_no_groups_and_no_resamples() -> None:
    assert cluster_weights(0, 4, seed=0).shape == (4, 0)
    assert cluster_weights(4, 0, seed=0).shape == (0, 4)


def test_copies_inside_a_group_add_no_certainty() -> None:
    # Ten copies of every row, in the row's own group, carry no new information: each resample gives the same AUC.
    rng = np.random.default_rng(0)
    score, positive, group = rng.normal(size=80), rng.random(80) < 0.5, np.arange(80)
    weights = cluster_weights(80, 50, seed=1)
    once = replicate(roc_auc(score, positive, group, 80), weights)
    copied = replicate(roc_auc(np.repeat(score, 10), np.repeat(positive, 10), np.repeat(group, 10), 80), weights)
    assert copied.tobytes() == once.tobytes()


def test_percentile_interval_interpolates() -> None:
    # 0 .. 100 at 90 %: the 5th and 95th percentiles of 101 equally spaced values are 5 and 95.
    assert percentile_interval(np.arange(101.0), 0.90) == pytest.approx((5.0, 95.0))


def test_undefined_resamples_are_left_out_up_to_one_half() -> None:
    values = np.array([1.0, 3.0, np.nan, np.nan])
    assert percentile_interval(values, 0.5) == pytest.approx((1.5, 2.5))  # quartiles of 1 and 3
    assert percentile_interval(np.append(values, np.nan), 0.5) is None
    assert percentile_interval(np.array([]), 0.5) is None


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_interval_level_is_a_fraction(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        percentile_interval(np.arange(3.0), level)


def test_column_sum_is_the_same_for_one_column_and_many() -> None:
    values = np.random.default_rng(0).normal(size=(10_000, 5))
    one_by_one = [column_sum(np.ascontiguousarray(values[:, [c]]))[0] for c in range(5)]
    assert column_sum(values).tolist() == one_by_one
    assert column_sum(np.zeros((0, 3))).tolist() == [0, 0, 0]


def test_ratio_is_nan_where_nothing_divides() -> None:
    assert np.isnan(ratio(np.array([1.0, 0.0]), np.array([0.0, 0.0]))).all()
    assert ratio(np.array([1.0]), np.array([4.0])).tolist() == [0.25]


def test_pool_mean_weighs_pools_by_their_group() -> None:
    # Pools of value 1, 0 in group 0 and .5 in group 1. Weights (2, 1): (2 * 1 + 2 * 0 + 1 * .5) / 5 = .5;
    # (1, 3): (1 + 0 + 1.5) / 5 = .5; (0, 1): .5; (1, 0): .5; so make the third .8: .56, .68, .8, .5.
    mean = pool_mean(np.array([1.0, 0.0, 0.8, np.nan]), np.array([0, 0, 1, 1]), 2)
    values = replicate(mean, np.array([[2, 1], [1, 3], [0, 1], [1, 0], [0, 0]], dtype=np.uint8))
    assert values[:4] == pytest.approx([0.56, 0.68, 0.8, 0.5], abs=1e-15)
    assert np.isnan(values[4])


def test_pool_mean_does_not_depend_on_the_chunk() -> None:
    rng = np.random.default_rng(0)
    mean, weights = pool_mean(rng.random(300), rng.integers(0, 90, 300), 90), cluster_weights(90, 23, seed=0)
    assert replicate(mean, weights, chunk_floats=90).tobytes() == replicate(mean, weights).tobytes()
