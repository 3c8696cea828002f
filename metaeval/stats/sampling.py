"""Drawing items to label, with the probability of each: simple, stratified, and in proportion to a size."""

from __future__ import annotations

import numpy as np

from metaeval.stats.arrays import Floats, Ints


def draw_simple(n_items: int, n: int, seed: int) -> Ints:
    """n of n_items places without replacement, in random order. Raises ValueError unless 0 <= n <= n_items."""
    if not 0 <= n <= n_items:
        raise ValueError(f"n must lie in 0 .. {n_items}, got {n}")
    return np.random.default_rng(seed).permutation(n_items)[:n].astype(np.int64)


def draw_stratified(stratum: Ints, n: int, seed: int) -> tuple[Ints, Floats]:
    """n places, from each stratum in proportion to its size and at least two (or all); (rows (n,), probability (N,)).

    stratum: (N,) codes. What proportions leave over goes to the largest remainders. Raises ValueError where n is less
    than two a stratum, or more than N.
    """
    codes, own, size = np.unique(stratum, return_inverse=True, return_counts=True)
    least = np.minimum(2, size)
    if not least.sum() <= n <= stratum.size:
        raise ValueError(f"n must lie in {least.sum()} .. {stratum.size}, got {n}")
    wanted = np.maximum(size * n / stratum.size, least)
    count = np.maximum(np.floor(wanted).astype(np.int64), least)
    while count.sum() != n:
        step = 1 if count.sum() < n else -1
        able = count < size if step > 0 else count > least
        gain = np.where(able, step * (wanted - count), -np.inf)
        count[np.argmax(gain)] += step
    random = np.random.default_rng(seed)
    rows = np.concatenate(
        [random.permutation(np.flatnonzero(own == code))[:k] for code, k in zip(range(codes.size), count, strict=True)]
    )
    return random.permutation(rows).astype(np.int64), (count / size)[own]


def draw_in_proportion(size: Floats, n: int, seed: int) -> tuple[Ints, Floats]:
    """n places, each drawn with a probability in proportion to its size and at most 1; (rows (n,), probability (N,)).

    Systematic sampling (Madow 1949) in random order: the number drawn is n and the probabilities are exact. Raises
    ValueError for a size that is not positive, or n above N.
    """
    if not 0 < n <= size.size or not (size > 0).all():
        raise ValueError(f"n must lie in 1 .. {size.size} and sizes be positive, got {n}")
    chance = np.minimum(1, n * size / size.sum())
    while (left := n - chance.sum()) > 1e-9 * n:
        free = chance < 1
        chance = np.where(free, np.minimum(1, chance * (1 + left / chance[free].sum())), chance)
    random = np.random.default_rng(seed)
    order = random.permutation(size.size)
    ends = np.concatenate([[0.0], np.cumsum(chance[order])])
    ends[-1] = n
    hits = np.floor(ends[1:] - (start := random.random())) > np.floor(ends[:-1] - start)
    return order[hits].astype(np.int64), chance
