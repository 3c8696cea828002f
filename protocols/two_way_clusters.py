"""Influence values for clustering by groups and by systems or annotators that cross them (two-way clustering)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import wraps

import numpy as np

from metaeval.stats.arrays import distinct, numbered
from metaeval.stats.crossed_clusters import crossed_influence, of_annotators
from metaeval.stats.influence import Influence
from metaeval.stats.vote_choices import GoldVotes
from protocols.contract import Influences, Judgements

OfProtocol = Callable[[Judgements, int, Mapping[str, str], Collection[str]], Influences]


def by_clusters(of_groups: OfProtocol, pooled: bool = False) -> OfProtocol:
    """Return a protocol's influence function (`of_groups`, by groups alone) extended to further sources of variance.

    Where annotators' votes make the gold (`Judgements.votes`), each annotator is left out in turn (jackknife); else
    rows are clustered by `Judgements.crossed` too, such as systems (two-way clustering). pooled: the measures compare
    rows within pools; where a pool has rows in several crossed clusters, only groups count.
    """

    @wraps(of_groups)
    def of_clusters(rows: Judgements, n_groups: int, options: Mapping[str, str], keys: Collection[str]) -> Influences:
        other, pool, votes = rows.crossed, rows.pool, rows.votes
        if votes is not None and votes.is_gold(rows.gold):
            return _with_annotators(lambda some: of_groups(some, n_groups, options, keys), rows, votes)
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


def _with_annotators(of: Callable[[Judgements], Influences], rows: Judgements, votes: GoldVotes) -> Influences:
    """Return influence values by groups and by annotators; each annotator's votes are left out in turn (jackknife).

    of: returns the influence values of rows by groups. None for a measure that is undefined without some annotator.
    """
    without = []
    for annotator in range(votes.values.shape[1]):
        gold = votes.without(annotator, rows.gold)
        without.append(of(replace(rows, gold=gold).rows(~np.isnan(gold))))
    vote_counts = np.count_nonzero(~np.isnan(votes.values), axis=0)
    influences: dict[str, Influence | None] = {}
    for key, whole in of(rows).items():
        left_out = [influence for each in without if (influence := each[key])]
        defined = len(left_out) == len(without)
        influences[key] = of_annotators(whole, left_out, vote_counts) if whole and defined else None
    return influences
