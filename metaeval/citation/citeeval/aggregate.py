"""From statements to responses: the two scenarios, what is left out, and the bounds of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.rating import NEEDS_NONE, Value

Scenario = Literal["full", "cited"]
"""All statements, or those with citations alone."""


@dataclass(frozen=True, slots=True)
class ResponseValue:
    """The mean over the statements of a response that have a value; None: undefined.

    rated: how many have one. missing: how many the judge left open; least, most: what the value could be with them.
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
    in the scenario "cited", one that was left with nothing because its statements have no citations is 0.
    """
    used = in_scenario(values, cited, scenario)
    known = [value.value for value in used if value.value is not None]
    missing = [value for value in used if value.state == "missing"]
    if not known and not missing:
        settled = _nothing_rated(values, cited, scenario, options)
        return ResponseValue(settled, 0, 0, settled, settled)
    # A missing value that may turn out to be none (its highest is None) can only lower a mean.
    least = _mean([*known, *(one.least for one in missing)])
    most = _mean([*known, *(one.most for one in missing)])
    if most is None and options.nothing_rated == "full marks":
        most = 1.0
    return ResponseValue(_mean(known), len(known), len(missing), least, most)


def _nothing_rated(
    values: Sequence[Value], cited: Sequence[bool], scenario: Scenario, options: CiteEvalOptions
) -> float | None:
    if scenario == "cited" and options.none_cited == "always" and not all(cited):
        return 0.0
    if any(value.state == "lacks a citation" for value in values):  # masked: in the full scenario its 0 counts
        return 0.0
    return 1.0 if options.nothing_rated == "full marks" else None


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are there; None without any."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None
