"""From statements to responses: the two scenarios, what is left out, and the bounds of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.rating import NEEDS_NONE, Value

Scenario = Literal["full", "cited"]
"""All statements, or those with citations alone."""


Ends = tuple[float, float | None]
"""The least and the most that a value can be; a most of None: it is the least, or is left out of the mean."""


@dataclass(frozen=True, slots=True)
class ResponseValue:
    """The mean over the statements of a response that have a value; None: undefined.

    rated: how many have one. missing: how many the judge left open; least, most: what the value could be with them.
    A least without a most: the value is that one, or there is none.
    """

    value: float | None
    rated: int
    missing: int
    least: float | None
    most: float | None


def in_scenario(values: Sequence[Value], cited: Sequence[bool], scenario: Scenario) -> list[Value]:
    """The values of a response's statements in a scenario; cited: which of them have citations.

    In the scenario "cited" those without a citation are left out of the mean.
    Raises ValueError if the lengths differ.
    """
    if len(values) != len(cited):
        raise ValueError(f"{len(values)} values, but {len(cited)} statements")
    if scenario == "full":
        return list(values)
    return [value if has else NEEDS_NONE for value, has in zip(values, cited, strict=True)]


def response_value(
    values: Sequence[Value], cited: Sequence[bool], scenario: Scenario = "full", options: CiteEvalOptions = PAPER
) -> ResponseValue:
    """The value of a response; values, cited: of its statements, in order.

    A response without any statement that has or misses a value is undefined or gets full marks, as the options say;
    in the scenario "cited", one that was left with nothing because its statements have no citations is 0, always or
    where one of them needed a citation; where the judge's word on that is missing, so is the response's value.
    """
    used = in_scenario(values, cited, scenario)
    known = [value.value for value in used if value.value is not None]
    missing = [value for value in used if value.state == "missing"]
    if not known and not missing:
        return _nothing_rated(values, cited, scenario, options)
    sure: list[Ends] = [(value, value) for value in known]
    open_: list[Ends] = [(one.least, one.most) for one in missing if one.least is not None]
    least, most = mean_bounds([*sure, *open_])
    if not known and all(one.most is None for one in missing):
        most = _full_marks(options)  # none of them may need a citation
    return ResponseValue(sum(known) / len(known) if known else None, len(known), len(missing), least, most)


def mean_bounds(ends: Sequence[Ends]) -> tuple[float | None, float | None]:
    """The least and the most that a mean can be, where it is one, from what each value can be; None without any.

    Values that may be left out take part where they move the mean that way: not every coefficient is above 0.
    """
    sure = [(least, most) for least, most in ends if most is not None]
    perhaps = [least for least, most in ends if most is None]
    least = _lowest([least for least, _ in sure], perhaps)
    most = _lowest([-most for _, most in sure], [-value for value in perhaps])
    return least, None if most is None else 0.0 - most  # and not the minus 0 of -most


def _nothing_rated(
    values: Sequence[Value], cited: Sequence[bool], scenario: Scenario, options: CiteEvalOptions
) -> ResponseValue:
    """The value of a response none of whose statements counts in the scenario."""
    # A masked statement that lacks a citation: in the full scenario its 0 counts.
    required = any(value.state == "lacks a citation" for value in values)
    if required or (scenario == "cited" and options.none_cited == "always" and not all(cited)):
        return ResponseValue(0.0, 0, 0, 0.0, 0.0)
    nothing = _full_marks(options)
    if undecided := sum(value.state == "missing" for value in values):
        return ResponseValue(None, 0, undecided, 0.0, nothing)
    return ResponseValue(nothing, 0, 0, nothing, nothing)


def _full_marks(options: CiteEvalOptions) -> float | None:
    """What a response is worth that has nothing to rate."""
    return 1.0 if options.nothing_rated == "full marks" else None


def _lowest(sure: Sequence[float], perhaps: Sequence[float]) -> float | None:
    """The lowest mean of some values and any of some others; None without any."""
    total, number = sum(sure), len(sure)
    for value in sorted(perhaps):
        if not number or value * number < total:
            total, number = total + value, number + 1
    return total / number if number else None
