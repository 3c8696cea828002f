"""Sample sizes for detecting a difference between two metrics, with the data as a pilot."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from metaeval.analyses.panel import Panel, headline_measure, judged, make_sheet
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, count, unknown
from metaeval.report.result import Column
from metaeval.report.result_tables import cell, units
from metaeval.report.table import UNDEFINED, Cell, ColumnGroup, Note, Table, TableRow, format_value, known, plain
from metaeval.runs.data import Frame
from metaeval.runs.evaluate import ProtocolSetup, column_of, find_protocols, named_protocols
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import Influence, resampled
from metaeval.stats.intervals import studentised
from metaeval.stats.prediction_powered import wilson
from metaeval.stats.resampling import bootstrap
from protocols.comparison import both_scored, minus
from protocols.contract import Judgements, Measure
from protocols.simulation import Power, Task, influence_of_one, paired, simulated_power

POWERS = (0.8, 0.9)

DEFAULT_PROTOCOL = "classification"
"""The protocol of a plan that names neither a protocol nor a measure."""


Need = dict[str, Any]
"""The sample with which a true difference is significant with probability `power`; groups are as large as here.

difference: raw. power_now: power with as many groups as the pilot has; power_now_error: its Monte Carlo error. groups,
rows: None where neither the simulation nor the pilot's standard error shows the difference. groups_low, groups_high:
from the standard errors of 95 % of resampled pilots. citations: None also where the data have none. extrapolated:
whether `groups` is far above the numbers of groups that were simulated.
"""


def protocol_to_plan(config: RunConfig, key: str, differences: Sequence[float], name: str = "") -> ProtocolSetup:
    """Return the protocol to plan for, with the run's options; checked before anything is scored.

    key: a measure; "": the protocol's headline. differences: in the units of the measure's table. name: the protocol;
    "": the one that has the measure, or `DEFAULT_PROTOCOL`. Raises `UserError` for an unknown name, a measure of
    several protocols, a protocol that cannot be planned for, a difference that is not above 0 and below the measure's
    span, and a run without resamples or with resampled systems or annotators.
    """
    if config.interval.resamples < 2:
        raise UserError(f"A plan needs resamples: interval.resamples is {config.interval.resamples}, try 1000.")
    if config.interval.cluster != "group":
        raise UserError("A plan resamples groups only, not systems: leave interval.cluster out.")
    among = config.model_copy(update={"protocols": (name,) if name else tuple(registry.names("protocol"))})
    keys = {owner: [measure.key for measure in protocol.measures] for owner, protocol in named_protocols(among).items()}
    owners = [owner for owner, known in keys.items() if key in known] if key else [name or DEFAULT_PROTOCOL]
    if not owners:
        raise unknown(f"measure of {name}" if name else "measure", key, {*chain(*keys.values())})
    if len(owners) > 1:
        raise UserError(f"Measure {key!r} belongs to several protocols, {' and '.join(owners)}: name one with -p.")
    protocol, options = find_protocols(config.model_copy(update={"protocols": tuple(owners)}))[0]
    if protocol.no_plan:
        raise UserError(f"No plan can be made under {protocol.name}: {protocol.no_plan} Choose another --protocol.")
    measure = protocol.measure(key or protocol.ranked_by([known.key for known in protocol.measures]))
    for difference in differences:
        raw_difference(difference, measure)
    return protocol, options


def raw_difference(difference: float, measure: Measure) -> float:
    """Return a difference, given in the units of the measure's table, as a raw difference.

    Raises `UserError` where the difference is not above 0 and below the measure's span.
    """
    raw, most = difference / measure.scale, measure.span * measure.scale
    if not 0 < raw < measure.span:
        unit = f"points of {most:g}" if most != 1 else "parts of 1"
        limits = f"above 0 and below {most:g}" if math.isfinite(most) else "above 0"
        raise UserError(f"difference is {difference:g}; in {measure.label} it is given in {unit}, {limits}.")
    return raw


def needs(
    difference: float, simulation: Power, likely: tuple[float, float] | None, groups: int, rows: int, citations: int
) -> list[Need]:
    """Return the sample that a true difference needs at each power in `POWERS`, from simulated power.

    difference: raw. likely: lowest and highest squared standard error of resampled pilots, relative to this pilot's
    (None: unknown). groups, rows, citations (0: the data have none): the pilot's numbers of these.
    """
    needed = []
    for power in POWERS:
        needed_groups = simulation.groups(power)
        low = high = None
        if needed_groups is not None and likely is not None:
            low, high = (math.ceil(needed_groups * factor) for factor in likely)
        cited = math.ceil(needed_groups * citations / groups) if citations and needed_groups is not None else None
        many = None if needed_groups is None else math.ceil(needed_groups * rows / groups)
        now = simulation.simulated[groups]
        needed.append(
            {
                **{"difference": difference, "power_now": now.value, "power_now_error": now.error, "power": power},
                **{"groups": needed_groups, "groups_low": low, "groups_high": high, "rows": many, "citations": cited},
                "extrapolated": simulation.extrapolated(needed_groups),
            }
        )
    return needed


def plan_sheet(panel: Panel, protocol_setup: ProtocolSetup, key: str, differences: Sequence[float]) -> Table:
    """Return the plan for the panel's two metrics under one measure.

    key: the measure, or "" for the protocol's headline. differences: in the units of the measure's table (points where
    it prints per cent); none: the observed difference. Raises `UserError` for a measure that is undefined here or does
    not vary over groups, a difference outside 0 to the measure's span, and equal metrics without a difference given.
    """
    protocol, options = protocol_setup
    frame = panel.source.frame(protocol)
    first, second = panel.columns
    measure = protocol.measure(key) if key else headline_measure(protocol_setup, frame, first)
    if why := measure.blind(judged(frame, first)):
        raise UserError(f"{measure.label} cannot compare metrics on {frame.name}: {why}. Choose another --measure.")
    influence, pair = _pilot(panel, protocol_setup, frame, measure)
    if not influence.standard_error > 0:
        raise UserError(f"{first.name} and {second.name} do not differ in {measure.label} in any group: try another.")
    true_differences = [raw_difference(difference, measure) for difference in differences] or [abs(influence.value)]
    if not all(true_differences):
        raise UserError(f"{first.name} and {second.name} are equal in {measure.label} here: give --difference NUMBER.")
    alpha, cited = panel.config.comparison.alpha, frame.summary.citations
    task = Task(protocol, options, measure.key, panel.config.interval.seed)
    # The 95 % range of squared standard errors of resampled pilots, relative to this pilot's.
    interval = panel.config.interval
    _, resampled_errors = resampled(
        influence, bootstrap(influence.rows.shape[1], max(interval.resamples, 200), interval.seed)
    )
    pilots = tuple(np.quantile((resampled_errors / influence.standard_error) ** 2, [0.025, 0.975]).tolist())

    def simulated(difference: float) -> Power:
        """Simulate the power, with the two metrics' values at equal distance from their mean."""
        middle, half = sum(map(task.value, pair)) / 2, math.copysign(difference / 2, influence.value)
        try:
            moved = paired(task, *pair, (middle + half, middle - half))
        except ValueError as error:
            raise UserError(f"A difference of {difference:g} cannot be planned for here: {error}.") from error
        effect = difference / (influence.standard_error * math.sqrt(frame.summary.groups))
        return simulated_power(task, moved, alpha, POWERS, SAMPLES, effect)

    powers = [*map(simulated, true_differences)]
    of = np.unique(pair[0].group).size, pair[0].gold.size, cited
    needs_by_difference = [
        needs(difference, power, pilots, *of) for difference, power in zip(true_differences, powers, strict=True)
    ]
    pilot = studentised(influence.value, influence, influence.groups, panel.resampling)
    shared = {
        **{"measure": measure.key, "one": first.name, "other": second.name},
        **{"pilot_difference": influence.value, "pilot_low": pilot.low, "pilot_high": pilot.high},
        **{"standard_error": influence.standard_error, "pilot_groups": frame.summary.groups},
    }
    errors = [known(power.error) if math.isfinite(power.error) else None for power in powers]
    headings = ("power now", *(what for _ in POWERS for what in ("groups", "citations" if cited else "ratings")))
    return make_sheet(
        panel,
        frame,
        f"power-{measure.key}",
        f"Data needed to detect a difference of {plain(first.name)} and {plain(second.name)}: {plain(measure.label)}",
        {"protocol": protocol.name, **options, "alpha": alpha},
        ("true difference", headings, _rows(needs_by_difference, column_of(measure))),
        [
            {**shared, "effect_error": error, **need}
            for error, row_needs in zip(errors, needs_by_difference, strict=True)
            for need in row_needs
        ],
        groups=[ColumnGroup("", 1), *(ColumnGroup(f"at {100 * power:g} % power", 2) for power in POWERS)],
        notes=_notes(panel.config, frame, pilot, column_of(measure), powers, needs_by_difference),
    )


def _notes(
    config: RunConfig, frame: Frame, pilot: Estimate, column: Column, powers: Sequence[Power], every: list[list[Need]]
) -> list[Note]:
    """Return the notes below a plan. pilot: the observed difference."""
    data = frame.summary
    pilot_cell = cell(*pilot.ends, column, signed=True)
    size = [count(data.groups, "group"), f"{frame.gold.size:,} {units(frame.unit)}"]
    size += [count(data.citations, "citation")] if data.citations else []
    first, difference = powers[0], every[0][0]["difference"]
    at_ends = []
    for end in pilot.interval or ():
        effect = None if first.effect is None else first.effect * abs(end) / difference
        at_ends.append(f"{100 * replace(first, effect=effect).at(data.groups):.0f} %")
    depends = f"at the ends of that interval, power now is {' and '.join(at_ends)}; " if at_ends else ""
    sizes = sorted({size for power in powers for size in power.simulated})
    errors = [f"± {200 * power.error:.0f} %" if power.effect else UNDEFINED for power in powers]
    beyond = any(need["extrapolated"] for row_needs in every for need in row_needs)
    return [
        Note(
            "observed",
            f"{pilot_cell.number} ({100 * config.interval.level:g} %: {pilot_cell.interval}) over {', '.join(size)}",
        ),
        Note(
            "the pilot",
            f"{depends}the range below the groups covers the standard errors of 95 % of pilots resampled from this one",
        ),
        Note(
            "simulation",
            f"{SAMPLES} samples for each of {', '.join(f'{n:,}' for n in sizes)} groups, whose scores are drawn from a "
            "model of these (docs/explanation/inference.md), with the tables' test at alpha "
            f"{config.comparison.alpha:g}; for other numbers, the power is that of a normal test whose standard error "
            f"falls with the root of the number of groups; Monte Carlo error of the groups: {', '.join(errors)}",
        ),
        Note(
            "planning",
            "groups are what must be added: more rows in the same groups buy less; the new groups are drawn from "
            "these, with replacement",
        ),
        Note(
            "extrapolated",
            f"no more than {sizes[-1]:,} groups were simulated; larger numbers follow from the standard error of the "
            "pilot and the simulated power, and are rounded to two digits"
            if beyond
            else "",
        ),
    ]


SAMPLES = 200
"""Simulated samples for each number of groups of a plan."""


def _pilot(
    panel: Panel, protocol_setup: ProtocolSetup, frame: Frame, measure: Measure
) -> tuple[Influence, tuple[Judgements, Judgements]]:
    """Return the influence values of the difference, and both metrics' input on the rows that both scored.

    Raises `UserError` for a measure that the data do not have or that is undefined on them, and for data of one group.
    """
    protocol, options = protocol_setup
    pair = {column.name: judged(frame, column) for column in panel.columns}
    known_here = protocol.evaluate(pair[panel.columns[0].name], panel.resampling, options).estimates
    if measure.key not in known_here:
        raise UserError(f"{measure.label} is not a measure of {frame.name}: choose among {', '.join(known_here)}.")
    first, second = pair.values()
    if np.unique(first.group).size < 2:
        raise UserError(f"{frame.name} has one group, and a pilot needs 2 or more: choose other data.")
    both = both_scored(first, second)
    rows = first.rows(both), second.rows(both)
    task, codes = Task(protocol, options, measure.key), np.unique(rows[0].group)
    influence = minus(*(influence_of_one(task, each, codes) for each in rows)) if codes.size > 1 else None
    if influence is None:
        why = known_here[measure.key].note if known_here[measure.key].value is None else "for one of the two"
        raise UserError(f"{measure.label} is undefined on {frame.name} ({why}): choose another measure.")
    return influence, rows


def _rows(every: Sequence[Sequence[Need]], column: Column) -> Iterator[TableRow]:
    for row_needs in every:
        now = row_needs[0]
        cells: list[Cell | str] = [f"{100 * now['power_now']:.0f} % (± {100 * now['power_now_error']:.0f})"]
        for need in row_needs:
            beyond = need["extrapolated"]
            low, high = (_number(need[name], beyond) for name in ("groups_low", "groups_high"))
            groups = _number(need["groups"], beyond)
            if beyond:
                groups = f"about {groups}, extrapolated"
            cells.append(Cell(groups, (low, high)) if need["groups_low"] else groups)
            cells.append(_number(need["rows"] if need["citations"] is None else need["citations"], beyond))
        yield "", format_value(now["difference"], column), cells


def _number(number: int | None, extrapolated: bool) -> str:
    """Return a number with commas, an extrapolated one rounded to two digits; a dash for None."""
    if number is None:
        return UNDEFINED
    return f"{float(f'{number:.1e}'):,.0f}" if extrapolated else f"{number:,}"


PLANNED = (0.05, 0.1, 0.2, 0.5)
"""Shares that labels are planned for by default."""

_COUNTABLE = 10_000_000


def labels_needed(half_width: float, share: float, items: int | None = None) -> int | None:
    """Return the least number of independent labels whose 95 % interval of a share has at most this half-width.

    share: the expected share. items: size of the set that is estimated (None: unlimited). The interval is Wilson's,
    without help from a metric. Returns None where more labels are needed than there are items, or than ten million.
    Raises `UserError` unless the half-width is between 0 and 0.5, the share between 0 and 1, and items 2 or more.
    """
    if not 0 < half_width < 0.5:
        raise UserError(f"--half-width is {half_width:g}; allowed: above 0 and below 0.5 (0.1: 10 points).")
    if not 0 < share < 1:
        raise UserError(f"share is {share:g}; allowed: above 0 and below 1.")
    if items is not None and items < 2:
        raise UserError(f"items is {items}; allowed: 2 or more.")
    most = items or _COUNTABLE

    def reached(n: int) -> bool:
        correction = 1 - n / items if items else 1.0
        variance = share * (1 - share) / n * correction
        if variance <= 0:
            return True
        low, high = wilson(share, variance, n, math.inf, 0.95)
        return max(share - low, high - share) <= half_width

    if not reached(most):
        return None
    return 1 + bisect_left(range(1, most), True, key=reached)
