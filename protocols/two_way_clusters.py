"""Influence values for clustering by groups and by systems that cross them (two-way clustering)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps

from metaeval.stats.arrays import distinct, numbered
from metaeval.stats.crossed_clusters import crossed_influence
from protocols.contract import Influences, Judgements

OfProtocol = Callable[[Judgements, int, Mapping[str, str], Collection[str]], Influences]


def by_clusters(of_groups: OfProtocol, pooled: bool = False) -> OfProtocol:
    """Return a protocol's influence function (`of_groups`, by groups alone) extended to a second clustering.

    Rows are clustered by `Judgements.crossed` too, such as systems (two-way clustering). pooled: the measures compare
    rows within pools; where a pool has rows in several crossed clusters, only groups count.
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
        return {
            key: crossed_influence(mine, by_other, both)
            if (mine := groups[key]) and (by_other := others[key]) and (both := shared[key])
            else None
            for key in groups
        }

    return of_clusters
