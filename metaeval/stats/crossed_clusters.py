"""Influence values of groups that are crossed with other clusters: articles that are all summarised by each system.

The variance is that over both: of groups, plus of the other clusters, less that of the rows that share both, which the
first two hold twice (Cameron, Gelbach and Miller, "Robust inference with multiway clustering", 2011). By chance it can
fall below that of one clustering, or below 0. There the largest of the three is taken (MacKinnon, Nielsen and Webb,
"Jackknife inference with two-way clustering", 2024), so that an interval is never shorter than that of one clustering.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from metaeval.stats.influence import Influence


@dataclass(frozen=True, eq=False)
class CrossedInfluence(Influence):
    """The influence values of groups, of the clusters that cross them (`other`), and of their intersections (`shared`).

    An intersection is the rows of one group and one other cluster.
    """

    other: Influence = field(kw_only=True)
    shared: Influence = field(kw_only=True)

    @property
    def clusterings(self) -> tuple[Influence, ...]:
        """Return the influence values of groups, and those of the other clusters, in this order."""
        return Influence(self.value, self.parts, self.rows, self.ends, self.levels, self.error), self.other

    @cached_property
    def standard_error(self) -> float:
        """Two-way cluster standard error; NaN where that of a clustering is undefined.

        Where each group lies in one other cluster, or each other cluster in one group, it is that of the outer
        clustering.
        """
        separate = [clustering.standard_error**2 for clustering in self.clusterings]
        both = sum(separate) - self.shared.standard_error**2
        if math.isnan(both):
            return both
        nested = self.shared.groups in [clustering.groups for clustering in self.clusterings]
        return math.sqrt(max(both, 0.0) if nested else max(both, *separate))

    @cached_property
    def effective_groups(self) -> float:
        """The effective number of groups or of other clusters, whichever is smaller."""
        return min(clustering.effective_groups for clustering in self.clusterings)

    def __sub__(self, other: Influence) -> Influence:
        """Return the influence values of the difference of one measure of two metrics on the same rows and clusters."""
        by_group = self.clusterings[0] - other
        if not isinstance(other, CrossedInfluence):
            return by_group
        return crossed_influence(by_group, self.other - other.other, self.shared - other.shared)


def crossed_influence(groups: Influence, other: Influence, shared: Influence) -> CrossedInfluence:
    """Return two-way influence values from those by groups, by other clusters and by their intersections."""
    by_group = groups.value, groups.parts, groups.rows, groups.ends, groups.levels, groups.error
    return CrossedInfluence(*by_group, other=other, shared=shared)
