"""Sums down columns, where a column is one resample. Every measure is built from these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Weights = NDArray[np.unsignedinteger]

STRIP_FLOATS = 4_000_000
"""Floats in one intermediate array (32 MB) of a measure that has no compiled loop; it keeps a handful at a time."""


def column_sum(values: Floats) -> Floats:
    """Sum each column of `values` (m, R) in row order; returns (R,).

    numpy adds a lone column pairwise and several columns row by row, which differ in the last bit. A result must not
    depend on how many resamples are evaluated together, so a lone column is added row by row as well.
    """
    if values.shape[0] == 0:
        return np.zeros(values.shape[1])
    if values.shape[1] == 1:
        return np.asarray(np.cumsum(values, axis=0)[-1], dtype=np.float64)
    return np.asarray(values.sum(axis=0), dtype=np.float64)


def ratio(numerator: Floats | Ints, denominator: Floats | Ints) -> Floats:
    """Divide elementwise; NaN where the denominator is not positive, which is how "undefined" is written here."""
    undefined = np.full(np.shape(denominator), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator > 0))


def in_strips(evaluate: Callable[[Weights], Floats], tile: Weights, height: int) -> Floats:
    """Evaluate a tile (n_groups, R) a strip of columns at a time, so that arrays of `height` rows stay small."""
    width = max(1, STRIP_FLOATS // max(height, 1))
    return np.concatenate([evaluate(tile[:, at : at + width]) for at in range(0, tile.shape[1], width)], axis=-1)
