"""How much annotation it takes to tell two metrics apart, with these data as a pilot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import numpy as np

from metaeval import registry
from metaeval.config import RunConfig
from metaeval.errors import UserError, unknown
from metaeval.experiment.evaluation import Asked, find_protocols, named_protocols
from metaeval.experiment.metric_scores import Panel, frame_of, headline, judged, make_sheet
from metaeval.experiment.prepared_run import Frame
from metaeval.report.cells import cell, units
from metaeval.report.grid import Block, Cell, Group, Line, Note, count, numeral, plain
from metaeval.report.result import Column
from metaeval.report.sheet import Sheet
from metaeval.stats.significance import detectable_difference, power_at, required_groups
from protocols.contract import Measure
from protocols.contrasts import Spread, spreads

POWERS = (0.8, 0.9)

USUAL = "classification"
"""The protocol of a plan that names neither a protocol nor a measure."""


@dataclass(frozen=True)
class Need:
    """What it takes to find a true difference significant with chance `power`, at the pilot's mean rows a group.

    power_now: the chance with as many groups as the pilot's. citations: None where the data have none.
    """

    difference: float
    power_now: float
    power: float
    groups: int
    rows: int
    citations: int | None


def planned(config: RunConfig, key: str, differences: Sequence[float], name: str = "") -> Asked:
    """The protocol to plan for, with the run's options.

    key: a measure; "": the protocol's headline. name: the protocol; "": the one that has the measure, or the usual one.
    Raises `UserError`, before anything is scored, as `protocol_of` does, and for a difference off the measure's scale
    and a run without resamples.
    """
    if config.interval.resamples < 2:
        raise UserError(f"A plan needs resamples: interval.resamples is {config.interval.resamples}, try 1000.")
    protocol, options = protocol_of(config, key, name)
    measure = protocol.measure(key or protocol.headline or protocol.measures[0].key)
    for difference in differences:
        raw_difference(difference, measure)
    return protocol, options


def protocol_of(config: RunConfig, key: str, name: str = "") -> Asked:
    """The protocol that has the measure `key`, or this name, with the run's options.

    key: "" for the protocol's headline. name: "" for the one that has the measure, or the usual one. Raises `UserError`
    for a name that is not known, a measure of several protocols, and a protocol that cannot be planned for.
    """
    among = config.model_copy(update={"protocols": (name,) if name else tuple(registry.names("protocol"))})
    keys = {asked: [one.key for one in protocol.measures] for asked, protocol in named_protocols(among).items()}
    owners = [asked for asked, known in keys.items() if key in known] if key else [name or USUAL]
    if not owners:
        raise unknown(f"measure of {name}" if name else "measure", key, chain(*keys.values()))
    if len(owners) > 1:
        raise UserError(f"Measure {key!r} belongs to several protocols, {' and '.join(owners)}: name one with -p.")
    protocol, options = find_protocols(config.model_copy(update={"protocols": tuple(owners)}))[0]
    if protocol.no_plan:
        raise UserError(f"Protocol {protocol.name} cannot be planned for: {protocol.no_plan}")
    return protocol, options


def read_differences(text: str) -> list[float]:
    """Numbers with commas; `UserError` for anything else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise UserError(f"--difference takes numbers with commas, for example 1,2; got {text!r}.") from None


def raw_difference(difference: float, measure: Measure) -> float:
    """A difference in the units of the measure's table as the measure has it; `UserError` off the measure's scale."""
    raw, most = difference / measure.scale, measure.span * measure.scale
    if not 0 < raw < measure.span:
        given = f"points of {most:g}" if most != 1 else "parts of 1"
        limits = f"above 0 and below {most:g}" if math.isfinite(most) else "above 0"
        raise UserError(
            f"--difference is {difference:g}; a difference in {measure.label} is given in {given}, {limits}, for "
            f"example {0.02 * (most if math.isfinite(most) else measure.scale):g}."
        )
    return raw


def needs(spread: Spread, rows: int, citations: int, differences: Sequence[float], alpha: float) -> list[Need]:
    """What each true difference takes, from a pilot's spread over so many rows and citations (0: it has none).

    Raises ValueError for a difference of 0, or a pilot without spread.
    """
    error = spread.standard_error or math.nan
    found = []
    for difference in differences:
        now = power_at(difference, error, spread.groups, spread.groups, alpha)
        for power in POWERS:
            groups = required_groups(difference, error, spread.groups, alpha, power)
            cited = math.ceil(groups * citations / spread.groups) if citations else None
            found.append(Need(difference, now, power, groups, math.ceil(groups * rows / spread.groups), cited))
    return found


def plan_sheet(panel: Panel, asked: Asked, key: str, differences: Sequence[float]) -> Sheet:
    """The plan for the panel's two metrics under one measure.

    key: the measure, or "" for the protocol's headline. differences: in the units of the measure's table (points where
    it prints per cent); none: the difference that was found. Raises `UserError` for a measure that is undefined here
    or has no spread, and for a difference that is not above 0 or beyond the measure's scale.
    """
    protocol, options = asked
    frame = frame_of(panel, protocol)
    one, other = panel.columns
    measure = protocol.measure(key) if key else headline(protocol, frame, one)
    if why := measure.blind(judged(frame, one)):
        raise UserError(f"{measure.label} cannot tell metrics apart on {frame.name}: {why}.")
    column = Column(key=measure.key, label=measure.label, scale=measure.scale, digits=measure.digits)
    spread = _spread(panel, asked, frame, measure)
    asked_for = [raw_difference(difference, measure) for difference in differences] or [abs(spread.observed)]
    error = spread.standard_error
    if error is None:
        raise UserError(
            f"{one.name} and {other.name} do not differ in any group under {measure.label}: nothing to plan."
        )
    if not all(asked_for):
        raise UserError(f"{one.name} and {other.name} are equal in {measure.label} here: name a --difference.")
    alpha = panel.config.comparison.alpha
    found_needs = needs(spread, frame.gold.size, frame.summary.citations, asked_for, alpha)
    detectable = [detectable_difference(error, spread.groups, spread.groups, alpha, power) for power in POWERS]
    records = [
        {
            "measure": measure.key,
            "one": one.name,
            "other": other.name,
            "pilot_difference": spread.observed,
            "standard_error": error,
            "pilot_groups": spread.groups,
            "detectable_80": detectable[0],
            "detectable_90": detectable[1],
            **asdict(need),
        }
        for need in found_needs
    ]
    said = cell(spread.observed, column=column, signed=True).number
    size = [count(frame.summary.groups, "group"), f"{frame.gold.size:,} {units(frame.unit)}"]
    if frame.summary.citations:
        size.append(count(frame.summary.citations, "citation"))
    rows = "citations" if frame.summary.citations else "ratings"
    headings = ("power now", *(what for _ in POWERS for what in ("groups", rows)))
    return make_sheet(
        panel,
        frame,
        f"power-{measure.key}",
        f"What it takes to tell {plain(one.name)} from {plain(other.name)}: {plain(measure.label)}",
        {"protocol": protocol.name, **options, "alpha": alpha},
        ("true difference", headings, [Block("", _lines(found_needs, column))]),
        records,
        groups=[Group("", 1), *(Group(f"at {100 * power:g} % power", 2) for power in POWERS)],
        notes=[
            Note("found here", f"{said}, standard error {cell(error, column=column).number} over {', '.join(size)}"),
            Note(
                "detectable",
                f"with as many groups: {numeral(detectable[0], column)} at 80 % power, "
                f"{numeral(detectable[1], column)} at 90 % (two-sided, alpha {alpha:g})",
            ),
            Note(
                "planning",
                "groups are what must be added: more rows in the same groups buy less; the new groups are taken to be "
                "like these, and the standard error to fall with the root of their number",
            ),
        ],
        method=panel.config.interval.method,
    )


def _spread(panel: Panel, asked: Asked, frame: Frame, measure: Measure) -> Spread:
    protocol, options = asked
    pair = {column.name: judged(frame, column) for column in panel.columns}
    known = protocol.evaluate(pair[panel.columns[0].name], panel.resampling, options).estimates
    if measure.key not in known:
        raise UserError(f"{measure.label} is not a measure of {frame.name}: it has {', '.join(known)}.")
    (found,) = spreads(protocol, options, panel.resampling, pair, [measure.key]).values()
    spread = found.get(measure.key)
    if spread is None or np.isnan(spread.observed):
        why = known[measure.key].note or "for one of the two"
        raise UserError(f"{measure.label} is undefined on {frame.name} ({why}): choose another --measure.")
    if spread.groups < 2:
        raise UserError(f"{frame.name} has one group: a pilot needs 2 or more.")
    return spread


def _lines(found: Sequence[Need], column: Column) -> tuple[Line, ...]:
    """One for each difference."""
    lines = []
    for difference in dict.fromkeys(need.difference for need in found):
        own = [need for need in found if need.difference == difference]
        cells = [Cell(f"{100 * own[0].power_now:.0f} %")]
        for need in own:
            rows = need.rows if need.citations is None else need.citations
            cells += [Cell(f"{need.groups:,}"), Cell(f"{rows:,}")]
        lines.append(Line(numeral(difference, column), tuple(cells)))
    return tuple(lines)
