"""Answers in one's own form (`readers/jsonl.py`), one JSON object a line, as every citation pipeline reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from metaeval.citation.model import Answer
from metaeval.citation.readers.scifi import own_row


def own_lines(answers: Iterable[Answer]) -> str:
    """The lines of a file that `read_own` makes the same answers from."""
    text = "".join(f"{json.dumps(own_row(one), ensure_ascii=False)}\n" for one in answers)
    # A lone surrogate, which JSON input may hold, becomes its escape, which JSON reads back.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
