"""The results of a multiverse (first ranks, choices that change ranks, metrics that swap places), and its tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.core.errors import UserError, count
from metaeval.core.files import write_text
from metaeval.core.parsing import read_json
from metaeval.report.data_frame import Recorded
from metaeval.report.table import UNDEFINED, Note, Table, TableRow, blocks_of, grouped
from metaeval.stats.estimate import Estimate

Specification = tuple[tuple[str, str], ...]

MULTIVERSE = "metaeval-multiverse/1"  # the schema of multiverse.json


@dataclass(frozen=True)
class Outlook:
    """The value and rank of one metric under one specification, that is one combination of analysis choices.

    Parameters
    ----------
    protocol, measure : str
        Name of the protocol, and key of its measure.
    choices : mapping of str to str
        The value of each axis of the multiverse, without axes that the protocol or the unit does not depend on.
    metric : str
        Its name.
    value : float or None
        Raw; None where undefined.
    rank : int or None
        1 + the number of metrics above it. None without a value, and where all metrics have one value, so that nothing
        is ranked: NDCG over pools of a single candidate is 1 for every metric.
    """

    protocol: str
    measure: str
    choices: Mapping[str, str]
    metric: str
    value: float | None
    rank: int | None


@dataclass(frozen=True, repr=False)
class Multiverse(Recorded):
    """Every metric's value under every specification on one data set, and the combinations that could not be run.

    Parameters
    ----------
    dataset, split : str
        The data.
    held : mapping of str to str
        Axes kept at one value because the data do not depend on them, with that value.
    outlooks : list of Outlook
        The values.
    skipped : list of (mapping, str)
        Choices and the reason.
    demo : bool, default False
        Whether the data are demo data.
    """

    dataset: str
    split: str
    held: Mapping[str, str]
    outlooks: list[Outlook]
    skipped: list[tuple[Mapping[str, str], str]]
    demo: bool = False

    @property
    def records(self) -> list[dict[str, Any]]:
        """Return every outlook as a record; a choice that makes no difference to it is empty."""
        axes = list(dict.fromkeys(axis for outlook in self.outlooks for axis in outlook.choices))
        outcomes = ({field: getattr(outlook, field) for field in _OUTCOME} for outlook in self.outlooks)
        choices = ({axis: outlook.choices.get(axis, "") for axis in axes} for outlook in self.outlooks)
        return [outcome | chosen for outcome, chosen in zip(outcomes, choices, strict=True)]

    def __repr__(self) -> str:
        of = f"{self.dataset}/{self.split}, {len(self.outlooks):,} outlooks"
        return f"<Multiverse: {of}; {len(self.skipped):,} combinations left out>"


def standings(outlooks: Sequence[Outlook]) -> list[dict[str, Any]]:
    """Return a record of each metric over the specifications in which it has a rank, the most often first one first.

    specifications: their number. first: of those in which no metric is above it; two metrics can share one. ranks:
    (best, worst) rank. values: (lowest, highest) raw value.
    """
    ranked = []
    for metric, of_metric in grouped((outlook.metric, outlook) for outlook in outlooks).items():
        ranks = [o.rank for o in of_metric if o.rank is not None]
        values = [o.value for o in of_metric if o.value is not None]
        if ranks:
            record = {"metric": metric, "specifications": len(ranks), "first": ranks.count(1)}
            ranked.append(record | {"ranks": (min(ranks), max(ranks)), "values": (min(values), max(values))})
    return sorted(ranked, key=lambda of: (-of["first"] / of["specifications"], of["ranks"], of["metric"]))


def influences(outlooks: Sequence[Outlook]) -> dict[str, float | None]:
    """Return how much of the variance of ranks each choice with several values explains, the largest share first.

    The share is that of a one-way analysis of variance, pooled over the metrics: the sum of squares between the
    choice's values over the total sum of squares about each metric's own mean rank. It is None where no rank ever
    changes; shares of two choices may overlap where not every combination was run.
    """
    explained: dict[str, float | None] = {}
    for axis in dict.fromkeys(axis for outlook in outlooks for axis in outlook.choices):
        taken = {outlook.choices[axis] for outlook in outlooks if axis in outlook.choices and outlook.rank is not None}
        if len(taken) > 1:
            known = grouped(
                (o.metric, (o.choices[axis], o.rank)) for o in outlooks if o.rank is not None and axis in o.choices
            )
            between = total = 0.0
            for ranks in map(grouped, known.values()):
                every_rank = np.array([rank for level in ranks.values() for rank in level], dtype=np.float64)
                total += float(((every_rank - every_rank.mean()) ** 2).sum())
                between += sum(len(of) * float(np.mean(of) - every_rank.mean()) ** 2 for of in ranks.values())
            explained[axis] = between / total if total else None
    return dict(sorted(explained.items(), key=lambda item: (-(item[1] or 0.0), item[0])))


def swaps(outlooks: Sequence[Outlook]) -> list[tuple[str, str, int, int]]:
    """Return the pairs of metrics that change places between specifications, the most balanced pair first.

    Each has the two names, and the numbers of specifications with the first and with the second above.
    """
    known = grouped((o.metric, (specification(o), o.value)) for o in outlooks if o.value is not None)
    values = {metric: dict(of_metric) for metric, of_metric in known.items()}
    swapped = []
    for first, other in combinations(values, 2):
        both = values[first].keys() & values[other].keys()
        above = sum(values[first][key] > values[other][key] for key in both)
        below = sum(values[first][key] < values[other][key] for key in both)
        if above and below:
            swapped.append((first, other, above, below))
    return sorted(swapped, key=lambda swap: (-min(swap[2:]), swap[:2]))


def specification(outlook: Outlook) -> Specification:
    """Return the analysis choices of an outlook as a key; it is the same for all metrics under the same choices."""
    return tuple(outlook.choices.items())


def by_protocol(outlooks: Sequence[Outlook]) -> Iterator[tuple[str, list[Outlook]]]:
    """Yield each protocol with its outlooks; ranks of two protocols are never pooled."""
    yield from grouped((outlook.protocol, outlook) for outlook in outlooks).items()


_HELD = {"evidence.rule": "mark no evidence", "evidence.threshold": "give evidence as sentence indices, or none"}
_SWAP = ("one", "other", "one_above", "other_above")  # fields of a swap in the file
_OUTCOME = ("protocol", "measure", "metric", "value", "rank")
_SWAPPED = "of these metrics it depends on the choices; specifications in which each is above the other"
_SHARES = "a share is what a choice explains alone; where not every combination exists, shares can overlap"


def write_multiverse(multiverse: Multiverse, folder: Path) -> list[Path]:
    """Write multiverse.json into a folder and return its path in a list; the same outlooks give the same bytes."""
    write_text(folder / "multiverse.json", as_json(multiverse))
    return [folder / "multiverse.json"]


def load_multiverse(path: Path) -> Multiverse:
    """Read multiverse.json; raises `UserError` where a field is wrong or missing."""
    data = read_json(path, "give a multiverse.json that metaeval wrote")
    try:
        return Multiverse(
            dataset=data["dataset"],
            split=data["split"],
            held=data["held"],
            outlooks=[Outlook(**outlook) for outlook in data["outlooks"]],
            skipped=[(combination["choices"], combination["reason"]) for combination in data["skipped"]],
            demo=data.get("demo", False),
        )
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is not a multiverse file that metaeval wrote (missing or wrong: {error}).") from error


def multiverse_tables(multiverse: Multiverse) -> list[Table]:
    """Return for each protocol the table of ranks, that of all values if a single choice varies, and that of choices.

    Notes that hold for all of them are below the last. The first table has every outlook as a record.
    """
    tables: list[Table] = []
    for protocol, outlooks in by_protocol(multiverse.outlooks):
        tables += _grids(multiverse, protocol, outlooks)
    reasons = {axis: _HELD.get(axis, "do not depend on it") for axis in multiverse.held}
    notes = [Note("held", f"{axis} at {at}: these data {reasons[axis]}") for axis, at in multiverse.held.items()]
    if multiverse.skipped:
        skipped = [(", ".join(map("=".join, choices.items())), why) for choices, why in multiverse.skipped]
        reason = f"{count(len(skipped), 'combination')} that could not be run, or give every metric the same value"
        notes.append(Note("skipped", reason, tuple(skipped)))
    tables[:1] = [replace(grid, records=multiverse.records) for grid in tables[:1]]
    tables[-1:] = [replace(grid, footer=(*grid.footer, *notes)) for grid in tables[-1:]]
    return [grid.noting(multiverse.demo) for grid in tables]


def _grids(multiverse: Multiverse, protocol: str, outlooks: Sequence[Outlook]) -> Iterator[Table]:
    known = {specification(outlook) for outlook in outlooks}
    unranked = len(known - {specification(outlook) for outlook in outlooks if outlook.rank is not None})
    over = f"{multiverse.dataset}, {multiverse.split}: {outlooks[0].measure} over {count(len(known), 'specification')}"

    def table(
        name: str, what: str, stub: str, headings: Sequence[str], rows: Iterable[TableRow], *notes: Note
    ) -> Table:
        key, title = ("multiverse", multiverse.dataset, multiverse.split, protocol, name), f"{what} under {protocol}"
        return Table(key, title, over, tuple(headings), blocks_of(rows), footer=notes, stub=stub)

    swapped = tuple((f"{first}, {other}", f"{above:,}, {below:,}") for first, other, above, below in swaps(outlooks))
    notes = [Note("order", _SWAPPED, swapped) if swapped else Note("order", "no two metrics swap places")]
    if unranked:
        notes.append(Note("unranked", f"{count(unranked, 'specification')}: every metric has one value there, or none"))
    rows: list[TableRow] = []
    for standing in standings(outlooks):
        first, of = standing["first"], standing["specifications"]
        ends = (map(str, standing["ranks"]), map("{:.3f}".format, standing["values"]))
        spans = (" to ".join(dict.fromkeys(span)) for span in ends)
        rows.append(("", standing["metric"], (f"{first:,} of {of:,} ({100 * first / of:.0f} %)", *spans)))
    yield table("ranks", "Ranks", "metric", ("first in", "rank", "value"), rows, *notes)
    axes = dict.fromkeys(axis for outlook in outlooks for axis in outlook.choices)
    several = [axis for axis in axes if len({outlook.choices.get(axis) for outlook in outlooks}) > 1]
    if len(several) == 1:
        metrics = list(dict.fromkeys(outlook.metric for outlook in outlooks))
        every: list[TableRow] = []
        value_at = {(outlook.choices.get(several[0], UNDEFINED), outlook.metric): outlook.value for outlook in outlooks}
        for choice in dict.fromkeys(choice for choice, _ in value_at):
            values = (value_at[choice, metric] for metric in metrics)
            every.append(("", choice, [UNDEFINED if value is None else f"{value:.3f}" for value in values]))
        yield table("values", "Every value", several[0], metrics, every)
    if moved := influences(outlooks):
        rows = [("", axis, [UNDEFINED if x is None else f"{100 * x:.1f} %"]) for axis, x in moved.items()]
        note = Note("reading", _SHARES if any(moved.values()) else "no choice moves a rank")
        yield table("choices", "What moves ranks", "choice", ("share of the variance of ranks",), rows, note)


def as_json(multiverse: Multiverse) -> str:
    """Return all outlooks as indented JSON; the same outlooks give the same bytes."""
    data = {
        "schema": MULTIVERSE,
        "dataset": multiverse.dataset,
        "split": multiverse.split,
        **({"demo": True} if multiverse.demo else {}),
        "held": dict(multiverse.held),
        "outlooks": [{**vars(outlook), "choices": dict(outlook.choices)} for outlook in multiverse.outlooks],
        "skipped": [{"choices": dict(choices), "reason": reason} for choices, reason in multiverse.skipped],
        "summary": {
            protocol: {
                "standings": standings(outlooks),
                "influences": [{"axis": axis, "share": share} for axis, share in influences(outlooks).items()],
                "swaps": [dict(zip(_SWAP, swap, strict=True)) for swap in swaps(outlooks)],
            }
            for protocol, outlooks in by_protocol(multiverse.outlooks)
        },
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def ranks_of(values: Mapping[str, float | None]) -> dict[str, int | None]:
    """Return the rank of each metric by its value, 1 the highest; None without a value, and if all (of several) tie."""
    known = [value for value in values.values() if value is not None]
    if len(known) > 1 and len(set(known)) == 1:
        return dict.fromkeys(values)
    return {name: None if of is None else 1 + sum(other > of for other in known) for name, of in values.items()}


def value_under(estimate: Estimate | None, policy: str) -> float | None:
    """Return the value in the worst or best order of tied scores, or ("expected", "") over all; None if undefined."""
    if estimate is None or policy in ("", "expected") or estimate.ties is None:
        return None if estimate is None else estimate.value
    return estimate.ties[0] if policy == "worst" else estimate.ties[1]
