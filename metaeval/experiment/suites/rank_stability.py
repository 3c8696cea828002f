"""What a multiverse says: how often a metric is first, how far its rank moves, which choices move it, who swaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metaeval.experiment.suites.multiverse import Outlook

Specification = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Standing:
    """A metric over the specifications in which it has a rank: their number, its ranks, and all of its values.

    first: the specifications in which no metric is above it; two metrics can share one.
    """

    metric: str
    specifications: int
    first: int
    ranks: tuple[int, int]
    values: tuple[float, float]

    @property
    def share_first(self) -> float:
        """Share of the specifications in which no metric is above it."""
        return self.first / self.specifications


@dataclass(frozen=True)
class Influence:
    """How much of the variance of ranks one choice explains alone, over the specifications that have the choice.

    None where no rank ever moves. Shares of two choices may overlap where not every combination was run.
    """

    axis: str
    share: float | None


@dataclass(frozen=True)
class Swap:
    """Two metrics whose order depends on the choices: in how many specifications each is above the other."""

    one: str
    other: str
    one_above: int
    other_above: int


def standings(outlooks: Sequence[Outlook]) -> list[Standing]:
    """One per metric that has a value somewhere, the most often first at the top."""
    found = []
    for metric in dict.fromkeys(outlook.metric for outlook in outlooks):
        own = [o for o in outlooks if o.metric == metric]
        ranks = [o.rank for o in own if o.rank is not None]
        values = [o.value for o in own if o.value is not None]
        if ranks:
            ends = (min(ranks), max(ranks)), (min(values), max(values))
            found.append(Standing(metric, len(ranks), ranks.count(1), *ends))
    return sorted(found, key=lambda one: (-one.share_first, one.ranks, one.metric))


def influences(outlooks: Sequence[Outlook]) -> list[Influence]:
    """One per choice that takes several values where anything is ranked, the most influential first.

    The share is that of a one-way analysis of variance, pooled over the metrics: the sum of squares between the
    choice's values over the total sum of squares about each metric's own mean rank.
    """
    axes = dict.fromkeys(axis for outlook in outlooks for axis in outlook.choices)
    found = [Influence(axis, _explained(axis, outlooks)) for axis in axes if len(_taken(axis, outlooks)) > 1]
    return sorted(found, key=lambda one: (-(one.share or 0.0), one.axis))


def swaps(outlooks: Sequence[Outlook]) -> list[Swap]:
    """The pairs of metrics of which each is above the other somewhere, the most even first."""
    by_metric = _values(outlooks)
    found = []
    for one, other in combinations(by_metric, 2):
        both = by_metric[one].keys() & by_metric[other].keys()
        above = sum(by_metric[one][key] > by_metric[other][key] for key in both)
        below = sum(by_metric[one][key] < by_metric[other][key] for key in both)
        if above and below:
            found.append(Swap(one, other, above, below))
    return sorted(found, key=lambda swap: (-min(swap.one_above, swap.other_above), swap.one, swap.other))


def specification(outlook: Outlook) -> Specification:
    """An outlook's choices as a key: the same for every metric under the same choices."""
    return tuple(outlook.choices.items())


def by_protocol(outlooks: Sequence[Outlook]) -> Iterator[tuple[str, list[Outlook]]]:
    """The outlooks of each protocol; ranks of two protocols are never pooled."""
    for protocol in dict.fromkeys(outlook.protocol for outlook in outlooks):
        yield protocol, [outlook for outlook in outlooks if outlook.protocol == protocol]


def _taken(axis: str, outlooks: Sequence[Outlook]) -> set[str]:
    return {o.choices[axis] for o in outlooks if axis in o.choices and o.rank is not None}


def _explained(axis: str, outlooks: Sequence[Outlook]) -> float | None:
    between = total = 0.0
    for metric in dict.fromkeys(outlook.metric for outlook in outlooks):
        ranks: dict[str, list[int]] = {}
        for outlook in outlooks:
            if outlook.metric == metric and outlook.rank is not None and axis in outlook.choices:
                ranks.setdefault(outlook.choices[axis], []).append(outlook.rank)
        own = np.array([rank for level in ranks.values() for rank in level], dtype=np.float64)
        if own.size:
            total += float(((own - own.mean()) ** 2).sum())
            between += sum(len(level) * float(np.mean(level) - own.mean()) ** 2 for level in ranks.values())
    return between / total if total else None


def _values(outlooks: Sequence[Outlook]) -> Mapping[str, Mapping[Specification, float]]:
    found: dict[str, dict[Specification, float]] = {}
    for outlook in outlooks:
        if outlook.value is not None:
            found.setdefault(outlook.metric, {})[specification(outlook)] = outlook.value
    return found
