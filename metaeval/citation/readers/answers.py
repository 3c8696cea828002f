"""Read a file of model answers, its format told from its content or named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from metaeval.citation.model import Answer
from metaeval.citation.readers.alce import read_alce
from metaeval.citation.readers.crag25 import read_crag25
from metaeval.citation.readers.expertqa import read_expertqa
from metaeval.citation.readers.jsonl import read_own
from metaeval.citation.readers.scholarqa import read_scholarqa
from metaeval.citation.readers.scifi import read_scifi
from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError, shown, unknown

Reader = Callable[[list[Row], Path], Iterator[Answer]]

READERS: Mapping[str, Reader] = {
    "alce": lambda rows, _: read_alce(rows),
    "jsonl": lambda rows, _: read_own(rows),
    "crag25": read_crag25,
    "expertqa": lambda rows, _: read_expertqa(rows),
    "scholarqa": lambda rows, _: read_scholarqa(rows),
    "scifi": lambda rows, _: read_scifi(rows),
}

# The fields that tell a format from the others; the first format whose fields a file's first item has is taken.
_TELLING: Mapping[str, tuple[str, ...]] = {
    "scholarqa": ("output", "ctxs"),
    "alce": ("output", "docs"),
    "crag25": ("response", "topic", "text"),
    "expertqa": ("question", "annotator_id", "answers"),
    "scifi": ("query", "paragraph", "documents"),
    "jsonl": ("text", "passages"),
}

HINT = (
    "name a file of answers (ALCE's JSON, JSONL, SCiFi, CRAG-25, ScholarQABench, ExpertQA; "
    "see docs/citation-pipelines.md)"
)


def read_answers(path: Path, form: str = "auto") -> list[Answer]:
    """The answers of a file, in its order; form: a name in `READERS`, or "auto".

    Raises `UserError`, with file, item and field, when the file is empty or of another format, when passages are
    missing, and when two answers share an id.
    """
    if form != "auto" and form not in READERS:
        raise unknown("format of answers", form, (*READERS, "auto"))
    rows = _rows(path)
    if not rows:
        raise UserError(f"{path} holds no answers: give a file with at least one.")
    answers = list(READERS[_form(rows[0], path) if form == "auto" else form](rows, path))
    seen: set[str] = set()
    for answer in answers:
        if answer.id in seen:
            raise UserError(f"{path}: two answers have the id {shown(answer.id)}; allowed: an id of its own for each.")
        seen.add(answer.id)
    return answers


def _form(row: Row, path: Path) -> str:
    for form, fields in _TELLING.items():
        if all(field in row.fields for field in fields):
            return form
    # A record that lacks one telling field is more likely half of a known format than of no format.
    near = {form: [one for one in fields if one not in row.fields] for form, fields in _TELLING.items()}
    if likely := [f"looks like {form} and lacks the field {left[0]}" for form, left in near.items() if len(left) == 1]:
        raise UserError(f"{row.where}: {'; or '.join(likely)}: add it, or {HINT}.")
    known = "; ".join(f"{form}: {', '.join(fields)}" for form, fields in _TELLING.items())
    raise UserError(
        f"{row.where}: no known format of answers has the fields {', '.join(row.fields) or 'none'}; known are {known}."
    )


def _rows(path: Path) -> list[Row]:
    """The items of a list, of JSON lines, or under `data` of one object, as ALCE writes it."""
    content = _object(path)
    if content is None:
        return list(read_rows(path, HINT))
    data = content["data"]
    if not isinstance(data, list):
        raise UserError(f"{path}: field 'data' is {shown(data)}; allowed: a list of items.")
    rows: list[Row] = []
    for number, value in enumerate(data, start=1):
        if not isinstance(value, dict):
            raise UserError(f"{path} record {number} is {shown(value)}; allowed: an object.")
        rows.append(Row(f"{path} record {number}", value))
    return rows


def _object(path: Path) -> dict[str, Any] | None:
    """The file's one object with a field `data`; None if it is something else, which `read_rows` then judges."""
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "data" in value else None
