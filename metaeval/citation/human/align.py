"""What a pipeline says of its own spans of an answer, brought to the statements that people rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.human.model import RatedStatement

State = Literal["valued", "no value", "missing"]
"""Whether there is a value, none because the pipeline gives such a span none, or none because a verdict is missing."""


@dataclass(frozen=True, slots=True)
class Valued:
    """A value in [0, 1], or why there is none; reason: of a missing verdict, as its judge gave it."""

    value: float | None
    state: State = "valued"
    reason: str = ""


NO_VALUE = Valued(None, "no value")


@dataclass(frozen=True, slots=True)
class SpanValue:
    """What a pipeline says of one span: offsets in the answer, and the value."""

    start: int
    end: int
    said: Valued


@dataclass(frozen=True)
class Aligned:
    """The values of an answer's statements, in order. outside: spans that share no character with any of them."""

    values: tuple[Valued, ...]
    outside: int


def align(statements: Sequence[RatedStatement], spans: Sequence[SpanValue]) -> Aligned:
    """Give each span to the statement that holds most of its characters (of equals the first), and take means.

    A statement's value is the mean over its spans that have one. It is missing where one of them is, for the mean
    could then be another; it has no value where none has.
    """
    own: list[list[Valued]] = [[] for _ in statements]
    outside = 0
    for span in spans:
        shared = [min(span.end, one.end) - max(span.start, one.start) for one in statements]
        most = max(shared, default=0)
        if most <= 0:
            outside += 1
        else:
            own[shared.index(most)].append(span.said)
    return Aligned(tuple(mean_of(few) for few in own), outside)


def mean_of(values: Sequence[Valued]) -> Valued:
    """The mean of the values that are there; missing where one is missing; no value without any."""
    lost = next((one for one in values if one.state == "missing"), None)
    if lost is not None:
        return lost
    known = [one.value for one in values if one.value is not None]
    return Valued(sum(known) / len(known)) if known else NO_VALUE


def filled(values: Sequence[Valued], response: float | None) -> list[Valued]:
    """CiteEval's rule: a statement that has no value takes its response's; one that is missing stays missing."""
    return [one if one.state != "no value" or response is None else Valued(response) for one in values]
