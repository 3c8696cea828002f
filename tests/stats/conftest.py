"""Both ways to the same digits: the loops of a machine without numba, and the compiled ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from metaeval.stats import arrays, correlations


@pytest.fixture
def choose_path(monkeypatch):
    """Force "numpy" or "compiled", however little work there is."""

    def absent():
        return None

    absent.cache_info = lambda: SimpleNamespace(currsize=0)

    def choose(path):
        monkeypatch.undo()
        correlations._KEPT.clear()  # what the other path counted
        if path == "numpy":
            monkeypatch.setattr(arrays, "_loops", absent)
            assert arrays.compiled(10**9) is None
        else:
            pytest.importorskip("numba")
            monkeypatch.setattr(arrays, "_ENOUGH_WORK", 0)
            assert arrays.compiled(1) is not None

    return choose


@pytest.fixture(params=["numpy", "compiled"])
def both_paths(request, choose_path):
    """Run the test on either path."""
    choose_path(request.param)


@pytest.fixture(scope="session")
def pairs_of():
    """AUC, concordance and Kendall's tau-b by a look at every pair of rows, of groups (n,) of whole weights (G,)."""

    def values(score, gold, group, weights):
        # Rows of two groups make w v pairs, rows of one group w: copies of a group are not compared with each other.
        w = weights.astype(float)[group]
        times = np.where(group[:, None] == group, w[:, None], w[:, None] * w)
        np.fill_diagonal(times, 0)
        by_score, by_gold = (np.sign(values[:, None] - values) for values in (score, gold))
        won = (times * (by_gold > 0) * (1 + by_score)).sum() / (2 * (times * (by_gold > 0)).sum())
        spread = np.sqrt((times * by_score**2).sum() * (times * by_gold**2).sum())
        return {"auc": won, "concordance": won, "kendall": (times * by_score * by_gold).sum() / spread}

    return values
