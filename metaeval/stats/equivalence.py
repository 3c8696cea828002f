"""Are two metrics as good as each other? Not the same as "no difference was found"."""

from __future__ import annotations

import math

from scipy.stats import norm

from metaeval.stats.intervals import percentile_interval
from metaeval.stats.resample_sums import Floats


def tost(difference: float, standard_error: float, margin: float) -> float:
    """Two one-sided z-tests against -margin and +margin; p of "they differ by the margin or more", the larger of both.

    Schuirmann, "A comparison of the two one-sided tests procedure and the power approach" (1987). NaN if the
    difference or its standard error is NaN. Raises ValueError unless margin and standard error are positive.
    """
    _check_margin(margin)
    if standard_error <= 0:
        raise ValueError(f"the standard error must be positive, got {standard_error}")
    if math.isnan(difference) or math.isnan(standard_error):
        return math.nan
    above = norm.sf((difference + margin) / standard_error)
    below = norm.cdf((difference - margin) / standard_error)
    return float(max(above, below))


def equivalent_within(replicates: Floats, margin: float, alpha: float = 0.05) -> bool | None:
    """Whether the 1 - 2 alpha percentile interval of bootstrap differences (R,) lies inside -margin .. margin.

    The interval form of two one-sided tests at alpha. None where the interval is undefined. Raises ValueError unless
    margin is positive and 0 < alpha < 0.5.
    """
    _check_margin(margin)
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, got {alpha}")
    interval = percentile_interval(replicates, 1 - 2 * alpha)
    if interval is None:
        return None
    return -margin < interval[0] and interval[1] < margin


def _check_margin(margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"the margin must be positive, got {margin}")
