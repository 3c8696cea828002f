"""Correlations as functions of group weights: over all rows, and inside strata.

A stratum is, for example, the system that wrote the statements. A metric that only knows good systems from bad ones
correlates with the gold over all rows and not inside a system. Taking out a mean per stratum is the partial correlation
with one dummy variable per stratum as covariates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from metaeval.stats import arrays
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.rank_counts import Orders, count_orders, group_totals_of
from metaeval.stats.resampling import Prepared, Tile
from metaeval.stats.ties import block_sizes, centred_midranks, sorted_by_level, tie_blocks

SUSPICIOUS = 1e-10
"""A spread below this share of the sum of squares, or residuals below this share of the values, may be rounding."""


def pearson(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return Pearson's correlation of score and gold, (n,) each, as a function of group weights: (R,).

    group: (n,) codes. NaN where the score or the gold is constant. Agrees with scipy's `pearsonr` on repeated rows.
    Base paper, section 3.2.1. Raises ValueError for NaN, infinity or columns of different lengths.
    """
    arrays.check_rows(score, gold, group, n_groups)
    x, y = _centred(score), _centred(gold)
    columns = (np.ones_like(x), x, y, x * x, y * y, x * y)
    moments = np.stack([arrays.group_totals(values, group, n_groups) for values in columns], axis=1)
    ends = cache(lambda: [arrays.group_ends(values, group, n_groups) for values in (score, gold)])

    def evaluate(tile: Tile) -> Floats:
        sums = [total[None] for total in arrays.weighted_sums(moments, tile)]
        return _pearson_of_moments(
            sums, lambda some: np.logical_and(*(arrays.varies(pair, tile[:, some] > 0) for pair in ends()))
        )

    def left_out() -> Floats:
        sums = [total[None] for total in arrays.left_out_sums(moments)]
        return _pearson_of_moments(sums, lambda some: np.logical_and(*map(arrays.varies_without, ends()))[some])

    return Prepared(evaluate, arrays.distinct(group).size, left_out)


def _pearson_of_moments(sums: Sequence[Floats], vary: Callable[[Bools], Bools]) -> Floats:
    """Return the pooled within-stratum Pearson correlation of x and y under R weightings, (R,); NaN if constant.

    sums: number of rows, sums of x, y, x * x, y * y and x * y, (n_strata, R) each. vary: from a mask (R,) of weightings
    to whether, under each of these, both columns vary in some stratum.
    """
    n, sx, sy, sxx, syy, sxy = sums
    rows = np.maximum(n, 1)
    x_spread, y_spread = arrays.column_sum(sxx - sx * sx / rows), arrays.column_sum(syy - sy * sy / rows)
    # The spread of a constant column is rounding noise, not 0: there constancy is read from the ends instead.
    doubtful = (x_spread <= SUSPICIOUS * arrays.column_sum(sxx)) | (y_spread <= SUSPICIOUS * arrays.column_sum(syy))
    defined = ~doubtful
    if doubtful.any():
        defined[doubtful] = vary(doubtful)
    spread = np.sqrt(np.maximum(x_spread, 0)) * np.sqrt(np.maximum(y_spread, 0))
    return np.clip(arrays.ratio(arrays.column_sum(sxy - sx * sy / rows), np.where(defined, spread, 0)), -1, 1)


def _centred(values: Floats) -> Floats:
    """Return values (n,) minus their median, scaled by powers of two: sums of squares neither cancel nor overflow.

    The mean lies within one standard deviation of the median, so at most one bit is lost when the mean is taken out
    later; and one wild value, which could drag the mean far from all others, leaves the median where it is. Scaling by
    a power of two is exact and leaves r as it is.
    """
    if values.size == 0:
        return values
    unit = arrays.scaled(values)
    return arrays.scaled(unit - np.median(unit))


def rank_correlations(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return Spearman's rho and Kendall's tau-b of score and gold, (n,) each, as a function of group weights: (2, R).

    With weights 1 they are scipy's `spearmanr` and `kendalltau`. A group of weight w is w copies for rho; for tau-b its
    inner pairs count w times, and its copies are not paired. NaN where the score or the gold is constant. Base paper,
    section 3.2.1. Raises ValueError for NaN, infinity or columns of different lengths.
    """
    return _of_orders(score, gold, group, n_groups, lambda orders: np.stack((orders.spearman(), orders.kendall())))


def concordance(score: Floats, gold: Floats, group: Ints, n_groups: int) -> Prepared:
    """Return the share of pairs of different gold whose higher gold scores higher, ties 1/2, by group weights: (R,).

    score, gold, group: (n,). With two gold values it is ROC-AUC, for survival times without censoring Harrell's C. NaN
    where the gold is constant. Raises ValueError for NaN, infinity or columns of different lengths.
    """
    return _of_orders(score, gold, group, n_groups, Orders.concordance)


def _of_orders(
    score: Floats, gold: Floats, group: Ints, n_groups: int, coefficients: Callable[[Orders], Floats]
) -> Prepared:
    """Return a function of pair counts, (R,) or (K, R), as one of group weights."""
    arrays.check_rows(score, gold, group, n_groups)
    count = cache(lambda: count_orders(score, gold, group, n_groups))

    def left_out() -> Floats:
        entries, n_levels = sorted_by_level(score, gold, group, n_groups)
        return coefficients(group_totals_of(entries, n_levels, n_groups).orders())[..., 1:]

    return Prepared(lambda tile: coefficients(count()(tile)), arrays.distinct(group).size, left_out)


RESIDUAL_TIES = 1e-9
"""Residuals this close, as a share of the largest, are tied when they are ranked: rounding must not order them."""


def within_strata(values: Floats, stratum: Ints) -> Floats:
    """Return each of `values` (n,) minus the mean of its stratum, exactly 0 in a constant stratum; (n,).

    stratum: (n,) codes. Raises ValueError for NaN, infinity or columns of different lengths.
    """
    arrays.check_lengths(values=values, stratum=stratum)
    arrays.check_finite("values", values)
    if values.size == 0:
        return values
    code, n_strata = arrays.numbered(stratum)
    # Taking one of its own values off a stratum first keeps small differences of large values.
    first = np.empty(n_strata)
    first[code[::-1]] = values[::-1]
    shifted = values - first[code]
    mean = np.bincount(code, weights=shifted) / np.bincount(code)
    return np.asarray(shifted - mean[code])


def partial_correlation(
    score: Floats, gold: Floats, stratum: Ints, group: Ints, n_groups: int, ranks: bool
) -> Prepared:
    """Return the partial correlation of score and gold given the stratum, as a function of group weights: (R,).

    It is Pearson's r of both, (n,), minus their stratum's means. ranks: of their midranks among all rows (not in a
    stratum), recomputed under each weighting. NaN where the score or the gold varies in no stratum. Raises ValueError
    on NaN, infinity or columns of unlike length.
    """
    arrays.check_rows(score, gold, group, n_groups)
    arrays.check_lengths(score=score, stratum=stratum)
    if not score.size:
        return Prepared(lambda tile: np.full(tile.shape[1], np.nan), 0)
    code, n_strata = arrays.numbered(stratum)
    strata = cache(lambda: [_StratumVariation(values, code, n_strata, group, n_groups) for values in (score, gold)])
    of_columns = _rank_moments if ranks else _value_moments
    moments, height, without = of_columns(score, gold, code, n_strata, group, n_groups)

    def evaluate(tile: Tile) -> Floats:
        return _pearson_of_moments(
            moments(tile), lambda some: np.logical_and(*(values.vary(tile[:, some]) for values in strata()))
        )

    def by_tiles(tile: Tile) -> Floats:
        return arrays.in_strips(evaluate, tile, height)

    if without is None:
        return Prepared(by_tiles, arrays.distinct(group).size)
    vary = cache(lambda: np.logical_and(*(values.vary_without() for values in strata())))

    def strip(groups: slice) -> Floats:
        return _pearson_of_moments(without(groups), lambda some: vary()[groups][some])

    def left_out() -> Floats:
        return np.concatenate([*map(strip, arrays.strips(n_groups, n_strata))])

    return Prepared(by_tiles, arrays.distinct(group).size, left_out)


def residual_correlation(score: Floats, gold: Floats, stratum: Ints, group: Ints, n_groups: int) -> Prepared:
    """Return Spearman's rho of score and gold minus their stratum's means, as a function of group weights: (R,).

    score, gold, stratum, group: (n,). Here means are subtracted before ranking, in `partial_correlation` after it; each
    weighting has its own means, so residuals are sorted again. NaN where the score or the gold varies in no stratum.
    Raises ValueError as `partial_correlation`.
    """
    arrays.check_rows(score, gold, group, n_groups)
    arrays.check_lengths(score=score, stratum=stratum)

    code, n_strata = arrays.numbered(stratum)
    x, y = arrays.scaled(within_strata(score, code)), arrays.scaled(within_strata(gold, code))

    def one(weights: Tile) -> float:
        drawn = weights[group] > 0
        w, stratum_of = weights[group[drawn]].astype(np.float64), code[drawn]
        sizes = np.maximum(np.bincount(stratum_of, weights=w, minlength=n_strata), 1)
        by_score, by_gold = (_residual_ranks(values[drawn], w, stratum_of, sizes) for values in (x, y))
        # Sums and not dot products, whose last digit depends on where the arrays happen to lie in memory.
        spread = np.sqrt((w * by_score**2).sum()) * np.sqrt((w * by_gold**2).sum())
        return float(np.clip((w * by_score * by_gold).sum() / spread, -1, 1)) if spread > 0 else float("nan")

    def evaluate(tile: Tile) -> Floats:
        return np.array([one(column) for column in tile.T])

    return Prepared(evaluate, arrays.distinct(group).size)


def _residual_ranks(values: Floats, weight: Floats, stratum: Ints, sizes: Floats) -> Floats:
    """Return weighted centred midranks, (m,), of values minus their stratum's mean; zeros if these do not vary."""
    residual = values - (np.bincount(stratum, weights=weight * values, minlength=sizes.size) / sizes)[stratum]
    largest = np.abs(residual).max(initial=0)
    if largest <= SUSPICIOUS * np.abs(values).max(initial=0):
        return np.zeros(values.size)
    block = residual_blocks(residual, largest)
    tied = np.bincount(block, weights=weight)
    return np.asarray((np.cumsum(tied) - tied / 2 - weight.sum() / 2)[block])


def residual_blocks(residual: Floats, largest: float) -> Ints:
    """Return the number of the tie block of each residual, (n,) from 0 for the lowest.

    Neighbours closer than `RESIDUAL_TIES` times `largest`, the largest absolute residual, are in one block.
    """
    order = np.argsort(residual)
    block = np.empty(residual.size, dtype=np.int64)
    block[order] = np.cumsum(np.diff(residual[order], prepend=-np.inf) > RESIDUAL_TIES * largest) - 1
    return block


Moments = Callable[[Tile], tuple[Floats, ...]]
"""Maps group weights (n_groups, R) to the six matrices (n_strata, R) that `_pearson_of_moments` takes."""

Without = Callable[[slice], Sequence[Floats]]
"""Maps a slice of consecutive groups to the moments without each of these groups in turn."""


def _value_moments(
    score: Floats, gold: Floats, code: Ints, n_strata: int, group: Ints, n_groups: int
) -> tuple[Moments, int, Without | None]:
    """Return functions for the moments of every stratum of score (x) and gold (y): (moments, height, without).

    moments: from group weights (n_groups, R) to number of rows, sums of x, y, x * x, y * y and x * y, (n_strata, R)
    each. height: the largest number of rows (first axis) of its intermediate arrays. without: see `Without`.
    """
    # Shifts inside a stratum change no moment about its mean; close to 0 the sums of squares do not cancel.
    x, y = arrays.scaled(within_strata(score, code)), arrays.scaled(within_strata(gold, code))
    index, cell_code, cell_group, strata = _cells(code, n_strata, group, n_groups)
    columns = (np.ones(x.size), x, y, x * x, y * y, x * y)
    of_cells: Floats = np.stack([arrays.group_totals(column, index, cell_code.size) for column in columns], axis=1)

    def moments(tile: Tile) -> tuple[Floats, ...]:
        sums = [arrays.weighted_sums(of_cells[stratum], tile, cell_group[stratum]) for stratum in strata]
        return tuple(np.stack(sums, axis=1))

    def without(groups: slice) -> Sequence[Floats]:
        totals = (arrays.group_totals(column, cell_code, n_strata) for column in of_cells.T)
        cells = (csr_array((column, (cell_group, cell_code)), shape=(n_groups, n_strata)) for column in of_cells.T)
        # A group's strata lie side by side, which is the order in which they are added.
        return [total[:, None] - part[groups].toarray().T for total, part in zip(totals, cells, strict=True)]

    return moments, max(n_groups, n_strata), without


def _cells(code: Ints, n_strata: int, group: Ints, n_groups: int) -> tuple[Ints, Ints, Ints, list[slice]]:
    """Return each row's (stratum, group) cell, (n,), both codes of each cell, (m,), and the slice of each stratum."""
    places = code * n_groups + group
    cell_code, cell_group = np.divmod(arrays.distinct(places), n_groups)
    bounds = np.searchsorted(cell_code, np.arange(n_strata + 1)).tolist()
    return arrays.numbered(places)[0], cell_code, cell_group, [slice(*ends) for ends in pairwise(bounds)]


def _rank_moments(
    score: Floats, gold: Floats, code: Ints, n_strata: int, group: Ints, n_groups: int
) -> tuple[Moments, int, Without | None]:
    """Return a function for moments of midranks among all rows, and its height, as `_value_moments`.

    x and y are the centred midranks of score and gold under the group weights, which every weighting computes anew.
    """
    block, n_blocks = tie_blocks(score)
    level, n_levels = tie_blocks(gold)
    by_score, by_gold = block_sizes(block, group, n_blocks, n_groups), block_sizes(level, group, n_levels, n_groups)
    # One key for two columns is sorted several times faster than the columns.
    by_ranks, by_place = block * n_levels + level, code * n_groups + group
    ranked, placed = arrays.distinct(by_ranks), arrays.distinct(by_place)
    of_ranked, of_placed = arrays.numbered(by_ranks)[0], arrays.numbered(by_place)[0]
    cells, count = np.unique(of_ranked * placed.size + of_placed, return_counts=True)
    cell_ranked, cell_placed = np.divmod(cells, placed.size)
    cell_block, cell_level = np.divmod(ranked[cell_ranked], n_levels)
    cell_code, cell_group = np.divmod(placed[cell_placed], n_groups)
    per_stratum = csr_array(
        (count.astype(np.float64), (cell_code, np.arange(count.size))), shape=(n_strata, count.size)
    )

    def moments(tile: Tile) -> tuple[Floats, ...]:
        weights = tile.astype(np.float64)
        x = centred_midranks(by_score(weights))[cell_block]
        y = centred_midranks(by_gold(weights))[cell_level]
        w = weights[cell_group]
        columns = (w, w * x, w * y, w * x * x, w * y * y, w * x * y)
        return tuple(np.asarray(per_stratum @ column) for column in columns)

    return moments, count.size, None


class _StratumVariation:
    """Tests whether any stratum holds two different `values` (n,); code, group: (n,) stratum and group of each row."""

    def __init__(self, values: Floats, code: Ints, n_strata: int, group: Ints, n_groups: int) -> None:
        index, _, self.group, self.strata = _cells(code, n_strata, group, n_groups)
        self.ends = arrays.group_ends(values, index, self.group.size)
        self.n_groups = n_groups

    def vary(self, weights: Tile) -> Bools:
        """Return whether some stratum's values vary among groups of weight > 0; weights (n_groups, R) -> (R,)."""
        varies = np.zeros(weights.shape[1], dtype=np.bool_)
        for stratum in self.strata:
            varies |= arrays.varies((self.ends[0][stratum], self.ends[1][stratum]), weights[self.group[stratum]] > 0)
        return varies

    def vary_without(self) -> Bools:
        """Return whether some stratum's values still vary without each group in turn, (n_groups,)."""
        strata = 0
        lost = np.zeros(self.group.size)
        for stratum in self.strata:
            lowest, highest = self.ends[0][stratum], self.ends[1][stratum]
            if lowest.min() < highest.max():
                strata += 1
                lost[stratum] = ~arrays.varies_without((lowest, highest))
        return np.asarray(np.bincount(self.group, weights=lost, minlength=self.n_groups) < strata)
