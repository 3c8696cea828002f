"""Influence values by groups and by other clusters that cross them, from those by groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps

from metaeval.stats.arrays import distinct, numbered
from metaeval.stats.crossed_clusters import joined
from protocols.contract import Influences, Judgements

OfProtocol = Callable[[Judgements, int, Mapping[str, str], Collection[str]], Influences]


def by_clusters(of_groups: OfProtocol, pooled: bool = False) -> OfProtocol:
    """Return a protocol's influence function that clusters by `Judgements.crossed` too, where there is such a column.

    of_groups: the function that clusters by groups. pooled: it measures pools; where one lies in several of the other
    clusters, groups alone are clusters.
    """

    @wraps(of_groups)
    def of_clusters(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
        other, pool = rows.crossed, rows.pool
        if other is None:
            return of_groups(rows, n_groups, options, keys)
        n_others = int(other.max(initial=-1)) + 1
        if pooled and distinct(pool * n_others + other).size > distinct(pool).size:
            return of_groups(rows, n_groups, options, keys)
        codes = (rows.group, n_groups), (other, n_others), numbered(rows.group * n_others + other)
        groups, others, shared = (of_groups(rows.with_group(code), n, options, keys) for code, n in codes)
        return {key: joined(groups[key], others[key], shared[key]) for key in groups}

    return of_clusters
