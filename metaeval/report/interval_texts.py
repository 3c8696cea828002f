"""Texts on the intervals of a table: their effective groups."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.display_text import count
from metaeval.report import sentence_templates
from metaeval.report.ranking_measures import metrics_of
from metaeval.report.result import Column, Interval, Result
from metaeval.report.table import plain, value_of

FEW_GROUPS = 30
"""Effective groups below which intervals cover less often than they say (docs/explanation/inference.md)."""


def uncertainty(result: Result) -> str:
    """Return, as text, how a table's intervals were computed, and from how many effective groups."""
    interval, groups = result.interval, result.data.groups
    behind = effective_numbers(result, result.columns)
    others = [plain(column.label) for column in result.columns if _has_own_intervals(result, column)]
    if others and not behind and interval.resamples:
        return sentence_templates.OWN_INTERVALS.format(level=100 * interval.level, groups=count(groups, "group"))
    text = interval_settings(interval, groups, behind)
    return sentence_templates.SOME_OWN_INTERVALS.format(intervals=text, measures=", ".join(others)) if others else text


def interval_settings(interval: Interval, groups: int | None, behind: Sequence[float] = ()) -> str:
    """Return, as text, how intervals were computed, or that there are none.

    groups: number of groups; None where it differs between rows. behind: numbers of effective groups of the values,
    whose range is named; empty where they are not known.
    """
    if interval.resamples == 0:
        return sentence_templates.NO_INTERVALS
    all_groups = "groups" if groups is None else count(groups, "group")
    parts = [sentence_templates.INTERVALS.format(level=100 * interval.level)]
    if interval.effective:
        of = ((whole_range(ends), count(number, name)) for name, (number, *ends) in interval.effective.items())
        parts += [sentence_templates.EFFECTIVE_GROUPS.format(effective=text, groups=whole) for text, whole in of]
    elif behind:
        parts.append(sentence_templates.EFFECTIVE_GROUPS.format(effective=whole_range(behind), groups=all_groups))
    elif groups is not None:
        parts.append(all_groups)
    if interval.cluster != "group" and len(interval.effective) < 2:
        parts.append(sentence_templates.NO_SYSTEMS)
    return ", ".join(parts)


def few_groups_of_sheet(interval: Interval, groups: int) -> str:
    """Return what few groups mean for the intervals of a table; "" if they are not few."""
    if not interval.resamples or groups >= FEW_GROUPS:
        return ""
    return sentence_templates.FEW_OF_SHEET.format(enough=FEW_GROUPS, fewest=interval.fewest)


def _has_own_intervals(result: Result, column: Column) -> bool:
    """Return whether intervals of a measure are the protocol's own: those of Student's t come with effective groups."""
    values = [value_of(row, column) for row in metrics_of(result)]
    return any(value.low is not None and value.effective is None for value in values)


def effective_numbers(result: Result, columns: Sequence[Column]) -> list[float]:
    """Return the number of effective groups of each metric's value under these measures, where it is known."""
    values = [value_of(row, column) for row in metrics_of(result) for column in columns]
    return [value.effective for value in values if value.effective is not None]


def whole_range(numbers: Sequence[float]) -> str:
    """Return the range of these numbers as text, "12 to 40"; both ends are rounded down, so that few stay few."""
    low, high = int(min(numbers)), int(max(numbers))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def few_groups(result: Result) -> str:
    """Return a warning, as text, that names a table's measures with few effective groups; "" without any."""
    below = {}
    for column in result.columns:
        numbers = [number for number in effective_numbers(result, [column]) if number < FEW_GROUPS]
        if numbers:
            below[plain(column.label)] = whole_range(numbers)
    if not below:
        return ""
    measures = ", ".join(f"{label} {numbers}" for label, numbers in below.items())
    return sentence_templates.FEW_OF_TABLE.format(measures=measures, enough=FEW_GROUPS)
