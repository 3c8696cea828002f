"""The cluster bootstrap: a resample is a re-weighting of groups, never a re-sort of rows.

Groups (a query, a response, a source document) are drawn with replacement, because the rows inside one are not
independent; a group that is drawn three times has weight three. Each measure sorts its rows once and is then
evaluated for many weight vectors. The point estimate is the same code with every weight equal to one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.columns import Floats

Weights = NDArray[np.unsignedinteger]

CHUNK_FLOATS = 8_000_000
"""Floats that one intermediate array may hold (64 MB); a measure keeps a handful of them at a time."""


@dataclass(frozen=True)
class Prepared:
    """A measure whose rows are sorted and counted, ready for any weights.

    evaluate: weights (n_groups, R) float64 -> values (R,), NaN where the measure is undefined.
    width: floats that one resample takes in the largest intermediate array.
    groups: number of distinct groups that hold a row of the measure.
    """

    evaluate: Callable[[Floats], Floats]
    width: int
    groups: int


@lru_cache(maxsize=4)
def cluster_weights(n_groups: int, n_resamples: int, seed: int) -> Weights:
    """Draw `n_groups` groups with replacement, `n_resamples` times; returns counts (n_resamples, n_groups).

    The counts depend on the three arguments alone: every measure on the same groups sees the same resamples, and the
    first k resamples of a longer run are those of a run of k. They are kept for the next measure, so the array is
    read-only. Raises ValueError on a negative argument.
    """
    if n_groups < 0 or n_resamples < 0 or seed < 0:
        raise ValueError(f"groups, resamples and seed must not be negative, got {n_groups}, {n_resamples}, {seed}")
    weights = np.zeros((n_resamples, n_groups), dtype=np.min_scalar_type(n_groups))
    generator = np.random.default_rng(seed)
    if n_groups:
        for row in weights:
            row[:] = np.bincount(generator.integers(n_groups, size=n_groups), minlength=n_groups)
    weights.flags.writeable = False
    return weights


def replicate(prepared: Prepared, weights: Weights, chunk_floats: int = CHUNK_FLOATS) -> Floats:
    """Evaluate a measure under each row of `weights` (R, n_groups); returns (R,), NaN where undefined.

    Memory is bounded by `chunk_floats`; the values do not depend on it, to the last bit.
    """
    step = max(1, chunk_floats // max(1, prepared.width))
    values = np.empty(weights.shape[0])
    for start in range(0, weights.shape[0], step):
        chunk = np.ascontiguousarray(weights[start : start + step].T, dtype=np.float64)
        values[start : start + step] = prepared.evaluate(chunk)
    return values


def percentile_interval(values: Floats, level: float) -> tuple[float, float] | None:
    """Percentile interval at `level` of the defined `values` (R,); None if none or fewer than half are defined.

    Quantiles interpolate linearly. Raises ValueError unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"the interval's level must lie between 0 and 1, got {level}")
    defined = values[~np.isnan(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
