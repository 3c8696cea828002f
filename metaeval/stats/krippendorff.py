r"""Krippendorff's alpha: agreement of any number of raters, ratings missing or not, and under group weights."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metaeval.stats.resample_sums import Bools, Floats, Ints, column_sum, ratio
from metaeval.stats.resampling import Prepared, Tile, value
from metaeval.stats.rows import check_codes, check_lengths
from metaeval.stats.sums import group_totals, weighted_sums

Distance = Literal["nominal", "interval"]


def krippendorff_alpha(ratings: Floats, distance: Distance) -> float:
    """1 - observed / expected disagreement, from ratings (units, raters) with NaN where a rater gave none.

    distance: of two ratings, "nominal" is 0 or 1, "interval" their squared difference. Units with fewer than two
    ratings say nothing and are left out. NaN where no unit has two, and where all ratings are equal, so that no
    disagreement could be expected. Krippendorff, "Content Analysis" (4th ed. 2019), chapter 12.
    Raises ValueError unless the ratings have two axes and are finite where they are not NaN.
    """
    return value(alpha_by_groups(ratings, np.zeros(len(ratings), dtype=np.int64), 1, distance), 1)


def alpha_by_groups(ratings: Floats, group: Ints, n_groups: int, distance: Distance) -> Prepared:
    """Krippendorff's alpha under group weights, exactly as if units were repeated; group: (units,) codes.

    Undefined as `krippendorff_alpha`, which raises ValueError for the same; so do group codes of another length.
    """
    if ratings.ndim != 2:
        raise ValueError(f"ratings must be units by raters, got shape {ratings.shape}")
    if np.isinf(ratings).any():
        raise ValueError("ratings must be finite, or NaN where there is none, got an infinity")
    check_lengths(units=np.arange(len(ratings)), group=group)
    check_codes("group", group, n_groups)
    there = ~np.isnan(ratings)
    paired = there.sum(axis=1) >= 2
    ratings, there, group = ratings[paired], there[paired], group[paired]
    number = there.sum(axis=1)
    # Centred, so that the difference of the two sums below does not cancel.
    centred = np.where(there, ratings - (ratings[there].mean() if paired.any() else 0.0), 0.0)
    known, owner = ratings[there], np.broadcast_to(group[:, None], ratings.shape)[there]
    lowest, highest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(lowest, owner, known)
    np.maximum.at(highest, owner, known)
    kinds = np.unique(known) if distance == "nominal" else known[:0]
    of_kinds = [group_totals((known == kind).astype(np.float64), owner, n_groups) for kind in kinds]
    # The sum over ordered pairs of ratings in a unit counts each of its ratings number - 1 times.
    observed = _within(centred, ratings, there, distance) / np.maximum(number - 1, 1)
    rows = (observed, number.astype(np.float64), centred.sum(axis=1), (centred**2).sum(axis=1))
    sums = np.stack([*(group_totals(row, group, n_groups) for row in rows), *of_kinds], axis=1)

    def evaluate(tile: Tile) -> Floats:
        disagreement, total, first, second, *of_kind = weighted_sums(sums, tile)
        everything = 2 * (total * second - first**2)
        if distance == "nominal":
            everything = total**2 - column_sum(np.array(of_kind).reshape(len(of_kind), tile.shape[1]) ** 2)
        low, high = (np.where(tile > 0, ends[:, None], -sign * np.inf) for ends, sign in ((lowest, -1), (highest, 1)))
        varied: Bools = low.min(axis=0, initial=np.inf) < high.max(axis=0, initial=-np.inf)
        # Observed is over all ratings, expected over all their ordered pairs.
        return 1 - ratio(disagreement * (total - 1), np.where(varied, everything, 0.0))

    return Prepared(evaluate, int(np.unique(group).size))


def _within(centred: Floats, ratings: Floats, there: Bools, distance: Distance) -> Floats:
    """Sum of the distances over ordered pairs of ratings in each unit; (units,)."""
    number = there.sum(axis=1)
    if distance == "nominal":
        equal = [((ratings == kind) & there).sum(axis=1) ** 2 for kind in np.unique(ratings[there])]
        return np.asarray(number**2 - np.sum(equal, axis=0), dtype=np.float64)
    own = np.where(there, centred - (centred.sum(axis=1) / np.maximum(number, 1))[:, None], 0.0)
    return np.asarray(2 * number * (own**2).sum(axis=1), dtype=np.float64)
