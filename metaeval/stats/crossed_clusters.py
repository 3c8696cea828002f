"""Influence values of groups that are crossed with other clusters: articles that are all summarised by each system.

The variance is that over both: of groups, plus of the other clusters, less that of the rows that share both, which the
first two hold twice (Cameron, Gelbach and Miller, "Robust inference with multiway clustering", 2011). By chance it can
fall below that of one clustering, or below 0. There the largest of the three is taken (MacKinnon, Nielsen and Webb,
"Jackknife inference with two-way clustering", 2024), so that an interval is never shorter than that of one clustering.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from metaeval.stats.arrays import Ints
from metaeval.stats.influence import Influence, of_left_out


@dataclass(frozen=True, eq=False)
class CrossedInfluence(Influence):
    """The influence values of groups, of the clusters that cross them (`other`), and of their intersections (`shared`).

    An intersection is the rows of one group and one other cluster. of_votes: whether the other clusters are annotators
    of the gold; an intersection is then an annotator's votes in a group.
    """

    other: Influence = field(kw_only=True)
    shared: Influence = field(kw_only=True)
    of_votes: bool = field(default=False, kw_only=True)

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
        if self.of_votes:  # the variance of groups holds the errors of votes that an annotator has in one group only
            return math.sqrt(max(both, separate[0]))
        nested = self.shared.groups in [clustering.groups for clustering in self.clusterings]
        return math.sqrt(max(both, 0.0) if nested else max(both, *separate))

    @cached_property
    def effective_groups(self) -> float:
        """The effective number of groups or of other clusters, whichever is smaller.

        Of groups and annotators, one more than Satterthwaite's degrees of freedom of the sum of both variances, and at
        most the groups.
        """
        groups, others = (clustering.effective_groups for clustering in self.clusterings)
        if not self.of_votes or not self.standard_error > 0:
            return min(groups, others)
        share = self.clusterings[0].standard_error ** 2 / self.standard_error**2
        return min(groups, 1 + 1 / (share**2 / max(groups - 1, 1) + (1 - share) ** 2 / max(others - 1, 1)))

    def __sub__(self, other: Influence) -> Influence:
        """Return the influence values of the difference of one measure of two metrics on the same rows and clusters."""
        by_group = self.clusterings[0] - other
        if not isinstance(other, CrossedInfluence):
            return by_group
        return crossed_influence(by_group, self.other - other.other, self.shared - other.shared, self.of_votes)


def crossed_influence(
    groups: Influence, other: Influence, shared: Influence, of_votes: bool = False
) -> CrossedInfluence:
    """Return two-way influence values from those by groups, by other clusters and by their intersections."""
    by_group = groups.value, groups.parts, groups.rows, groups.ends, groups.levels, groups.error
    return CrossedInfluence(*by_group, other=other, shared=shared, of_votes=of_votes)


def of_annotators(groups: Influence, without: Sequence[Influence], votes: Ints) -> CrossedInfluence | None:
    """Return the influence values of groups crossed with A annotators, whose votes are left out of the gold in turn.

    groups: with all votes. without: A elements, those with the gold of all annotators but one. votes: (A,) number of
    each annotator's votes. None with fewer than two annotators that have votes, or where a value is NaN.
    """
    left_out = np.array([groups.value, *(influence.value for influence in without)])
    by_annotator = of_left_out(left_out, votes, groups.ends)
    if by_annotator is None:
        return None
    contributions = np.array([influence.parts.sum(axis=0) for influence in without])[votes > 0]
    # As of the annotators' own jackknife, about the mean: the gold of fewer votes has another value everywhere.
    part = math.sqrt(1 - 1 / len(contributions)) * (contributions - contributions.mean(axis=0)).reshape(1, -1)
    by_both = Influence(groups.value, part, np.ones(part.shape, dtype=np.int64))
    return crossed_influence(groups, by_annotator, by_both, True)
