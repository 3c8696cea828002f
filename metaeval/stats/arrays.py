"""Arrays of rows, groups and resamples: their types, the checks on them, and sums that come out the same everywhere.

A column of an array of results is one resample. Integers are exact whatever the order; floats are added in the order
of their rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Bools = NDArray[np.bool_]
Weights = NDArray[np.unsignedinteger]

STRIP_FLOATS = 4_000_000
"""Floats in one intermediate array (32 MB) of a measure that has no compiled loop; it keeps a handful at a time."""


def column_sum(values: Floats) -> Floats:
    """Return the sum of each column of `values` (m, R), (R,), with its rows added in order.

    numpy adds a lone column pairwise and several columns row by row, which differ in the last bit. A result must
    not depend on how many resamples are evaluated together, so a lone column is added row by row as well.
    """
    if values.shape[0] == 0:
        return np.zeros(values.shape[1])
    if values.shape[1] == 1:
        return np.asarray(np.cumsum(values, axis=0)[-1], dtype=np.float64)
    return np.asarray(values.sum(axis=0), dtype=np.float64)


def ratio(numerator: Floats | Ints, denominator: Floats | Ints) -> Floats:
    """Return the elementwise quotient; NaN, without a warning, where the denominator is 0, negative or NaN."""
    undefined = np.full(np.shape(denominator), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator > 0))


def scaled(values: Floats) -> Floats:
    """Return values divided by a power of two, which is exact, so that none exceeds 1 in size; zeros stay."""
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    return np.asarray(np.ldexp(values, -np.frexp(largest)[1]))


def strips(width: int, height: int) -> list[slice]:
    """Return slices that together cover `width` columns, each so narrow that `height` rows of it stay small."""
    columns = max(1, STRIP_FLOATS // max(height, 1))
    return [slice(at, min(at + columns, width)) for at in range(0, width, columns)]


def in_strips(evaluate: Callable[[Weights], Floats], tile: Weights, height: int) -> Floats:
    """Return what `evaluate` gives for group weights (n_groups, R), called on a few columns at a time.

    height: number of rows of the arrays that `evaluate` makes; the more, the fewer columns at a time.
    """
    return np.concatenate([evaluate(tile[:, strip]) for strip in strips(tile.shape[1], height)], axis=-1)


def check_finite(name: str, values: Floats) -> None:
    """Raise ValueError, naming the column, its row and the value, if `values` (n,) holds a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"{name} must be finite, got {values[bad[0]]} at row {bad[0]} ({bad.size} such rows)")


def check_codes(name: str, codes: Ints, limit: int) -> None:
    """Raise ValueError if one of `codes` (n,) is not in 0 .. limit - 1; name: of the column, for the message."""
    if codes.size and (codes.min() < 0 or codes.max() >= limit):
        raise ValueError(f"{name} codes must lie in 0 .. {limit - 1}, got {codes.min()} .. {codes.max()}")


def check_lengths(**columns: Floats | Ints) -> None:
    """Raise ValueError, listing the lengths, unless all columns are vectors of one length."""
    if len({column.shape for column in columns.values()}) > 1 or any(column.ndim != 1 for column in columns.values()):
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise ValueError(f"columns must be vectors of one length, got {shapes}")


def check_rows(score: Floats, gold: Floats, group: Ints, n_groups: int) -> None:
    """Raise ValueError unless score, gold and group are (n,) vectors, finite, with group codes 0 .. n_groups - 1."""
    check_lengths(score=score, gold=gold, group=group)
    check_finite("score", score)
    check_finite("gold", gold)
    check_codes("group", group, n_groups)


def weighted_sums(moments: Floats, tile: Weights | Floats, group: Ints | None = None) -> Floats:
    """Return the sums over groups of weight x moment, (K, R). moments: (n_groups, K). tile: weights (n_groups, R).

    group: None, or the group of each row of `moments`, then (m, K) with several rows or none of a group. Rows are
    added in their order, so that no digit depends on R or on the machine's matrix product.
    """
    total = np.zeros((moments.shape[1], tile.shape[1]))
    weights = (tile if group is None else tile[group]).astype(np.float64)
    for number, moment in enumerate(moments.T):
        total[number] = column_sum(weights * moment[:, None])
    return total


def left_out_sums(moments: Floats) -> Floats:
    """Return the sums of moments (n_groups, K) over all groups but each one in turn: (K, n_groups)."""
    total = weighted_sums(moments, np.ones((len(moments), 1), dtype=np.uint8))
    return np.asarray(total - moments.T)


def group_ends(values: Floats, group: Ints, n_groups: int) -> tuple[Floats, Floats]:
    """Return the lowest and highest of `values` (n,) in each group, (n_groups,) each; inf and -inf for empty groups."""
    lowest, highest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(lowest, group, values)
    np.maximum.at(highest, group, values)
    return lowest, highest


def varies(ends: tuple[Floats, Floats], drawn: Bools) -> Bools:
    """Return whether the drawn groups hold two distinct values, (R,). ends: from `group_ends`. drawn: (n_groups, R)."""
    lowest = np.where(drawn, ends[0][:, None], np.inf).min(axis=0, initial=np.inf)
    highest = np.where(drawn, ends[1][:, None], -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray(lowest < highest)


def varies_without(ends: tuple[Floats, Floats]) -> Bools:
    """Return whether two distinct values remain without each group in turn, (n_groups,). ends: from `group_ends`."""
    lowest, highest = np.sort(ends[0]), np.sort(ends[1])[::-1]
    second = (lowest[1], highest[1]) if lowest.size > 1 else (np.inf, -np.inf)
    low = np.where(ends[0] == lowest[0], second[0], lowest[0]) if lowest.size else lowest
    high = np.where(ends[1] == highest[0], second[1], highest[0]) if lowest.size else highest
    return np.asarray(low < high)


def group_totals(values: Floats, group: Ints | SmallInts, n_groups: int) -> Floats:
    """Return the sum of `values` (n,) over the rows of each group; (n_groups,)."""
    return np.asarray(np.bincount(group, weights=values, minlength=n_groups), dtype=np.float64)


def distinct(codes: Ints) -> Ints:
    """Return the distinct values of `codes` (n,), ascending, as numpy's `unique` does, but faster for small codes."""
    return np.flatnonzero(np.bincount(codes)) if _near(codes) else np.unique(codes)


def majority(votes: Iterable[float]) -> float:
    """Return the vote that most annotators gave; NaN without votes, and where several votes are as frequent."""
    ranked = Counter(votes).most_common(2)
    return ranked[0][0] if len(ranked) == 1 or (ranked and ranked[0][1] > ranked[1][1]) else float("nan")


def numbered(codes: Ints) -> tuple[Ints, int]:
    """Return the index of each row's code among the sorted distinct codes, (n,) from 0, and the number of these."""
    if _near(codes):
        there = np.bincount(codes) > 0
        return (np.cumsum(there) - 1)[codes], int(np.count_nonzero(there))
    different, number = np.unique(codes, return_inverse=True)
    return number.astype(np.int64).reshape(codes.shape), int(different.size)


_NEAR = 16


def _near(codes: Ints) -> bool:
    return codes.size > 0 and codes.dtype.kind == "i" and codes.min() >= 0 and codes.max() < _NEAR * codes.size


def codes_of(names: Sequence[str]) -> Ints:
    """Return the code of each name, (n,), from 0 in sorted order, so that resamples do not depend on the row order."""
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([numbers[name] for name in names], dtype=np.int64)
