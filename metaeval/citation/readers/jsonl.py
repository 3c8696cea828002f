"""Answers in a file of one's own: one JSON object per line (or a list of them), UTF-8::

    {"id": "a1", "question": "Who built it?", "text": "A Dane did [1].", "group": "q1", "system": "mine",
     "passages": [{"title": "Bridge", "text": "A Danish engineer built the bridge."}]}

:id: optional; default: the answer's number in the file, from 1. No two answers share one.
:text: the answer as the model wrote it, marks included.
:passages: what the model was given, in the order that its marks count: objects with `text` and optional `title`.
:question: optional. group: optional, what resampling draws; default: the id. system: optional, the generator.
:reference: optional object: answer, qa_pairs, annotations, claims, answers, as in ALCE's files.
:first: optional: the number that the text cites the first passage by, 0 or 1; default 1.
:statements: optional: people's ratings of the text's statements, not read here (`metaeval cite meta` does; its form
    stands in `metaeval.citation.human.readers`), so that rated answers can be judged as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from metaeval.citation.model import Answer, Passage
from metaeval.corpus.loaders.rows import Row

FIELDS = ("id", "question", "text", "passages", "group", "system", "reference", "first", "statements")


def read_own(rows: Sequence[Row]) -> Iterator[Answer]:
    """One answer for each row. Raises `UserError` on a field that the format does not have."""
    for number, row in enumerate(rows, start=1):
        row.only(FIELDS)
        own = row.identifier("id") if "id" in row.fields else str(number)
        yield Answer(
            id=own,
            text=row.text("text"),
            passages=tuple(
                Passage(passage.text("text"), passage.optional_text("title")) for passage in row.rows("passages")
            ),
            question=row.optional_text("question"),
            group=row.optional_text("group") or own,
            system=row.optional_text("system"),
            reference=row.row("reference").fields if row.fields.get("reference") is not None else {},
            first=row.choice("first", {0: 0, 1: 1}) if "first" in row.fields else 1,
        )


def own_row(answer: Answer) -> dict[str, Any]:
    """An answer as a row of the project's own JSONL, with its reference: `read_own` makes the same answer of it.

    An id is not empty, and neither is a group; an answer without a group gets its id, as it would when read.
    """
    passages = [{"title": one.title, "text": one.text} for one in answer.passages]
    row: dict[str, Any] = {"id": answer.id, "question": answer.question, "text": answer.text, "passages": passages}
    row |= {"group": answer.group or answer.id, "system": answer.system}
    if answer.reference:
        row["reference"] = dict(answer.reference)
    if answer.first != 1:
        row["first"] = answer.first
    return row


def own_lines(answers: Iterable[Answer]) -> str:
    """The lines of a file that `read_own` makes the same answers from."""
    text = "".join(f"{json.dumps(own_row(one), ensure_ascii=False)}\n" for one in answers)
    # A lone surrogate, which JSON input may hold, becomes its escape, which JSON reads back.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
