"""The project's format of answers: one JSON object per line (or a list of them), UTF-8::

    {"id": "a1", "question": "Who built it?", "text": "A Dane did [1].", "group": "q1", "system": "mine",
     "passages": [{"title": "Bridge", "text": "A Danish engineer built the bridge."}]}

:id: optional; default: the answer's number in the file, from 1. No two answers share one.
:text: the answer as the model wrote it, marks included.
:passages: the passages that the model read, in the order of their numbers: texts, or objects with `text`
    (and `title`; `source`, an id or address; `snippet` or `extraction`, and `summary`, shorter texts).
:question: optional. group: optional, the unit of resampling; default: the question, or without one the id. system:
    optional, the generator.
:reference: optional object: answer, qa_pairs, annotations, claims, answers, as in ALCE's files; and support, a list of
    statements with people's levels of each citation, 2 (full), 1 (partial), 0 (none) or -1 (not judged):
    {"start": 0, "end": 15, "text": "A Dane did.", "cited": [1], "levels": [2]}.
    And gold_sources, a list of the ids of the sources that should be retrieved, for `metaeval cite citeeval`.
:first: optional: the number of the first passage in the text's marks, 0 or 1; default 1.
:statements: optional: people's ratings of the text's statements, which `metaeval cite meta` reads
    (`metaeval.citation.human.rating_files`) and this file reader ignores.
:sample: optional: the number, from 0, of an answer among several of one system to the question. They share the id,
    behind which the file reader writes the number: q1#0.
:generation: optional: what `metaeval cite generate` records on the way to the answer; this file reader ignores it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from metaeval.citation.data_model import Answer, Passage
from metaeval.corpus.data_rows import DataRow

FIELDS = tuple("id question text passages group system reference first statements sample generation".split())


def read_own(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield one answer for each row. Raises `UserError` on an unknown field, a missing one, or a wrong type."""
    for number, row in enumerate(rows, start=1):
        row.only(FIELDS)
        answer_id = row.identifier("id") if "id" in row.fields else str(number)
        question = row.optional_text("question")
        answer = Answer(
            id=answer_id,
            text=row.text("text"),
            passages=passages_of(row, "passages"),
            question=question,
            group=row.optional_text("group") or ("" if question.strip() else answer_id),
            system=row.optional_text("system"),
            reference=row.row("reference").fields if row.fields.get("reference") is not None else {},
            first=row.choice("first", {0: 0, 1: 1}) if "first" in row.fields else 1,
        )
        yield answer if row.fields.get("sample") is None else answer.in_sample(row.number("sample"))


def passages_of(row: DataRow, name: str) -> tuple[Passage, ...]:
    """Return the passages that a field lists: texts, or objects with `text` and further fields (see the module)."""
    listed = row.fields.get(name)
    if isinstance(listed, list) and any(isinstance(entry, str) for entry in listed):
        return tuple(map(Passage, row.texts(name)))
    return tuple(
        Passage(each.text("text"), each.optional_text("title"), each.optional_text("source"), *shorter_texts(each))
        for each in row.rows(name)
    )


def shorter_texts(passage: DataRow) -> tuple[str, str]:
    """Return a passage's (snippet, summary), each empty where absent; ALCE's files name the snippet `extraction`."""
    texts = [passage.fields.get(name) for name in ("snippet", "extraction", "summary")]
    snippet, extraction, summary = (text if isinstance(text, str) else "" for text in texts)
    return snippet or extraction, summary


def own_row(answer: Answer) -> dict[str, Any]:
    """Return an answer as a row of the project's JSONL, from which `read_own` restores the same answer."""
    passages = [
        {"title": passage.title, "text": passage.text}
        | {name: text for name in ("source", "snippet", "summary") if (text := getattr(passage, name))}
        for passage in answer.passages
    ]
    row: dict[str, Any] = {"id": answer.sampled_id, "question": answer.question, "text": answer.text}
    row |= {"passages": passages, "system": answer.system}
    first = None if answer.first == 1 else answer.first
    optional = {"group": answer.group, "reference": {**answer.reference}, "first": first, "sample": answer.sample}
    return row | {name: value for name, value in optional.items() if value not in ("", {}, None)}


def own_lines(answers: Iterable[Answer]) -> str:
    """Return answers as the text of a JSONL file, from which `read_own` restores the same answers."""
    return lines_of(map(own_row, answers))


def lines_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as the text of a JSONL file."""
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    # JSON input may hold a lone surrogate: it is written as its escape, which JSON reads back.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
