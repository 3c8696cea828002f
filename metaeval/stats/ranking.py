"""Rankings of metrics under tests of all pairs: letters of metrics that do not differ, ranks, and their agreement."""

from __future__ import annotations

import math

import numpy as np

from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.estimate import Estimate

LETTERS = "abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW"
"""The letters that are given to metrics: those of which Unicode has a superscript, which the terminal prints."""


def letters(value: Floats, significant: Bools) -> list[str]:
    """Return the letters of each metric: two metrics share a letter if and only if they do not differ significantly.

    value: (m,), higher is better; the highest has an `a`, an undefined one (NaN) no letter. significant: (m, m),
    symmetric, True where two metrics differ. A compact letter display: Piepho, "An algorithm for a letter-based
    representation of all-pairwise comparisons" (2004). Each letter is a clique of metrics of which no two differ; all
    such pairs are covered by growing cliques, as in Gramm et al., "Algorithms for compact letter displays" (2007), for
    insertion and absorption can take exponential time. A letter that shows no pair of its own is dropped. All strings
    are empty where more than `LETTERS` are needed. Raises ValueError if the shapes do not fit or `significant` is not
    symmetric.
    """
    if significant.shape != (value.size, value.size) or value.ndim != 1:
        raise ValueError(f"{value.size} values need a square of their comparisons, got shape {significant.shape}")
    if not np.array_equal(significant, significant.T):
        raise ValueError("significance must be symmetric: whether a differs from b is whether b differs from a")
    order = [int(metric) for metric in np.argsort(-value, kind="stable") if not np.isnan(value[metric])]
    cliques = _without_redundant(_cliques(~significant[np.ix_(order, order)]), len(order))
    display = [""] * value.size
    if len(cliques) <= len(LETTERS):
        for letter, clique in zip(LETTERS, sorted(map(sorted, cliques)), strict=False):
            for place in clique:
                display[order[place]] += letter
    return display


def _cliques(linked: Bools) -> list[list[int]]:
    """Return cliques (lists of vertices) that together hold each edge and vertex of the graph `linked`, (m, m)."""
    vertices = range(len(linked))
    held, cliques = np.zeros_like(linked), []
    edges = zip(*np.nonzero(np.triu(linked, 1)), strict=True)
    for edge in [*edges, *((vertex, vertex) for vertex in vertices)]:
        if held[edge]:
            continue
        clique = list(dict.fromkeys(map(int, edge)))
        for vertex in vertices:
            if vertex not in clique and linked[vertex, clique].all():
                clique.append(vertex)
        held[np.ix_(clique, clique)] = True
        cliques.append(clique)
    return cliques


def _without_redundant(cliques: list[list[int]], vertices: int) -> list[list[int]]:
    """Return the cliques, dropping one by one those of which others hold all edges and vertices. vertices: how many."""
    holders = np.zeros((vertices, vertices), dtype=np.int64)
    for clique in cliques:
        holders[np.ix_(clique, clique)] += 1
    kept = []
    for clique in cliques:
        edges = np.ix_(clique, clique)
        if (holders[edges] > 1).all():
            holders[edges] -= 1
        else:
            kept.append(clique)
    return kept


def rank_intervals(better: Bools) -> tuple[Ints, Ints]:
    """Return the best and the worst rank that tests leave each metric, (m,) each; 1 is the best.

    better: (m, m), True where the first is significantly better than the second. A metric's rank lies between one more
    than the metrics that are better and m less those that are worse. Where the family-wise error of all pairs is at
    most alpha, all ranks lie in their intervals with probability 1 - alpha; a true rank is one more than the number of
    metrics with a higher true value. Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries" (2024). With the tests of one metric
    alone, this is its marginal interval.
    """
    return 1 + better.sum(axis=0), len(better) - better.sum(axis=1)


def shared_order(first: Floats, other: Floats, p: Floats, alpha: float) -> tuple[Estimate, int, int]:
    """Return Kendall's tau-b of two rankings, and how many pairs of metrics tests order alike, and in opposite ways.

    first, other: (m,) values, higher is better. p: (2, m (m - 1) / 2) of the difference of each pair, as `pair_signs`
    has them, in either ranking; NaN for a pair that was not tested. A pair is decided where the larger p, by Holm's
    adjustment over the pairs, is at most alpha: both of its orders are claimed then (Berger, "Multiparameter hypothesis
    testing and acceptance sampling", 1982), and all such claims hold with probability 1 - alpha. So does the interval:
    the tau-b of every two rankings, with ties or without, that order these pairs as claimed. Percentiles of resamples
    are no such interval, for metrics that hardly differ swap places in resamples more than in the data. No value where
    a ranking ties all metrics, and no interval where no pair was tested.
    """
    # They import scipy, which lists of data sets and pages of results do without.
    from metaeval.stats.agreement import pair_signs, rank_agreement
    from metaeval.stats.significance import holm

    product = (pair_signs(first[:, None]) * pair_signs(other[:, None]))[:, 0]
    tau, larger, pairs = float(rank_agreement(first[:, None], other[:, None])[0][0]), p.max(axis=0), product.size
    decided = holm(larger) <= alpha
    alike, opposite = (int(np.count_nonzero(decided & (product == order))) for order in (1, -1))
    if math.isnan(tau):
        return Estimate(None, note="every metric has one value"), alike, opposite
    if np.isnan(larger).all():
        return Estimate(tau, note="no pair of metrics was tested"), alike, opposite
    return Estimate(tau, (2 * alike - pairs) / pairs, (pairs - 2 * opposite) / pairs), alike, opposite
