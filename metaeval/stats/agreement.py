"""How alike the metrics rank the same rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from metaeval.stats.resample_sums import Floats


def rank_correlation_matrix(scores: Floats) -> Floats:
    """Spearman correlation of each two of m metrics, (m, m), from scores (m, n) with NaN where a row has no score.

    Each pair is ranked on the rows that both have scored. NaN where either is constant there, on the diagonal too.
    Agrees with scipy's `spearmanr` on complete rows. Raises ValueError on infinity or if scores are not (m, n).
    """
    if scores.ndim != 2:
        raise ValueError(f"scores must be a matrix of metrics by rows, got shape {scores.shape}")
    if np.isinf(scores).any():
        raise ValueError("scores must be finite or NaN, got an infinity")
    scored = ~np.isnan(scores)
    m = scores.shape[0]
    matrix = np.full((m, m), np.nan)
    # The ranks of a metric are the same for every partner with the same rows; with no row missing each is ranked once.
    complete = [_unit_ranks(row) if mask.all() else None for row, mask in zip(scores, scored, strict=True)]
    for i in range(m):
        for j in range(i, m):
            one, other = complete[i], complete[j]
            if one is None or other is None:
                both = scored[i] & scored[j]
                one, other = _unit_ranks(scores[i, both]), _unit_ranks(scores[j, both])
            matrix[i, j] = matrix[j, i] = np.clip(one @ other, -1, 1)
    return matrix


def _unit_ranks(values: Floats) -> Floats:
    """Midranks (n,) centred and scaled to length 1; NaN if all values are equal or there are none."""
    if values.size < 2 or values.min() == values.max():
        return np.full(values.size or 1, np.nan)
    centred = rankdata(values) - (values.size + 1) / 2
    return np.asarray(centred / np.linalg.norm(centred))
