"""What every measure asks of its rows: finite numbers, columns of one length, group codes in range."""

from __future__ import annotations

import numpy as np

from metaeval.stats.resample_sums import Floats, Ints


def check_finite(name: str, values: Floats) -> None:
    """Raise ValueError, naming the column, its row and the value, if `values` (n,) holds a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"{name} must be finite, got {values[bad[0]]} at row {bad[0]} ({bad.size} such rows)")


def check_codes(name: str, codes: Ints, limit: int) -> None:
    """Raise ValueError if `codes` (n,) leaves 0 .. limit - 1."""
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
