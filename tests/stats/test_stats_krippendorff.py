"""Krippendorff's alpha: his own example, and his definition pair by pair."""

import itertools

import numpy as np
import pytest

from metaeval.stats.agreement import alpha_by_groups, krippendorff_alpha
from metaeval.stats.resampling import bootstrap, replicate

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), part D: four observers, twelve units, 7 missing.
FOUR_OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def test_alpha_of_krippendorffs_own_example():
    rows = [
        [np.nan if cell == "." else float(cell) for cell in line.split()] for line in FOUR_OBSERVERS.split("\n")[1:5]
    ]
    ratings = np.array(rows).T
    assert krippendorff_alpha(ratings, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(ratings, "interval") == pytest.approx(0.849, abs=5e-4)
    # A shift changes no difference, and names change no category.
    assert krippendorff_alpha(ratings + 1e6, "interval") == pytest.approx(
        krippendorff_alpha(ratings, "interval"), abs=1e-9
    )
    assert krippendorff_alpha(-7 * ratings, "nominal") == krippendorff_alpha(ratings, "nominal")


def alpha_by_pairs(ratings, distance):
    """The definition, pair by pair, in Python."""
    units = [[value for value in unit if not np.isnan(value)] for unit in ratings]
    units = [unit for unit in units if len(unit) > 1]

    def between(values):
        pairs = itertools.permutations(values, 2)
        return sum((a - b) ** 2 if distance == "interval" else a != b for a, b in pairs)

    values = [value for unit in units for value in unit]
    observed = sum(between(unit) / (len(unit) - 1) for unit in units) / len(values)
    return 1 - observed / (between(values) / (len(values) * (len(values) - 1)))


@pytest.mark.parametrize("distance", ["nominal", "interval"])
def test_alpha_is_the_definition_pair_by_pair(distance):
    rng = np.random.default_rng(5)
    for _ in range(20):
        ratings = rng.choice([0, 0.25, 0.5, 0.75, 1, np.nan], size=(9, 4))
        assert krippendorff_alpha(ratings, distance) == pytest.approx(alpha_by_pairs(ratings, distance), abs=1e-12)


@pytest.mark.parametrize("distance", ["nominal", "interval"])
def test_a_resample_is_the_alpha_of_its_units_repeated(distance):
    rng = np.random.default_rng(11)
    ratings = rng.choice([0, 0.25, 0.5, 1, np.nan], size=(30, 3))
    group = rng.integers(7, size=30)
    draws = bootstrap(8, 20, seed=3)  # the eighth group holds no unit
    found = replicate(alpha_by_groups(ratings, group, 8, distance), draws)
    weights = np.concatenate(list(draws), axis=1)
    for value, weight in zip(found, weights.T, strict=True):
        repeated = np.repeat(ratings, weight[group], axis=0)
        assert value == pytest.approx(alpha_by_pairs(repeated, distance), abs=1e-12)
    assert found[0] == pytest.approx(krippendorff_alpha(ratings, distance), abs=1e-15)
    assert alpha_by_groups(ratings, group, 8, distance).groups == 7


def test_resamples_without_variation_or_without_units_are_undefined():
    # Group 0 has (1, 1) alone, group 1 (0, 1), group 2 a lone rating: only draws with group 1 differ in anything.
    ratings = np.array([[1.0, 1], [0, 1], [5, np.nan]])
    tile = np.array([[1, 2, 0, 0], [1, 0, 2, 0], [1, 1, 1, 3]], dtype=np.uint8)
    for distance in ("nominal", "interval"):
        found = alpha_by_groups(ratings, np.arange(3), 3, distance).evaluate(tile)
        # Both units: D_o = 2 / 4; of 1 1 0 1 six of twelve ordered pairs differ: 1 - (1/2) / (1/2) = 0. Group 1 twice:
        # D_o = 4 / 4; of 0 1 0 1 eight of twelve: 1 - 1 / (2/3) = -1/2.
        assert found == pytest.approx([0, np.nan, -0.5, np.nan], nan_ok=True, abs=1e-15)
