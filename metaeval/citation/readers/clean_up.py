"""Find what is no part of an answer in its text: reasoning, code, headings, list numbers, lists of sources, addresses.

The text stays as it was read; `metaeval.citation.marks_and_sentences.reading_of` leaves the pieces out.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from metaeval.citation.data_model import Answer
from metaeval.display_text import count

_log = logging.getLogger("metaeval")


def clean_up(answers: Sequence[Answer], name: str) -> list[Answer]:
    """Return the answers with the pieces that are not read, and log one line with their counts. name: of the file."""
    found = [*answers]
    kinds = Counter(piece.kind for answer in found for piece in answer.left_out if piece.kind)
    if kinds:
        cut = sum(bool(answer.left_out) for answer in found)
        counted = ", ".join(count(number, kind) for kind, number in kinds.items())
        _log.info("%s: left out: %s (of %s).", name, counted, count(cut, "answer"))
    return found
