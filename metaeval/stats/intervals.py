"""Bootstrap intervals from replicated values."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from metaeval.stats.resample_sums import Floats


def percentile_interval(values: Floats, level: float) -> tuple[float, float] | None:
    """Percentile interval at `level` of the defined `values` (R,); None if none or fewer than half are defined.

    Quantiles interpolate linearly. Raises ValueError unless 0 < level < 1.
    """
    _check(level)
    return _quantiles(values, (1 - level) / 2, (1 + level) / 2)


def bca_interval(values: Floats, point: float, left_out: Floats, level: float) -> tuple[float, float] | None:
    """Bias-corrected and accelerated interval (Efron 1987) at `level`; None where it is undefined.

    values: (R,) resampled values. point: the value on the input. left_out: (G,) values without each group in turn,
    whose skewness gives the acceleration. Undefined where fewer than half of either are defined, or where all
    resampled values lie on one side of the point. With groups of one row it is scipy's `bootstrap(method="BCa")`.
    """
    _check(level)
    defined, jack = values[~np.isnan(values)], left_out[~np.isnan(left_out)]
    if 2 * jack.size < left_out.size or not defined.size or not jack.size:
        return None
    below = (np.mean(defined < point) + np.mean(defined <= point)) / 2
    if not 0 < below < 1:
        # All resamples alike (an oracle): the interval is that one value.
        return (float(point), float(point)) if np.ptp(defined) == 0 and defined[0] == point else None
    bias = ndtri(below)
    spread = jack.mean() - jack
    scale = float(np.sum(spread**2)) ** 1.5
    acceleration = float(np.sum(spread**3)) / (6 * scale) if scale > 0 else 0.0
    wanted = bias + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    low, high = ndtr(bias + wanted / (1 - acceleration * wanted))
    return _quantiles(values, float(low), float(high))


def _check(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"the interval's level must lie between 0 and 1, got {level}")


def _quantiles(values: Floats, low: float, high: float) -> tuple[float, float] | None:
    defined = values[~np.isnan(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None
    ends = np.quantile(defined, [low, high])
    return float(ends[0]), float(ends[1])
