"""What is said of intervals: how they were made, of how many effective groups, and what a simulation found of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metaeval.report.grid import count, plain, value_of
from metaeval.report.result import Column, Interval, Result

_METHODS = {"t": "cluster-t", "bootstrap-t": "cluster bootstrap-t", "percentile": "percentile", "bca": "BCa"}

FEW_GROUPS = 30
"""Effective groups below which intervals are known to cover less often than they say (docs/inference.md)."""


def uncertainty(result: Result) -> str:
    """How a table's intervals were made, of how many effective groups."""
    behind = effective(result, result.columns)
    others = [plain(column.label) for column in result.columns if _made_otherwise(result, column)]
    studentised = result.interval.method in ("t", "bootstrap-t")
    if others and not behind and studentised and result.interval.resamples:
        groups = count(result.data.groups, "group")
        return f"{100 * result.interval.level:g} % intervals of {groups}: see the warnings"
    text = made_of(result.interval, result.data.groups, behind if studentised else ())
    return f"{text}; of {', '.join(others)}: see the warnings" if others and studentised else text


def made_of(interval: Interval, groups: int | None, behind: Sequence[float] = ()) -> str:
    """How intervals were made. groups: None where their number is not one for all; behind: the effective ones."""
    if interval.resamples == 0:
        return "no intervals (0 resamples)"
    some = "groups" if groups is None else count(groups, "group")
    drawn = f"{count(interval.resamples, 'resample')} of {some}, seed {interval.seed}"
    studentised = interval.method in ("t", "bootstrap-t")
    said = [intervals_of(interval)]
    if studentised and groups is not None:
        said.append(f"{whole_range(behind)} effective of {some}" if behind else some)
    if interval.method != "t":
        said.append(drawn)
    return ", ".join(said)


def few_of(interval: Interval, groups: int) -> str:
    """What few groups mean for the intervals of a sheet; "" where they are not few."""
    if interval.method not in ("t", "bootstrap-t") or not interval.resamples or groups >= FEW_GROUPS:
        return ""
    often = f"below {FEW_GROUPS}, intervals hold the true value less often than they say"
    return f"{often}, and below {interval.fewest:g} effective ones there is none"


def _made_otherwise(result: Result, column: Column) -> bool:
    """Whether the protocol made the intervals itself: those of Student's t say their effective groups."""
    values = [value_of(row, column) for row in result.rows if row.kind == "metric"]
    return any(value.low is not None and value.effective is None for value in values)


def intervals_of(interval: Interval) -> str:
    """The level and the method of the intervals."""
    return f"{100 * interval.level:g} % {_METHODS[interval.method]} intervals"


def effective(result: Result, columns: Sequence[Column]) -> list[float]:
    """Effective groups of the metrics under these measures."""
    values = [value_of(row, column) for row in result.rows if row.kind == "metric" for column in columns]
    return [value.effective for value in values if value.effective is not None]


def whole_range(numbers: Sequence[float]) -> str:
    """Whole numbers from the smallest to the largest, rounded down: too few groups are never said to be enough."""
    low, high = int(min(numbers)), int(max(numbers))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def few_groups(result: Result) -> str:
    """The measures of a table that have few effective groups, and what that means; "" without any."""
    few = {}
    for column in result.columns:
        below = [number for number in effective(result, [column]) if number < FEW_GROUPS]
        if below:
            few[plain(column.label)] = whole_range(below)
    if not few:
        return ""
    named = ", ".join(f"{label} {numbers}" for label, numbers in few.items())
    said = f"{named} effective groups, below {FEW_GROUPS}"
    hint = "" if result.certificate else " ('metaeval certify' simulates how often)"
    return f"{said}: intervals hold the true value less often, and tests err more often, than they say{hint}"


def certificate_text(result: Result, short: bool = False) -> str:
    """What the simulation on the table's own rows found; "" without one. short: nothing of how it was made."""
    found = result.certificate
    if found is None:
        return ""
    label = next((column.label for column in result.columns if column.key == found.measure), found.measure)
    covered = f"{100 * found.level:g} % intervals of {plain(label)} covered {within(found.held, found.given)}"
    if found.given_likewise < found.given and found.effective is not None:
        likewise = within(found.held_likewise, found.given_likewise)
        covered += f", and {likewise} of those with {effective_class(found.effective)} effective groups, as here"
    rejected = f"; the test rejected {within(found.rejected, found.tested)} of equal metrics" if found.tested else ""
    beside = f", beside {plain(found.other)}" if found.other and found.tested else ""
    behind = "" if found.effective is None else f"; effective groups {found.effective:,.0f} of {found.groups:,}"
    samples = f"{found.given + found.without:,} samples of {plain(found.metric)}{beside}, ± one Monte Carlo error"
    text = f"on data built like these, {covered}{rejected}{behind}"
    return text if short else f"{text} ({samples})"


def within(hits: int, of: int) -> str:
    """A simulated share in per cent, with its Monte Carlo error of one standard deviation."""
    if not of:
        return "none of 0"
    near = (hits + 1) / (of + 2)  # an error of none would be none of the share's, and not none of ours
    return f"{100 * hits / of:.1f} % (± {100 * math.sqrt(near * (1 - near) / of):.1f})"


EFFECTIVE = (0, 6, FEW_GROUPS, 60)
"""Effective groups at which a class of them begins; intervals of one class hold the true value about equally often."""


def effective_class(effective: float) -> str:
    """The class that a number of effective groups lies in, in words."""
    number = max(place for place, begin in enumerate(EFFECTIVE) if effective >= begin)
    if number == 0:
        return f"fewer than {EFFECTIVE[1]}"
    begin, *end = EFFECTIVE[number : number + 2]
    return f"{begin} to {end[0]}" if end else f"{begin} or more"
