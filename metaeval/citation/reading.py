"""A text as a pipeline reads it, cut, cleaned or put together anew, with every character's place in the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metaeval.citation.marks import MarkStyles, find_marks
from metaeval.citation.model import Mark, Span

_ADDED = -1


@dataclass(frozen=True, slots=True)
class Reading:
    """Text, and the offset of each of its characters in the answer, (len(text),); -1: not the answer's own."""

    text: str
    at: tuple[int, ...]


def whole(text: str) -> Reading:
    """An answer's text as it stands."""
    return Reading(text, tuple(range(len(text))))


def added(text: str) -> Reading:
    """Text that is not in the answer, such as the question before a list item."""
    return Reading(text, (_ADDED,) * len(text))


def part(reading: Reading, start: int, end: int) -> Reading:
    """The characters from start to end."""
    return Reading(reading.text[start:end], reading.at[start:end])


def stripped(reading: Reading) -> Reading:
    """Without white space at either end."""
    start = len(reading.text) - len(reading.text.lstrip())
    return part(reading, start, max(start, len(reading.text.rstrip())))


def joined(*readings: Reading) -> Reading:
    """One after the other, with nothing between."""
    return Reading(
        "".join(reading.text for reading in readings),
        tuple(offset for reading in readings for offset in reading.at),
    )


def without(reading: Reading, pieces: Iterable[tuple[int, int]]) -> Reading:
    """Without the stretches (start, end), which may overlap."""
    gone = bytearray(len(reading.text))
    for start, end in pieces:
        gone[start:end] = b"\1" * (end - start)
    kept = [index for index, dropped in enumerate(gone) if not dropped]
    return Reading("".join(reading.text[index] for index in kept), tuple(reading.at[index] for index in kept))


def span(reading: Reading, otherwise: int = 0) -> Span:
    """Where the reading stands in the answer, from its first own character to its last; `otherwise` if it has none."""
    own = [offset for offset in reading.at if offset != _ADDED]
    return Span(min(own), max(own) + 1, reading.text) if own else Span(otherwise, otherwise, reading.text)


def marks_in(reading: Reading, styles: MarkStyles | None = None, first: int = 1) -> list[Mark]:
    """The marks of the reading, with their offsets in the answer; marks in added text are left out."""
    marks: list[Mark] = []
    for mark in find_marks(reading.text, styles, first):
        start, last = reading.at[mark.start], reading.at[mark.end - 1]
        if start != _ADDED:
            marks.append(Mark(start, max(start, last) + 1, mark.number))
    return marks
