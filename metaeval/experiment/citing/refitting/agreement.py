"""How far published and refitted coefficients agree with people, and whether the difference is more than noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.human.refitting import Refit
from metaeval.citation.measures import Interval, interval_of, replicates
from metaeval.config import IntervalConfig
from metaeval.experiment.citing.quantities import mean_of
from metaeval.report.result import Column
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.resampling import Draws, bootstrap, replicate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MEASURES: Mapping[str, str] = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "error": "error"}
"""By their headings; error: the mean absolute difference from people's rating."""

ROWS: Mapping[str, str] = {
    "published": "published coefficients",
    "refit": "refitted, on groups held out",
    "difference": "refitted less published",
}


def agreement(fit: Refit, interval: IntervalConfig) -> dict[str, dict[str, Interval]]:
    """Each of `MEASURES` of each of `ROWS`; a difference is of the same resamples of groups on both sides."""
    groups, codes = np.unique(fit.group, return_inverse=True)
    draws = bootstrap(groups.size, interval.resamples if groups.size > 1 else 0, interval.seed)
    values = {
        name: _values(column, fit.rating, codes.astype(np.int64), draws)
        for name, column in (("published", fit.published), ("refit", fit.refitted))
    }
    values["difference"] = {name: values["refit"][name] - values["published"][name] for name in MEASURES}
    return {row: {name: interval_of(own, interval.level) for name, own in values[row].items()} for row in ROWS}


def _values(score: Floats, rating: Floats, group: Ints, draws: Draws) -> dict[str, Floats]:
    """Each measure under each weighting of the groups, (R,), the data themselves first."""
    by_rank = replicate(rank_correlations(score, rating, group, draws.n_groups), draws)
    error = mean_of(Column(key="error", label="error"), np.abs(score - rating).tolist())
    return {
        "pearson": replicate(pearson(score, rating, group, draws.n_groups), draws),
        "spearman": by_rank[0],
        "kendall": by_rank[1],
        "error": replicates(error, np.arange(score.size), group, draws),
    }
