"""Sampling designs: the probabilities that are kept are those with which items are drawn."""

import numpy as np
import pytest

from metaeval.stats.prediction_powered import draw_in_proportion, draw_simple, draw_stratified


def test_a_simple_draw_takes_every_item_alike():
    drawn = np.mean([np.bincount(draw_simple(20, 5, seed), minlength=20) for seed in range(1000)], 0)
    assert drawn == pytest.approx(np.full(20, 0.25), abs=0.04)
    assert draw_simple(20, 0, 0).size == 0


def test_strata_get_their_proportion_and_two_at_least():
    stratum = np.repeat([0, 1, 2], [70, 27, 3])
    rows, chance = draw_stratified(stratum, 20, 0)
    assert np.bincount(stratum[rows]).tolist() == [13, 5, 2]
    assert chance[[0, 70, 97]] == pytest.approx([13 / 70, 5 / 27, 2 / 3])
    assert len(set(rows.tolist())) == 20


def test_a_draw_in_proportion_keeps_its_probabilities():
    size = np.array([1.0, 1, 2, 2, 4, 4, 30])
    drawn, total = np.zeros(7), 1500
    for seed in range(total):
        rows, chance = draw_in_proportion(size, 3, seed)
        assert rows.size == 3
        drawn[rows] += 1
    assert chance.sum() == pytest.approx(3, abs=1e-12)
    assert chance[6] == 1
    assert chance[:6] == pytest.approx(2 * size[:6] / 14)
    assert drawn / total == pytest.approx(chance, abs=0.03)
    assert [draw_in_proportion(size, n, 0)[1].min() for n in (1, 7)] == pytest.approx([1 / 44, 1])
    with pytest.raises(ValueError, match="above 0"):
        draw_in_proportion(size - 1, 3, 0)
