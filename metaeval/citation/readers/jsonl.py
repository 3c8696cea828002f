"""Answers in a file of one's own: one JSON object per line (or a list of them), UTF-8::

    {"id": "a1", "question": "Who built it?", "text": "A Dane did [1].", "group": "q1", "system": "mine",
     "passages": [{"title": "Bridge", "text": "A Danish engineer built the bridge."}]}

:id: optional; default: the answer's number in the file, from 1. No two answers share one.
:text: the answer as the model wrote it, marks included.
:passages: what the model was given, in the order that its marks count: texts, or objects with `text` (and `title`).
:question: optional. group: optional, what resampling draws; default: the question, or without one the id. system:
    optional, the generator.
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
from metaeval.corpus.loaders.rows import DataRow

FIELDS = ("id", "question", "text", "passages", "group", "system", "reference", "first", "statements")


def read_own(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """One answer for each row. Raises `UserError` on a field that the format does not have."""
    for number, row in enumerate(rows, start=1):
        row.only(FIELDS)
        own = row.identifier("id") if "id" in row.fields else str(number)
        question = row.optional_text("question")
        yield Answer(
            id=own,
            text=row.text("text"),
            passages=passages_of(row, "passages"),
            question=question,
            group=row.optional_text("group") or ("" if question.strip() else own),
            system=row.optional_text("system"),
            reference=row.row("reference").fields if row.fields.get("reference") is not None else {},
            first=row.choice("first", {0: 0, 1: 1}) if "first" in row.fields else 1,
        )


def passages_of(row: DataRow, name: str) -> tuple[Passage, ...]:
    """The passages of a field that lists texts, or objects with `text` and optional `title`: as many as it lists."""
    listed = row.fields.get(name)
    if isinstance(listed, list) and any(isinstance(one, str) for one in listed):
        return tuple(map(Passage, row.texts(name)))
    return tuple(Passage(one.text("text"), one.optional_text("title")) for one in row.rows(name))


def own_row(answer: Answer) -> dict[str, Any]:
    """An answer as a row of the project's own JSONL, with its reference: `read_own` makes the same answer of it."""
    passages = [{"title": one.title, "text": one.text} for one in answer.passages]
    row: dict[str, Any] = {"id": answer.id, "question": answer.question, "text": answer.text, "passages": passages}
    row["system"] = answer.system
    if answer.group:
        row["group"] = answer.group
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
