"""Agreement beyond chance: Cohen's kappa of two raters, Fleiss' kappa of several."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Floats, ratio


def cohen_kappa(counts: Floats) -> Floats:
    """1 - disagreement / disagreement expected of independent raters, from counts (..., K, K); values (...).

    counts: one rater's category down, the other's across. NaN where no disagreement is expected: no rows, or both
    raters give one and the same category throughout. Cohen, "A coefficient of agreement for nominal scales" (1960).
    Raises ValueError unless the last two axes are a square of counts that are not negative.
    """
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2]:
        raise ValueError(f"counts of two raters must be a square of their categories, got shape {counts.shape}")
    _check_counts(counts)
    total = counts.sum(axis=(-2, -1))
    agreed = np.trace(counts, axis1=-2, axis2=-1)
    # Of the squared total, so that whole counts stay exact and nought is nought.
    by_chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    return np.asarray(1 - ratio((total - agreed) * total, total**2 - by_chance))


def fleiss_kappa(counts: Floats) -> float:
    """Agreement of several raters per item beyond chance, from counts (N, K) of each item's ratings by category.

    Every item has the same number of ratings, two or more; the raters may be others from item to item. NaN without
    items, and where all ratings are of one category. Fleiss, "Measuring nominal scale agreement among many raters"
    (1971). Raises ValueError on another shape, on counts that are negative, and on unlike numbers of ratings.
    """
    if counts.ndim != 2:
        raise ValueError(f"counts must be items by categories, got shape {counts.shape}")
    _check_counts(counts)
    if not counts.size:
        return float("nan")
    ratings = counts.sum(axis=1)
    raters = float(ratings[0])
    if ratings.min() != ratings.max() or raters < 2:
        raise ValueError(
            f"every item needs the same number of ratings, at least 2, got {ratings.min():g} to {ratings.max():g}"
        )
    share = counts.sum(axis=0) / ratings.sum()
    if np.count_nonzero(share) < 2:
        return float("nan")
    observed = float(np.mean((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))))
    expected = float((share**2).sum())
    return (observed - expected) / (1 - expected)


def _check_counts(counts: Floats) -> None:
    if counts.size and not (np.isfinite(counts).all() and counts.min() >= 0):
        raise ValueError(f"counts must be finite and not negative, got {counts.min()}")
