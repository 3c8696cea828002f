"""Krippendorff's alpha: agreement of any number of raters, ratings missing or not."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metaeval.stats.columns import Floats

Distance = Literal["nominal", "interval"]


def krippendorff_alpha(ratings: Floats, distance: Distance) -> float:
    """1 - observed / expected disagreement, from ratings (units, raters) with NaN where a rater gave none.

    distance: of two ratings, "nominal" is 0 or 1, "interval" their squared difference. Units with fewer than two
    ratings say nothing and are left out. NaN where no unit has two, and where all ratings are equal, so that no
    disagreement could be expected. Krippendorff, "Content Analysis" (4th ed. 2019), chapter 12.
    Raises ValueError unless the ratings have two axes and are finite where they are not NaN.
    """
    if ratings.ndim != 2:
        raise ValueError(f"ratings must be units by raters, got shape {ratings.shape}")
    if np.isinf(ratings).any():
        raise ValueError("ratings must be finite, or NaN where there is none, got an infinity")
    there = ~np.isnan(ratings)
    paired = there.sum(axis=1) >= 2
    ratings, there = ratings[paired], there[paired]
    if not ratings.size:
        return float("nan")
    values = ratings[there]
    if values.min() == values.max():
        return float("nan")
    number = there.sum(axis=1)
    # The sum over ordered pairs of ratings in a unit counts each of its ratings number - 1 times.
    observed = float((_within(ratings, there, distance) / (number - 1)).sum()) / int(values.size)
    everything = _within(values[None, :], np.ones((1, values.size), dtype=np.bool_), distance)
    expected = float(everything[0]) / int(values.size * (values.size - 1))
    return 1 - observed / expected


def _within(ratings: Floats, there: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], distance: Distance) -> Floats:
    """Sum of the distances over ordered pairs of ratings in each row; (units,)."""
    number = there.sum(axis=1)
    if distance == "nominal":
        equal = [((ratings == value) & there).sum(axis=1) ** 2 for value in np.unique(ratings[there])]
        return np.asarray(number**2 - np.sum(equal, axis=0), dtype=np.float64)
    # Centred, so that the difference of the two sums does not cancel.
    filled = np.where(there, ratings, 0.0)
    centred = np.where(there, ratings - (filled.sum(axis=1) / number)[:, None], 0.0)
    return np.asarray(2 * number * (centred**2).sum(axis=1), dtype=np.float64)
