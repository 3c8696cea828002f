"""Significance clusters: a ranking that only separates what a test separates."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Bools, Floats, Ints


def significance_clusters(value: Floats, significant: Bools) -> Ints:
    """Cluster number of each metric, (m,): 1 is the best, 0 an undefined (NaN) value.

    value: (m,), higher is better. significant: (m, m), symmetric, True where two metrics differ. The rule of the WMT
    metrics shared tasks (2022 on): go down from the best; a metric that differs from any metric of the current
    cluster opens the next one. Two metrics of different clusters need not differ. Equal values keep their order.
    Raises ValueError if the shapes do not fit or `significant` is not symmetric.
    """
    if significant.shape != (value.size, value.size) or value.ndim != 1:
        raise ValueError(f"{value.size} values need a square of their comparisons, got shape {significant.shape}")
    if not np.array_equal(significant, significant.T):
        raise ValueError("significance must be symmetric: whether a differs from b is whether b differs from a")
    cluster = np.zeros(value.size, dtype=np.int64)
    current: list[int] = []
    number = 1
    for metric in np.argsort(-value, kind="stable"):
        if np.isnan(value[metric]):
            continue
        if significant[metric, current].any():
            number += 1
            current = []
        current.append(int(metric))
        cluster[metric] = number
    return cluster
