"""What a multiverse says (who is first how often, which choices move ranks, which metrics swap), and its tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.errors import UserError
from metaeval.files import write_text
from metaeval.reading import read_json
from metaeval.report.notebook import Recorded
from metaeval.report.result import Value
from metaeval.report.table import UNDEFINED, Note, Table, TableRow, blocks_of, count, grouped

Specification = tuple[tuple[str, str], ...]

MULTIVERSE = "metaeval-multiverse/1"
"""The schema of multiverse.json."""


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

    held: axes kept at one value because the data do not depend on them, with that value. demo: of demo data.
    """

    dataset: str
    split: str
    held: Mapping[str, str]
    outlooks: list[Outlook]
    skipped: list[tuple[Mapping[str, str], str]]
    demo: bool = False

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
_SWAPPED = "of these metrics it depends on the choices; specifications in which each is above the other"
_SHARES = (
    "a share is what a choice explains alone, over the specifications that have it; where not every combination "
    "exists, shares can overlap"
)


def write_multiverse(found: Multiverse, folder: Path) -> list[Path]:
    """Write multiverse.json into a folder; its path. The same outlooks give the same bytes."""
    write_text(folder / "multiverse.json", as_json(found))
    return [folder / "multiverse.json"]


def load_multiverse(path: Path) -> Multiverse:
    """Read multiverse.json; `UserError` where a field is wrong or missing."""
    data = read_json(path, "give a multiverse.json that metaeval wrote")
    try:
        return Multiverse(
            dataset=data["dataset"],
            split=data["split"],
            held=data["held"],
            outlooks=[Outlook(**one) for one in data["outlooks"]],
            skipped=[(one["choices"], one["reason"]) for one in data["skipped"]],
            demo=data.get("demo", False),
        )
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is not a multiverse as metaeval writes it: {error}.") from error


def multiverse_tables(found: Multiverse) -> list[Table]:
    """For each protocol who is first how often, which choices move ranks, and, along a single choice, every value.

    What holds of all of them stands below the last. The first holds every outlook as a record.
    """
    made = [grid for protocol, own in by_protocol(found.outlooks) for grid in _grids(found, protocol, own)]
    notes = [
        Note("held", f"{axis} at {value}: these data {_HELD.get(axis, 'do not depend on it')}")
        for axis, value in found.held.items()
    ]
    if found.skipped:
        skipped = [(", ".join(f"{axis}={value}" for axis, value in one.items()), why) for one, why in found.skipped]
        said = f"{count(len(skipped), 'combination')} that could not be run, or tell no metrics apart"
        notes.append(Note("skipped", said, tuple(skipped)))
    made[:1] = [replace(grid, records=found.records) for grid in made[:1]]
    made[-1:] = [replace(grid, footer=(*grid.footer, *notes)) for grid in made[-1:]]
    return [grid.noting(found.demo) for grid in made]


def _grids(found: Multiverse, protocol: str, outlooks: Sequence[Outlook]) -> Iterator[Table]:
    known = {specification(outlook) for outlook in outlooks}
    unranked = len(known - {specification(outlook) for outlook in outlooks if outlook.rank is not None})
    over = f"{found.dataset}, {found.split}: {outlooks[0].measure} over {count(len(known), 'specification')}"

    def table(
        name: str, what: str, stub: str, headings: Sequence[str], rows: Iterable[TableRow], *notes: Note
    ) -> Table:
        return Table(
            key=("multiverse", found.dataset, found.split, protocol, name),
            title=f"{what} under {protocol}",
            subtitle=over,
            headings=tuple(headings),
            blocks=blocks_of(rows),
            footer=notes,
            stub=stub,
        )

    swapped = tuple((f"{one.one}, {one.other}", f"{one.one_above:,}, {one.other_above:,}") for one in swaps(outlooks))
    notes = [Note("order", _SWAPPED, swapped) if swapped else Note("order", "no two metrics swap places")]
    if unranked:
        notes.append(Note("unranked", f"{unranked:,} specifications: every metric has the same value there, or none"))
    rows: list[TableRow] = []
    for one in standings(outlooks):
        first = f"{one.first:,} of {one.specifications:,} ({100 * one.share_first:.0f} %)"
        ends = (map(str, one.ranks), map("{:.3f}".format, one.values))
        rows.append(("", one.metric, (first, *(" to ".join(dict.fromkeys(own)) for own in ends))))
    yield table("ranks", "Ranks", "metric", ("first in", "rank", "value"), rows, *notes)
    axes = dict.fromkeys(axis for one in outlooks for axis in one.choices)
    several = [axis for axis in axes if len({one.choices.get(axis) for one in outlooks}) > 1]
    if len(several) == 1:
        metrics = list(dict.fromkeys(one.metric for one in outlooks))
        found_at = {(one.choices.get(several[0], UNDEFINED), one.metric): one.value for one in outlooks}
        choices = dict.fromkeys(choice for choice, _ in found_at)
        along = [(choice, [found_at[choice, one] for one in metrics]) for choice in choices]
        rows = [("", choice, [UNDEFINED if one is None else f"{one:.3f}" for one in own]) for choice, own in along]
        yield table("values", "Every value", several[0], metrics, rows)
    if moved := influences(outlooks):
        rows = [("", one.axis, [UNDEFINED if one.share is None else f"{100 * one.share:.1f} %"]) for one in moved]
        note = Note("reading", _SHARES if any(one.share for one in moved) else "no choice moves a rank")
        yield table("choices", "What moves ranks", "choice", ("share of the variance of ranks",), rows, note)


def as_json(found: Multiverse) -> str:
    """All outlooks as indented JSON; the same outlooks give the same bytes."""
    data = {
        "schema": MULTIVERSE,
        "dataset": found.dataset,
        "split": found.split,
        **({"demo": True} if found.demo else {}),
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


def ranks_of(values: Mapping[str, float | None]) -> dict[str, int | None]:
    """The rank of each metric by its value; no ranks where all have one value."""
    known = [value for value in values.values() if value is not None]
    if len(known) > 1 and len(set(known)) == 1:
        return dict.fromkeys(values)
    return {
        metric: None if value is None else 1 + sum(other > value for other in known) for metric, value in values.items()
    }


def value_under(found: Value | None, policy: str) -> float | None:
    """A value under a policy for ties: expected, worst or best; "" where there are no ties."""
    if found is None or policy in ("", "expected") or found.ties is None:
        return None if found is None else found.value
    return found.ties[0] if policy == "worst" else found.ties[1]
