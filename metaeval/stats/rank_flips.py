"""How far two rankings of the same systems agree: Kendall's tau-b, and the pairs of systems that change order."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Floats, ratio

_ROUNDING = 1e-12


def pair_signs(values: Floats) -> Floats:
    """Sign of value[i] - value[j] of every two of m systems, i < j, (m (m - 1) / 2, R), from values (m, R).

    Values that differ by no more than rounding count as tied. NaN where either value is. Raises ValueError if values
    are not (m, R) or hold an infinity.
    """
    if values.ndim != 2:
        raise ValueError(f"values must be systems by resamples, got shape {values.shape}")
    if np.isinf(values).any():
        raise ValueError("values must be finite or NaN, got an infinity")
    first, second = np.triu_indices(values.shape[0], 1)
    difference = values[first] - values[second]
    # The same mean, summed over other rows, can differ in the last bits.
    tied = np.abs(difference) <= _ROUNDING * np.maximum(np.abs(values[first]), np.abs(values[second]))
    return np.where(tied, 0.0, np.sign(difference))


def rank_agreement(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Kendall's tau-b of the two rankings, and the number of pairs that they order in opposite ways; (R,) each.

    one, other: (m, R) values of m systems under each weighting, higher is better. A tie in either is no flip. Both are
    NaN where a value is; tau is NaN also where either ranking ties all systems. Agrees with scipy's `kendalltau`.
    Raises ValueError if the shapes differ or are not (m, R).
    """
    if one.shape != other.shape:
        raise ValueError(f"both rankings must be of the same systems, got shapes {one.shape} and {other.shape}")
    signs, others = pair_signs(one), pair_signs(other)
    product = signs * others
    # The square root of a product of counts, not the product of two roots: equal rankings then give exactly 1.
    norm = np.sqrt((signs**2).sum(axis=0) * (others**2).sum(axis=0))
    undefined = np.isnan(product).any(axis=0)
    tau = np.where(undefined, np.nan, ratio(product.sum(axis=0), np.nan_to_num(norm)))
    return tau, np.where(undefined, np.nan, (product < 0).sum(axis=0))
