"""The parts of an answer between its citations, by which open-rag-eval scores it (vectara/open-rag-eval dfc4175)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metaeval.citation.data_model import Claim, Mark

_NUMBER = re.compile(r"[0-9]{1,9}")
_BRACKET = r"\[[0-9]{1,9}(?:, ?[0-9]{1,9})*\]"
_GROUP = re.compile(rf"{_BRACKET}(?:(?:, ?)?{_BRACKET})*")


def parts_between_marks(text: str, first: int = 1) -> Iterator[Claim]:
    """Yield the text before each group of marks as a part that cites them, and the text behind the last as uncited.

    Marks are `[1]`, `[1, 2]`, and several of them without a space between, or with a comma. Marks without a text before
    them cite nothing, and one character behind the last mark is left out. first: the number of the first passage.
    """
    done = number = 0
    for group in _GROUP.finditer(text):
        if text[done : group.start()].strip():
            number += 1
            yield _part(text, done, group.start(), number, _marks(group, first))
        done = group.end()
    if not done or len(text[done:].strip()) > 1:
        yield _part(text, done, len(text), number + 1, ())


def _marks(group: re.Match[str], first: int) -> tuple[Mark, ...]:
    return tuple(
        Mark(group.start() + each.start(), group.start() + each.end(), int(each[0]) + 1 - first)
        for each in _NUMBER.finditer(group[0])
    )


def _part(text: str, start: int, end: int, number: int, marks: tuple[Mark, ...]) -> Claim:
    return Claim(text[start:end].strip(), marks, number, start, marks[-1].end if marks else end)
