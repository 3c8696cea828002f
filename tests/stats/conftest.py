"""Measures of pairs by a look at every pair of rows."""

import numpy as np
import pytest


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
