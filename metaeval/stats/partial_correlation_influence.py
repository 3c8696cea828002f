"""The contribution of each row to partial correlations of ranks, by the infinitesimal jackknife.

A coefficient is differentiated by the weight of each row. A row has products of its own, moves the ranks of the rows
above it, and moves the mean of its stratum. The last has no derivative where what is left of a column lies on few
values: two strata change places at once. There the change is that over a shift of one standard error of the mean to
either side, which is what another sample would shift it by. The jackknife, which shifts it far less, gives standard
errors of up to six times the coefficient's spread there.
"""

from __future__ import annotations

import numpy as np

from metaeval.stats.arrays import Floats, Ints, numbered, scaled
from metaeval.stats.correlations import residual_blocks, within_strata
from metaeval.stats.ties import centred_midranks, tie_blocks


def partial_spearman_by_row(score: Floats, gold: Floats, stratum: Ints) -> tuple[float, Floats]:
    """Return partial Spearman and its derivative by the weight of each row, (n,), which sums to 0.

    score, gold, stratum: (n,). (NaN, zeros) where a column varies in no stratum. Raises ValueError as `within_strata`.
    """
    blocks = [tie_blocks(values)[0] for values in (score, gold)]
    x, y = (within_strata(_ranks(block), stratum) for block in blocks)
    return _contributions((blocks[0], x), (blocks[1], y))


def residual_spearman_by_row(score: Floats, gold: Floats, stratum: Ints) -> tuple[float, Floats]:
    """Return residual Spearman and its derivative by each row's weight, which includes the effect on stratum means.

    The derivative by a stratum mean is a difference over one standard error. score, gold, stratum: (n,). (NaN, zeros)
    where a column varies in no stratum. Time grows with the rows times the strata.
    """
    code, n_strata = numbered(stratum)
    columns = [_Residuals(scaled(within_strata(values, code)), code) for values in (score, gold)]
    blocks = [column.blocks(column.value) for column in columns]
    ranks = [_ranks(block, column.count) for block, column in zip(blocks, columns, strict=True)]
    by_row = [
        (block[column.cell], rank[column.cell]) for block, rank, column in zip(blocks, ranks, columns, strict=True)
    ]
    value, contributions = _contributions(*by_row)
    if np.isnan(value):
        return value, contributions
    for column, (_, other) in zip(columns, reversed(by_row), strict=True):
        for number in range(n_strata):
            there = code == number
            left = column.value[column.cell[there]]
            error = float(left.std()) / np.sqrt(left.size)
            if error > 0:
                contributions[there] += column.slope(number, error, other) * left / left.size
    return value, contributions


class _Residuals:
    """The m distinct (value, stratum) of a column of residuals, with `count` rows each; cell: each row's, (n,)."""

    def __init__(self, residual: Floats, code: Ints) -> None:
        place = tie_blocks(residual)[0] * residual.size + code
        _, first, cell, count = np.unique(place, return_index=True, return_inverse=True, return_counts=True)
        self.value, self.stratum, self.cell, self.count = residual[first], code[first], cell, count

    def blocks(self, value: Floats) -> Ints:
        """Return the number of the tie block of each of `value`, (m,), from the lowest."""
        return residual_blocks(value, float(np.abs(value).max()))

    def slope(self, stratum: int, error: float, other: Floats) -> float:
        """Return the coefficient's derivative by a stratum's mean, from shifts by +-`error`; other: ranks, (n,)."""
        product = np.bincount(self.cell, weights=other)
        shifted = []
        for shift in (error, -error):
            rank = _ranks(self.blocks(self.value - shift * (self.stratum == stratum)), self.count)
            shifted.append((rank * product).sum() / np.sqrt((rank * rank * self.count).sum() * (other * other).sum()))
        return float((shifted[0] - shifted[1]) / (2 * error))


def _ranks(block: Ints, count: Ints | None = None) -> Floats:
    """Return each row's centred midrank, (n,), from its tie block; count: how many rows it stands for (None: one)."""
    return np.asarray(centred_midranks(np.bincount(block, weights=count).astype(np.float64)[:, None])[block, 0])


def _contributions(x: tuple[Ints, Floats], y: tuple[Ints, Floats]) -> tuple[float, Floats]:
    """Return the correlation of x and y, (tie block, centred rank) of rows, and its derivative by row weight, (n,)."""
    (x_block, x_rank), (y_block, y_rank) = x, y
    xx, yy, xy = (x_rank * x_rank).sum(), (y_rank * y_rank).sum(), (x_rank * y_rank).sum()
    spread = np.sqrt(xx) * np.sqrt(yy)
    if not spread > 0:
        return float("nan"), np.zeros(x_rank.size)
    product = x_rank * y_rank + _above(x_block, y_rank) + _above(y_block, x_rank)
    x_square = x_rank * x_rank + 2 * _above(x_block, x_rank)
    y_square = y_rank * y_rank + 2 * _above(y_block, y_rank)
    value = min(max(float(xy / spread), -1.0), 1.0)
    return value, np.asarray(product / spread - value / 2 * (x_square / xx + y_square / yy))


def _above(block: Ints, values: Floats) -> Floats:
    """Return the sum of `values` over the rows above each row, plus half of those tied with it and its own; (n,)."""
    total = np.bincount(block, weights=values)
    return np.asarray((total.sum() - np.cumsum(total) + total / 2)[block])
