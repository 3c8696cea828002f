"""How often two metrics of equal AUC are called different by the paired permutation test, and why.

    python -m benchmarks.exchange          the table of docs/explanation/inference.md; shorter by --runs, --permutations

Two metrics have the same chance to tell a positive row of one group from a negative row of another. The errors of the
one are alike within a group (intra-group correlation .9), those of the other are not. Groups are equal or unequal, and
their labels mixed or nearly alike. Four tests of one and the same exchange:

all         of the AUC over all pairs of rows, as `compare` makes it
exact       the same, with the difference that the design itself makes taken off
between     of the AUC over pairs of rows of two groups
studentised of the AUC over all pairs, each difference divided by its own cluster standard error
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from benchmarks.coverage import sizes
from metaeval.stats.classification import auc_influence
from metaeval.stats.group_counts import inside_groups
from metaeval.stats.rank_counts import count_wins
from metaeval.stats.resampling import swaps
from metaeval.stats.ties import sorted_entries

SHARED = 0.9
TESTS = ("all", "exact", "between", "studentised")


def drawn(rng: np.random.Generator, groups: int, kind: str, labels: str, auc: float) -> tuple[np.ndarray, ...]:
    """Two metrics' scores, labels and groups of a sample, (n,) each."""
    group = np.repeat(np.arange(groups), sizes(kind, groups, rng))
    chance = np.full(groups, 0.5) if labels == "mixed" else rng.choice([0.1, 0.9], groups)
    positive = rng.random(group.size) < chance[group]
    shift = np.sqrt(2) * ndtri(auc) * positive
    own = rng.normal(size=(2, group.size))
    alike = np.sqrt(SHARED) * rng.normal(size=groups)[group] + np.sqrt(1 - SHARED) * own[0]
    return shift + alike, shift + own[1], positive, group


def p_values(rng: np.random.Generator, design: tuple, permutations: int, studentise: bool) -> np.ndarray:
    """P of each test on one sample, (4,); NaN for one that is not made."""
    n_groups, _, _, auc = design
    one, other, positive, group = drawn(rng, *design)
    if positive.all() or not positive.any():
        return np.full(len(TESTS), np.nan)
    scaled = np.concatenate((rankdata(one), rankdata(other)))
    gold, stacked = np.tile(positive, 2).astype(float), np.concatenate((group, group + n_groups))
    tiles = list(swaps(n_groups, permutations, int(rng.integers(2**31))))
    wins = count_wins(scaled, gold, stacked, 2 * n_groups)
    level = gold.astype(np.int64)
    inside = inside_groups(sorted_entries(scaled, level, stacked, 2, 2 * n_groups), 2, 2 * n_groups)
    every, between = [], []
    for tile in tiles:
        counted = wins(tile)
        own, own_pairs, _ = inside.T @ tile.astype(np.int64)
        pairs = counted.rows[1] * counted.rows[0]
        every.append(counted.wins[0] / (2 * pairs))
        between.append((counted.wins[0] - own) / (2 * np.maximum(pairs - own_pairs, 1)))
    every, between = (np.concatenate(values) for values in (every, between))
    plain = every[0::2] - every[1::2]
    members = inside[:n_groups, 1].sum() / (positive.sum() * (~positive).sum())
    # What the pairs inside groups add: errors that a group shares cancel there, so that the first metric wins more.
    shift = members * (ndtr(ndtri(auc) / np.sqrt(1 - SHARED)) - auc)
    found = [_p(plain), _p(np.append(plain[0] - shift, plain[1:])), _p(between[0::2] - between[1::2]), np.nan]
    if studentise:
        takes = np.concatenate(tiles, axis=1)[n_groups:, 0::2].astype(bool)
        found[3] = _p(np.array([_studentised(scaled, positive, group, n_groups, swapped) for swapped in takes.T]))
    return np.array(found)


def _studentised(
    scaled: np.ndarray, positive: np.ndarray, group: np.ndarray, groups: int, swapped: np.ndarray
) -> float:
    one, other = np.split(scaled, 2)
    exchanged = swapped[group]
    sides = np.where(exchanged, other, one), np.where(exchanged, one, other)
    mine, theirs = (auc_influence(side, positive.astype(float), group, groups)(1, 0) for side in sides)
    apart = mine - theirs
    return apart.value / apart.standard_error


def _p(differences: np.ndarray) -> float:
    hits = np.abs(differences[1:]) >= abs(differences[0]) - 1e-12
    return float((1 + hits.sum()) / differences.size)


def main() -> None:
    """Print the share of samples with p <= .05, in per cent, for each design and test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--studentised", type=int, default=0, help="runs of the studentised test")
    given = parser.parse_args()
    error = 100 * np.sqrt(0.05 * 0.95 / given.runs)
    print(f"rejected at .05, in per cent, of {given.runs:,} samples a line (Monte Carlo error {error:.1f} at 5 %)")
    print(f"{'groups':>6} {'sizes':<8}{'labels':<8}{'AUC':>5}" + "".join(f"{name:>13}" for name in TESTS))
    for auc, kind, labels, groups in product((0.75, 0.9), ("equal", "pareto"), ("mixed", "alike"), (10, 30, 100)):
        design = (groups, kind, labels, auc)
        found = np.array(
            [
                p_values(np.random.default_rng([5, run]), design, given.permutations, run < given.studentised)
                for run in range(given.runs)
            ]
        )
        shares = [100 * np.mean(p[~np.isnan(p)] <= 0.05) if not np.isnan(p).all() else np.nan for p in found.T]
        print(f"{groups:>6} {kind:<8}{labels:<8}{auc:>5}" + "".join(f"{share:>13.1f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
