"""What a multiverse says (who is first how often, which choices move ranks, which metrics swap), and its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.files import csv_text, write_texts
from metaeval.report.grid import grouped
from metaeval.report.markdown import escape
from metaeval.report.notebook import Recorded
from metaeval.shown import Shown

Specification = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Outlook:
    """One metric under one specification. `rank` is 1 + the number of metrics above it.

    value is None where undefined; rank too, and where all metrics have one value, so that nothing is ranked: NDCG
    over pools of a single candidate is 1 for every metric.
    choices: axis -> value; of an axis that the protocol or the unit does not depend on there is none.
    """

    protocol: str
    measure: str
    choices: Mapping[str, str]
    metric: str
    value: float | None
    rank: int | None


@dataclass(frozen=True, repr=False)
class Multiverse(Recorded):
    """All outlooks of one data set, and the combinations that could not be run, with the reason of each.

    held: axes kept at one value because the data do not depend on them, with that value.
    """

    dataset: str
    split: str
    held: Mapping[str, str]
    outlooks: list[Outlook]
    skipped: list[tuple[Mapping[str, str], str]]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every outlook; a choice that makes no difference to it is empty."""
        axes = list(dict.fromkeys(axis for one in self.outlooks for axis in one.choices))
        return [
            {**{field: getattr(one, field) for field in _OUTCOME}, **{axis: one.choices.get(axis, "") for axis in axes}}
            for one in self.outlooks
        ]

    def __repr__(self) -> str:
        of = f"{self.dataset}/{self.split}, {len(self.outlooks):,} outlooks"
        return f"<Multiverse: {of}; {len(self.skipped):,} combinations left out>"


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
    for metric, own in grouped((outlook.metric, outlook) for outlook in outlooks).items():
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
    found = []
    for axis in axes:
        taken = {one.choices[axis] for one in outlooks if axis in one.choices and one.rank is not None}
        if len(taken) > 1:
            found.append(Influence(axis, _explained(axis, outlooks)))
    return sorted(found, key=lambda one: (-(one.share or 0.0), one.axis))


def swaps(outlooks: Sequence[Outlook]) -> list[Swap]:
    """The pairs of metrics of which each is above the other somewhere, the most even first."""
    known = grouped((one.metric, (specification(one), one.value)) for one in outlooks if one.value is not None)
    values = {metric: dict(own) for metric, own in known.items()}
    found = []
    for one, other in combinations(values, 2):
        both = values[one].keys() & values[other].keys()
        above = sum(values[one][key] > values[other][key] for key in both)
        below = sum(values[one][key] < values[other][key] for key in both)
        if above and below:
            found.append(Swap(one, other, above, below))
    return sorted(found, key=lambda swap: (-min(swap.one_above, swap.other_above), swap.one, swap.other))


def specification(outlook: Outlook) -> Specification:
    """An outlook's choices as a key: the same for every metric under the same choices."""
    return tuple(outlook.choices.items())


def by_protocol(outlooks: Sequence[Outlook]) -> Iterator[tuple[str, list[Outlook]]]:
    """The outlooks of each protocol; ranks of two protocols are never pooled."""
    yield from grouped((outlook.protocol, outlook) for outlook in outlooks).items()


def _explained(axis: str, outlooks: Sequence[Outlook]) -> float | None:
    between = total = 0.0
    known = grouped((o.metric, (o.choices[axis], o.rank)) for o in outlooks if o.rank is not None and axis in o.choices)
    for placed in known.values():
        ranks = grouped(placed)
        own = np.array([rank for level in ranks.values() for rank in level], dtype=np.float64)
        total += float(((own - own.mean()) ** 2).sum())
        between += sum(len(level) * float(np.mean(level) - own.mean()) ** 2 for level in ranks.values())
    return between / total if total else None


_HELD = {"evidence.rule": "mark no evidence", "evidence.threshold": "give evidence as sentence indices, or none"}
_OUTCOME = ("protocol", "measure", "metric", "value", "rank")


def write_multiverse(found: Multiverse, folder: Path) -> list[Path]:
    """Write multiverse.csv, .json and .md into a folder; the paths. The same outlooks give the same bytes."""
    records = found.records
    rows = [list(records[0]) if records else _OUTCOME, *(list(one.values()) for one in records)]  # numbers in full
    texts = {"csv": csv_text(rows), "json": as_json(found), "md": markdown(found)}
    return write_texts({folder / f"multiverse.{suffix}": text for suffix, text in texts.items()})


def markdown(found: Multiverse) -> str:
    """The report: for each protocol who is first how often, which choices move ranks, and which metrics swap."""
    blocks = [f"# Multiverse: {_said(found.dataset)}, {_said(found.split)}"]
    blocks += [
        f"{_code(axis)} was held at {Shown(value)}: these data {_HELD.get(axis, 'do not depend on it')}."
        for axis, value in found.held.items()
    ]
    for protocol, outlooks in by_protocol(found.outlooks):
        blocks += _protocol(protocol, outlooks)
    if found.skipped:
        named = [(", ".join(f"{axis}={value}" for axis, value in one.items()), reason) for one, reason in found.skipped]
        blocks += [
            f"## Left out\n\n{len(found.skipped)} combinations could not be run, or tell no metrics apart.",
            "\n".join(f"- {_said(choices)}: {_said(reason)}" for choices, reason in named),
        ]
    return "\n\n".join(blocks) + "\n"


def _protocol(protocol: str, outlooks: Sequence[Outlook]) -> Iterator[str]:
    count = len({specification(outlook) for outlook in outlooks})
    unranked = count - len({specification(outlook) for outlook in outlooks if outlook.rank is not None})
    specifications = "1 specification" if count == 1 else f"{count:,} specifications"
    yield f"## {_said(protocol)}: {_said(outlooks[0].measure)} over {specifications}"
    if unranked:
        yield f"{unranked:,} of them rank nothing: every metric has the same value there, or none."
    rows = [
        (
            *(_said(one.metric), f"{one.first:,} of {one.specifications:,} ({100 * one.share_first:.0f} %)"),
            " to ".join(map(str, dict.fromkeys(one.ranks))),
            f"{one.values[0]:.3f} to {one.values[1]:.3f}",
        )
        for one in standings(outlooks)
    ]
    yield _table(("metric", "first in", "rank", "value"), rows)
    axes = dict.fromkeys(axis for one in outlooks for axis in one.choices)
    several = [axis for axis in axes if len({one.choices.get(axis) for one in outlooks}) > 1]
    if len(several) == 1:
        yield _along(several[0], outlooks)
    moved = influences(outlooks)
    yield _moved([one for one in moved if one.share][:2])
    if moved:
        shares = [(_said(one.axis), "-" if one.share is None else f"{100 * one.share:.1f} %") for one in moved]
        yield _table(("choice", "share of the variance of ranks"), shares)
    lines = [f"- {_said(one.one)} {one.one_above:,}, {_said(one.other)} {one.other_above:,}" for one in swaps(outlooks)]
    swapped = "Pairs whose order depends on the choices, and in how many specifications each is above:"
    yield "\n".join([swapped, "", *lines]) if lines else "No two metrics swap places."


def _along(axis: str, outlooks: Sequence[Outlook]) -> str:
    """Every value: the choices of one axis down, metrics across."""
    metrics = list(dict.fromkeys(one.metric for one in outlooks))
    found = {(one.choices.get(axis, "-"), one.metric): one.value for one in outlooks}
    rows = [
        [_said(choice), *("-" if (value := found[choice, one]) is None else f"{value:.3f}" for one in metrics)]
        for choice in dict.fromkeys(choice for choice, _ in found)
    ]
    return _table((_said(axis), *map(_said, metrics)), rows)


def _moved(most: Sequence[Influence]) -> str:
    if not most:
        return "No choice moves a rank."
    named = " and ".join(f"{_code(one.axis)} ({100 * (one.share or 0):.0f} %)" for one in most)
    return (
        f"Ranks move most with {named}: the share of the variance of ranks that a choice explains alone, over the "
        "specifications that have it. Where not every combination exists, shares can overlap."
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = [":--", *("--:" for _ in headings[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, marks, *rows))


def _said(text: str) -> str:
    return escape(Shown(text))


def _code(text: str) -> str:
    return "`{}`".format(Shown(text).replace("`", "'"))


def as_json(found: Multiverse) -> str:
    """All outlooks as indented JSON; the same outlooks give the same bytes."""
    data = {
        "schema": "metaeval-multiverse/1",
        "dataset": found.dataset,
        "split": found.split,
        "held": dict(found.held),
        "outlooks": [{**vars(one), "choices": dict(one.choices)} for one in found.outlooks],
        "skipped": [{"choices": dict(choices), "reason": reason} for choices, reason in found.skipped],
        "summary": {
            protocol: {
                "standings": [vars(one) for one in standings(outlooks)],
                "influences": [vars(one) for one in influences(outlooks)],
                "swaps": [vars(one) for one in swaps(outlooks)],
            }
            for protocol, outlooks in by_protocol(found.outlooks)
        },
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
