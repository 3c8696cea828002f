"""The marks of responses that cite nothing: where they stand, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.evaluate import ResponseValues
from metaeval.citation.model import Mark
from metaeval.citation.premises import find_place

Why = Literal["out of range", "zero", "unparsable", "of no statement"]
"""The last: it stands where no statement is, before all of them or in a response that says that it found no answer."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A mark that cites nothing: the response's id, the mark's offset in it, and why."""

    answer: str
    start: int
    why: Why


def unread_marks(results: Sequence[ResponseValues]) -> list[Unread]:
    """Every such mark, in the order of the responses and of their texts."""
    found = []
    for result in results:
        # A number that a passage has, and that a statement does not cite, is above the highest that the options read.
        within = [
            (mark, _problem(mark, result) or "out of range")
            for one in result.statements
            for mark in one.statement.unread
        ]
        outside = [(mark, _problem(mark, result) or "of no statement") for mark in result.unread]
        own = sorted([*within, *outside], key=lambda one: one[0].start)
        found += [Unread(result.answer, mark.start, why) for mark, why in own]
    return found


def _problem(mark: Mark, result: ResponseValues) -> Why | None:
    return find_place(mark.number, result.passages)[1]
