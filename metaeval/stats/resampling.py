"""Weightings of groups: bootstrap resamples, the jackknife, and the exchanges of a paired permutation test.

Groups (a query, a response, a source document) are what is drawn, because the rows inside one are not independent. A
group that is drawn three times has weight three, so that a resample is a re-weighting and never a re-sort: each
measure sorts its rows once and is then evaluated for many weightings. The first weighting is the input itself.

Weightings come in tiles of up to 128 columns. A tile depends on the seed and its own number alone, and no measure lets
one column touch another, so that no digit depends on how many weightings are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Floats, Weights

Tile = Weights

TILE = 128
"""Weightings in a tile."""

KEPT_BYTES = 256_000_000
"""Tiles of one set of draws are kept for the next measure up to this size, and resampled beyond it."""

# The streams of random numbers that one seed feeds.
_BOOTSTRAP, _SWAPS = 0, 1


@dataclass(frozen=True, eq=False)
class Draws:
    """A sequence of `n` weightings of `n_groups` groups; the first is the input itself (all weights 1).

    make: returns the weightings tile by tile: number of a tile -> weights (n_groups, R), R <= TILE, the same for the
    same number. jackknife: whether the weightings are the input, then the input without each group in turn.
    """

    n: int
    n_groups: int
    make: Callable[[int], Tile]
    jackknife: bool = False

    def __iter__(self) -> Iterator[Tile]:
        """Yield the tiles of weightings, (n_groups, R) each, in order."""
        return iter(self._kept) if self.n * self.n_groups <= KEPT_BYTES else map(self.make, range(self._n_tiles))

    @property
    def _n_tiles(self) -> int:
        return -(-self.n // TILE)

    @cached_property
    def _kept(self) -> tuple[Tile, ...]:
        return tuple(map(self.make, range(self._n_tiles)))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A measure, or several on the same rows, prepared so that it can be evaluated for any weights of the groups.

    evaluate: weights (n_groups, R) -> values (R,), or (K, R) for K measures; NaN where undefined.
    groups: number of distinct groups with a row of the measure.
    left_out: leave-one-group-out values, (n_groups,) or (K, n_groups), faster than by `evaluate` and equal; None where
    a measure has no such shortcut.
    """

    evaluate: Callable[[Tile], Floats]
    groups: int
    left_out: Callable[[], Floats] | None = None


def value(prepared: Prepared, n_groups: int) -> float:
    """Return the value of a single measure on the input itself (all weights 1); NaN where undefined."""
    return float(prepared.evaluate(np.ones((n_groups, 1), dtype=np.uint8))[0])


def replicate(prepared: Prepared, draws: Draws) -> Floats:
    """Return the values of a measure under each weighting, (n,), or (K, n) for K measures; NaN where undefined."""
    if draws.jackknife and prepared.left_out:
        itself = prepared.evaluate(np.ones((draws.n_groups, 1), dtype=np.uint8))
        return np.concatenate((itself, prepared.left_out()), axis=-1)
    return np.concatenate([*map(prepared.evaluate, draws)], axis=-1)  # one tile in memory at a time


@lru_cache(maxsize=4)
def bootstrap(n_groups: int, resamples: int, seed: int) -> Draws:
    """Return the weightings of the cluster bootstrap: the input, then `resamples` draws of groups with replacement.

    They depend on the three arguments alone: every measure on the same groups sees the same resamples, and the first k
    of a longer run are those of a run of k. Raises ValueError on a negative argument.
    """
    _check(n_groups, resamples, seed, "resamples")

    def make(number: int) -> Tile:
        generator = np.random.default_rng([seed, _BOOTSTRAP, number])
        # One resample after another, in few bytes: those of a tile would take 2 KB a group at a time.
        drawn = (
            np.bincount(generator.integers(max(n_groups, 1), size=n_groups), minlength=n_groups) for _ in range(TILE)
        )
        counts = np.stack([draw.astype(np.min_scalar_type(int(draw.max(initial=0)))) for draw in drawn], axis=1)
        return _tile(counts, number, resamples + 1, first=1)

    return Draws(resamples + 1, n_groups, make)


def itself(n_groups: int) -> Draws:
    """Return the one weighting "all groups", which is the input; raises ValueError if n_groups is negative."""
    return bootstrap(n_groups, 0, 0)


def jackknife(n_groups: int) -> Draws:
    """Return the weightings "all groups", then without each one in turn; raises ValueError if n_groups is negative."""
    _check(n_groups, 0, 0, "resamples")

    def make(number: int) -> Tile:
        counts = np.ones((n_groups, TILE), dtype=np.int64)
        left_out = np.arange(number * TILE, (number + 1) * TILE) - 1
        columns = np.flatnonzero((left_out >= 0) & (left_out < n_groups))
        counts[left_out[columns], columns] = 0
        return _tile(counts, number, n_groups + 1, first=1)

    return Draws(n_groups + 1, n_groups, make, jackknife=True)


@lru_cache(maxsize=4)
def swaps(n_groups: int, permutations: int, seed: int) -> Draws:
    """Return the weightings of a paired permutation test, which exchanges two metrics' scores group by group.

    Rows are those of the one metric with group codes 0 .. G-1, then those of the other with codes G .. 2G-1. Weightings
    come in pairs: the even one takes every group from one of the two metrics at random, the odd one takes it from the
    other. The first two exchange nothing; `permutations` pairs follow. Raises ValueError on a negative argument.
    """
    _check(n_groups, permutations, seed, "permutations")

    @lru_cache(maxsize=KEPT_BYTES // (TILE // 16 * max(n_groups, 1)))
    def drawn(number: int) -> NDArray[np.uint8]:
        # A bit an exchange: tiles that are too large to be kept are recomputed without drawing.
        generator = np.random.default_rng([seed, _SWAPS, number])
        each = [generator.integers(2, size=n_groups).astype(np.uint8) for _ in range(TILE // 2)]
        return np.packbits(np.stack(each, axis=1), axis=1)

    def make(number: int) -> Tile:
        bits = _TWICE[drawn(number)].reshape(n_groups, TILE // 8)
        counts = np.unpackbits(np.concatenate((bits, ~bits)), axis=1)
        if number == 0:
            counts[:n_groups, :2], counts[n_groups:, :2] = (1, 0), (0, 1)
        return _tile(counts, number, 2 * (permutations + 1))

    return Draws(2 * (permutations + 1), 2 * n_groups, make)


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
_TWICE = np.packbits(np.stack([1 - _BITS, _BITS], axis=2).reshape(256, 16), axis=1)
"""For each byte of exchanges, the two bytes with 1 - bit and bit in turn."""


def _tile(counts: NDArray[np.integer], number: int, n: int, first: int | None = None) -> Tile:
    """Return tile `number` of `n` weightings; `first`: None, or the weight of all groups in the very first column."""
    used = counts[:, : n - number * TILE]
    tile = used.astype(np.min_scalar_type(int(used.max(initial=1))), order="C", copy=False)
    if number == 0 and first is not None:
        tile[:, 0] = first
    tile.flags.writeable = False
    return tile


def _check(n_groups: int, n: int, seed: int, name: str) -> None:
    if min(n_groups, n, seed) < 0:
        raise ValueError(f"groups, {name} and seed must not be negative, got {n_groups}, {n}, {seed}")


def percentile_interval(values: Floats, level: float) -> tuple[float, float] | None:
    """Return the percentile interval (low, high) of `values` (R,) without the NaN; None if over half are NaN, or R = 0.

    Quantiles interpolate linearly. Raises ValueError unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"the interval's level must lie between 0 and 1, got {level}")
    defined = values[~np.isnan(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
