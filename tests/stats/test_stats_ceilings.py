"""Ceilings under ties: against all arrangements, against scipy on written-out columns, and the published counts."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from metaeval.stats.bounds import attainable, perfect

OFFICIAL = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr, "kendall": scipy_stats.kendalltau}


def _scipy(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: float(official(x, y)[0]) for name, official in OFFICIAL.items()}


@given(
    score=st.lists(st.sampled_from([-3.0, 0.0, 0.1, 1.0, 50.0]), min_size=5, max_size=5),
    gold=st.lists(st.integers(0, 2), min_size=5, max_size=5),
)
def test_no_arrangement_beats_it(score, gold):
    x, y = np.array(score), np.array(gold, dtype=float)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert all(map(math.isnan, attainable(x, y).values()))
        return
    arrangements = [_scipy(np.array(order), y) for order in set(itertools.permutations(score))]
    for name, value in attainable(x, y).items():
        assert value == pytest.approx(max(found[name] for found in arrangements), abs=1e-12)


@pytest.mark.parametrize("counts", [(3, 2, 4), (1, 1, 1), (50, 1, 7), (0, 4, 9), (5, 0, 5), (1, 0, 1)])
def test_perfect_metrics_agree_with_scipy_on_written_out_columns(counts):
    gold = np.repeat([0.0, 1.0, 2.0], counts)
    found = perfect(np.random.default_rng(0).permutation(gold))
    assert found["continuous"] == pytest.approx(_scipy(np.arange(gold.size), gold), abs=1e-12)
    assert found["levels"] == pytest.approx(_scipy(gold, gold), abs=1e-12)
    assert found["binary"] == pytest.approx(_scipy(gold == 2, gold), abs=1e-12)


def test_the_counts_of_the_base_paper():
    # Table 1 of arXiv 2406.15264: 6,616 full, 1,445 partial, 4,620 none.
    gold = np.repeat([0.0, 1.0, 2.0], [4620, 1445, 6616])
    found = perfect(gold)
    assert found["continuous"] == pytest.approx(_scipy(np.arange(gold.size), gold), abs=1e-12)
    assert round(found["continuous"]["spearman"], 3) == 0.899
    assert round(found["continuous"]["kendall"], 3) == 0.763
    assert round(found["binary"]["spearman"], 3) == 0.962
    assert round(found["binary"]["kendall"], 3) == 0.926
    # Chunks of a citation that hold no evidence make some 120,000 NONE rows in all.
    among_chunks = perfect(np.repeat([0.0, 1.0, 2.0], [120_000, 1445, 6616]))
    assert round(among_chunks["continuous"]["spearman"], 2) == 0.42
    assert round(among_chunks["continuous"]["kendall"], 2) == 0.35
