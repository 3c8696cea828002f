"""p-values of many comparisons, adjusted for their number."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Floats


def holm(p: Floats) -> Floats:
    """Adjust p-values (m,) by Holm's step-down method, which bounds the chance of even one false rejection; (m,).

    The order is that of the input. NaN stays NaN and is not counted in m. Holm, "A simple sequentially rejective
    multiple test procedure" (1979); agrees with statsmodels' `multipletests(method="holm")`. Raises ValueError unless
    each p lies in 0 .. 1.
    """
    _check(p)
    adjusted, defined = p.copy(), np.flatnonzero(~np.isnan(p))
    ascending = defined[np.argsort(p[defined], kind="stable")]
    stepped = p[ascending] * np.arange(ascending.size, 0, -1)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(stepped), 1)
    return adjusted


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust p-values (m,) by Benjamini and Hochberg's method, which bounds the share of false rejections; (m,).

    The order is that of the input. NaN stays NaN and is not counted in m. "Controlling the false discovery rate"
    (1995); agrees with statsmodels' `multipletests(method="fdr_bh")`. Raises ValueError unless each p lies in 0 .. 1.
    """
    _check(p)
    adjusted, defined = p.copy(), np.flatnonzero(~np.isnan(p))
    ascending = defined[np.argsort(p[defined], kind="stable")]
    stepped = p[ascending] / (np.arange(1, ascending.size + 1) / max(ascending.size, 1))
    adjusted[ascending] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1)
    return adjusted


def _check(p: Floats) -> None:
    if p.ndim != 1:
        raise ValueError(f"p-values must be a vector, got shape {p.shape}")
    outside = p[(p < 0) | (p > 1)]
    if outside.size:
        raise ValueError(f"a p-value must lie in 0 .. 1, got {outside[0]}")
