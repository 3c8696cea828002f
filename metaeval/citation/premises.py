"""What a claim is held against: the cited passages, found by their numbers, as one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from metaeval.citation.model import Passage, Problem

Zero = Literal["out of range", "last passage"]
"""What the number 0 cites: nothing, or the last passage, where the released code's index -1 leads."""

Untitled = Literal["text only", "title line"]
"""What stands for a passage without a title: its text, or its text under an empty title line, as released."""


def find_place(number: int | None, passages: int, zero: Zero = "out of range") -> tuple[int | None, Problem | None]:
    """Index of the passage that a mark's number cites (None: no such passage), and what is wrong with the number.

    passages: how many there are. Zero is a problem even where it is read as the last passage.
    """
    if number is None:
        return None, "unparsable"
    if number == 0:
        return (passages - 1 if zero == "last passage" and passages else None), "zero"
    if not 0 < number <= passages:
        return None, "out of range"
    return number - 1, None


def premise(passages: Sequence[Passage], untitled: Untitled = "text only") -> str:
    """The passages as one premise: a title line and the text of each, in order, joined by line breaks."""
    return "\n".join(_passage(passage, untitled) for passage in passages)


def _passage(passage: Passage, untitled: Untitled) -> str:
    if not passage.title and untitled == "text only":
        return passage.text
    return f"Title: {passage.title}\n{passage.text}"
