"""Questions with their documents: any file of answers, whose texts are not read, and files that have no answers yet.

    {"id": "q1", "question": "Who built it?", "passages": [{"title": "Bridge", "text": "A Dane built the bridge."}]}

One's own form of answers (`readers/jsonl.py`) without `text`, and ALCE's form without `output`, are read as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.citation.model import Answer, Passage
from metaeval.citation.readers.answers import HINT, READERS, read_answers
from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError, shown

# The field of the documents in a form whose texts may be missing, and the field of the text.
_UNWRITTEN: Mapping[str, tuple[str, str]] = {"jsonl": ("passages", "text"), "alce": ("docs", "output")}


def read_questions(path: Path, form: str = "auto") -> list[Answer]:
    """The distinct questions of a file, in its order, as answers whose text is not to be read.

    Answers to the same question from the same documents are one question, under the first one's id.

    Raises `UserError` where `read_answers` does, and for a question without words or without a document.
    """
    kind, rows = _unwritten(path, form)
    answers = read_answers(path, form) if kind is None else list(READERS[kind](rows, path))
    if not answers:
        raise UserError(f"{path} holds no questions: give a file with at least one.")
    taken: set[str] = set()
    distinct: dict[tuple[str, tuple[Passage, ...]], Answer] = {}
    for one in answers:
        if one.id in taken:
            raise UserError(f"{path}: two questions have the id {shown(one.id)}; allowed: an id of its own for each.")
        taken.add(one.id)
        if not one.question.strip():
            raise UserError(f"{path}: question {shown(one.id)} has no words; give it a field 'question'.")
        if not any(passage.text.strip() for passage in one.passages):
            raise UserError(f"{path}: question {shown(one.id)} has no documents; give it passages with a text.")
        distinct.setdefault((one.question, one.passages), one)
    return list(distinct.values())


def _unwritten(path: Path, form: str) -> tuple[str | None, list[Row]]:
    """The form and the rows, each with a text, of a file whose first item has none; no form for every other file."""
    rows = _rows(path)
    fields = rows[0].fields if rows else {}
    for kind, (documents, text) in _UNWRITTEN.items():
        if form in (kind, "auto") and documents in fields and text not in fields:
            return kind, [Row(row.where, {text: "", **row.fields}) for row in rows]
    return None, []


def _rows(path: Path) -> list[Row]:
    """The items of a list, of JSON lines, or under `data` of one object; none where it is neither."""
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and "data" in value:
        items = value["data"] if isinstance(value["data"], list) else []
        if not all(isinstance(item, dict) for item in items):
            return []  # `read_answers` says what is wrong
        return [Row(f"{path} record {number}", item) for number, item in enumerate(items, start=1)]
    return list(read_rows(path, HINT))
