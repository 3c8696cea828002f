"""An answer's text made of its statements, for data that publish statements with what each of them cites."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaeval.citation.sentences import RULES

# What closes a sentence, with the quotes, brackets and marks of emphasis around it; marks stand in front of it, for
# behind it a splitter takes them for the beginning of the next sentence.
_CLOSING = re.compile(r"[.!?…:;]+[\"'”’»)\]*_]*\Z")


def written(statements: Sequence[tuple[str, Sequence[int]]]) -> tuple[str, list[tuple[int, int]]]:
    """The text of statements (text, cited numbers), one after the other with `[n]` marks; offsets of each, in order.

    Marks stand before the closing punctuation. A space parts statements where a splitter sees the end of one sentence
    and the beginning of the next, a line break all others.
    """
    text, last = "", ""
    places: list[tuple[int, int]] = []
    for own, citations in statements:
        shown = with_marks(own, citations)
        if places:
            text += " " if _apart(last, shown) else "\n"
        places.append((len(text), len(text) + len(shown)))
        text, last = text + shown, shown
    return text, places


def with_marks(statement: str, citations: Sequence[int]) -> str:
    """A statement with its marks before its closing punctuation, or at its end without any."""
    if not citations:
        return statement
    marks = "".join(f"[{number}]" for number in citations)
    closing = _CLOSING.search(statement)
    end = closing.start() if closing else len(statement)
    return f"{statement[:end].rstrip()} {marks}{statement[end:]}".lstrip()


def _apart(one: str, other: str) -> bool:
    """Whether a splitter parts two statements with a space between: they have as many sentences alone as together."""
    together = RULES.split(f"{one} {other}")
    return len(together) == len(RULES.split(one)) + len(RULES.split(other))
