"""Agreement: of annotators beyond chance, of metrics on the same rows, and of two rankings of the same systems."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metaeval.stats import arrays
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.resampling import Prepared, Tile, value
from metaeval.stats.ties import midranks


def cohen_kappa(counts: Floats, distance: Floats | None = None) -> Floats:
    """Return Cohen's kappa (...), 1 - observed / expected mean distance, from counts (..., K, K).

    counts: items by one annotator's category and the other's. distance: (K, K) of two categories, such as |i - j|
    (linear weights) or (i - j)^2 (quadratic); None: 1 between any two. NaN where no distance is expected: no items, or
    both give one and the same category throughout. Cohen, "A coefficient of agreement for nominal scales" (1960),
    "Weighted kappa" (1968). Raises ValueError unless the last two axes are a square of counts that are not negative.
    """
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2]:
        raise ValueError(f"counts of two raters must be a square of their categories, got shape {counts.shape}")
    _check_counts(counts)
    apart = 1 - np.eye(*counts.shape[-2:]) if distance is None else distance
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    # Both are times the squared total, so that whole counts stay exact and nought is nought.
    observed = (apart * counts).sum(axis=(-2, -1)) * rows.sum(axis=-1)
    expected = (apart * rows[..., :, None] * columns[..., None, :]).sum(axis=(-2, -1))
    return np.asarray(1 - arrays.ratio(observed, expected))


def fleiss_by_groups(counts: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return Fleiss' kappa as a function of group weights: (R,), a group of weight w counting as w copies of its items.

    counts: (N, K) of each item's ratings by category. group: (N,) codes. Every item has the same number of ratings, two
    or more; the annotators may differ from item to item. NaN without items, and where all ratings are of one category.
    Fleiss, "Measuring nominal scale agreement among many raters" (1971). Raises ValueError on another shape, on
    negative counts, and on different numbers of ratings.
    """
    if counts.ndim != 2:
        raise ValueError(f"counts must be items by categories, got shape {counts.shape}")
    _check_counts(counts)
    ratings = counts.sum(axis=1)
    raters = float(ratings.max(initial=2.0))
    if counts.size and not ratings.min() == ratings.max() >= 2:
        raise ValueError(
            f"every item needs the same number of ratings, at least 2, got {ratings.min():g} to {ratings.max():g}"
        )
    pairs = (counts * (counts - 1)).sum(axis=1)
    columns = (pairs, np.ones(len(counts)), *counts.T)
    sums = np.stack([arrays.group_totals(column, group, n_groups) for column in columns], axis=1)

    def evaluate(tile: Tile) -> Floats:
        agreed, items, *of_kind = arrays.weighted_sums(sums, tile)
        shares = [arrays.ratio(kind, items * raters) for kind in of_kind]
        chance = 1 - arrays.column_sum(np.array(shares).reshape(len(shares), tile.shape[1]) ** 2)
        varied = np.sum([kind > 0 for kind in of_kind], axis=0) > 1
        disagreed = 1 - arrays.ratio(agreed, items * raters * (raters - 1))
        return 1 - arrays.ratio(disagreed, np.where(varied, chance, 0.0))

    return Prepared(evaluate, int(np.unique(group).size))


def _check_counts(counts: Floats) -> None:
    if counts.size and not (np.isfinite(counts).all() and counts.min() >= 0):
        raise ValueError(f"counts must be finite and not negative, got {counts.min()}")


Distance = Literal["nominal", "interval"]


def _check_matrix(values: Floats, what: str) -> None:
    if values.ndim != 2:
        raise ValueError(f"{what}, got shape {values.shape}")
    if np.isinf(values).any():
        raise ValueError(f"{what}, finite or NaN, got an infinity")


def krippendorff_alpha(ratings: Floats, distance: Distance) -> float:
    """Return Krippendorff's alpha, 1 - observed / expected disagreement, from ratings (units, annotators).

    distance: of two ratings, "nominal" is 0 or 1, "interval" their squared difference. A missing rating is NaN; units
    with fewer than two ratings are left out. NaN where no unit has two, and where all ratings are equal, so that no
    disagreement could be expected. Krippendorff, "Content Analysis" (4th ed. 2019), chapter 12. Raises ValueError
    unless the ratings have two axes and are finite where they are not NaN.
    """
    return value(alpha_by_groups(ratings, np.zeros(len(ratings), dtype=np.int64), 1, distance), 1)


def alpha_by_groups(ratings: Floats, group: Ints, n_groups: int, distance: Distance) -> Prepared:
    """Return Krippendorff's alpha as a function of group weights: (R,); weight w counts as w copies of the units.

    group: (units,) codes. NaN and ValueError as for `krippendorff_alpha`; ValueError also for codes of another length.
    """
    _check_matrix(ratings, "ratings must be units by raters")
    arrays.check_lengths(units=np.arange(len(ratings)), group=group)
    arrays.check_codes("group", group, n_groups)
    there = ~np.isnan(ratings)
    paired = there.sum(axis=1) >= 2
    ratings, there, group = ratings[paired], there[paired], group[paired]
    number = there.sum(axis=1)
    # Centred, so that the difference of the two sums below does not cancel.
    centred = np.where(there, ratings - (ratings[there].mean() if paired.any() else 0.0), 0.0)
    known, owner = ratings[there], np.broadcast_to(group[:, None], ratings.shape)[there]
    ends = arrays.group_ends(known, owner, n_groups)
    kinds = np.unique(known) if distance == "nominal" else known[:0]
    of_kinds = [arrays.group_totals((known == kind).astype(np.float64), owner, n_groups) for kind in kinds]
    # The sum over ordered pairs of ratings in a unit counts each of its ratings number - 1 times.
    if distance == "nominal":
        equal = [((ratings == kind) & there).sum(axis=1) ** 2 for kind in kinds]
        within = number**2 - np.sum(equal, axis=0)
    else:
        deviation = np.where(there, centred - (centred.sum(axis=1) / number)[:, None], 0.0)
        within = 2 * number * (deviation**2).sum(axis=1)
    observed = within / (number - 1)
    rows = (observed, number.astype(np.float64), centred.sum(axis=1), (centred**2).sum(axis=1))
    sums = np.stack([*(arrays.group_totals(row, group, n_groups) for row in rows), *of_kinds], axis=1)

    def evaluate(tile: Tile) -> Floats:
        disagreement, total, first, second, *of_kind = arrays.weighted_sums(sums, tile)
        everything = 2 * (total * second - first**2)
        if distance == "nominal":
            everything = total**2 - arrays.column_sum(np.array(of_kind).reshape(len(of_kind), tile.shape[1]) ** 2)
        # Observed is over all ratings, expected over all their ordered pairs.
        return 1 - arrays.ratio(disagreement * (total - 1), np.where(arrays.varies(ends, tile > 0), everything, 0.0))

    return Prepared(evaluate, int(np.unique(group).size))


def rank_correlation_matrix(scores: Floats) -> Floats:
    """Return the Spearman correlation of each pair of m metrics, (m, m), from scores (m, n) with NaN if missing.

    Each pair is ranked on the rows that both have scored. NaN where either is constant there, on the diagonal too.
    Agrees with scipy's `spearmanr` on complete rows. Raises ValueError on infinity or if scores are not (m, n).
    """
    _check_matrix(scores, "scores must be a matrix of metrics by rows")
    scored = ~np.isnan(scores)
    m = scores.shape[0]
    matrix = np.full((m, m), np.nan)
    # The ranks of a metric are the same for every partner with the same rows; with no row missing each is ranked once.
    complete = [_unit_ranks(row) if mask.all() else None for row, mask in zip(scores, scored, strict=True)]
    for i in range(m):
        for j in range(i, m):
            first, other = complete[i], complete[j]
            if first is None or other is None:
                both = scored[i] & scored[j]
                first, other = _unit_ranks(scores[i, both]), _unit_ranks(scores[j, both])
            matrix[i, j] = matrix[j, i] = np.clip(first @ other, -1, 1)
    return matrix


def _unit_ranks(values: Floats) -> Floats:
    """Return the midranks (n,) centred and scaled to length 1; NaN if all values are equal or there are none."""
    if values.size < 2 or values.min() == values.max():
        return np.full(values.size or 1, np.nan)
    centred = midranks(values) - (values.size + 1) / 2
    return np.asarray(centred / np.linalg.norm(centred))


_ROUNDING = 1e-12


def pair_signs(values: Floats) -> Floats:
    """Return the sign of value[i] - value[j] for each pair of m systems, i < j, (m (m - 1) / 2, R); values: (m, R).

    Values that differ by no more than rounding count as tied. NaN where either value is. Raises ValueError if values
    are not (m, R) or hold an infinity.
    """
    _check_matrix(values, "values must be systems by resamples")
    first, second = np.triu_indices(values.shape[0], 1)
    difference = values[first] - values[second]
    # The same mean, summed over other rows, can differ in the last bits.
    tied = np.abs(difference) <= _ROUNDING * np.maximum(np.abs(values[first]), np.abs(values[second]))
    return np.where(tied, 0.0, np.sign(difference))


def rank_agreement(first: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return Kendall's tau-b of the two rankings, and the number of pairs that they order in opposite ways; (R,) each.

    first, other: (m, R) values of m systems under each weighting, higher is better. A tie in either is not a flip. Both
    results are NaN where a value is; tau, scipy's `kendalltau`, also where either ranking ties all systems. Raises
    ValueError if the shapes differ or are not (m, R).
    """
    if first.shape != other.shape:
        raise ValueError(f"both rankings must be of the same systems, got shapes {first.shape} and {other.shape}")
    signs, others = pair_signs(first), pair_signs(other)
    product = signs * others
    # The square root of a product of counts, not the product of two roots: equal rankings then give exactly 1.
    norm = np.sqrt((signs**2).sum(axis=0) * (others**2).sum(axis=0))
    undefined = np.isnan(product).any(axis=0)
    tau = np.where(undefined, np.nan, arrays.ratio(product.sum(axis=0), np.nan_to_num(norm)))
    return tau, np.where(undefined, np.nan, (product < 0).sum(axis=0))
