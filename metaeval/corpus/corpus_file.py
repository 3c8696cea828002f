"""The project's own corpus file, format "metaeval-corpus/1": bring your own labels, or exchange a corpus.

One JSON object per line, UTF-8 (a byte order mark, CRLF and blank lines are tolerated). The first line says what the
file is; the lines after it may stand in any order, so a citation may precede its document::

    {"type": "corpus", "format": "metaeval-corpus/1", "name": "my-answers"}
    {"type": "document", "id": "d1", "sentences": ["Rain fell all day.", "The river rose."]}
    {"type": "statement", "id": "s1", "text": "The river rose after the rain.", "group": "answer-1"}
    {"type": "citation", "statement": "s1", "document": "d1", "level": "full", "evidence": {"sentences": [0, 1]}}

:corpus: format, name; optional `dropped` (counts by reason of what was left out), `demo` (true: the labels are made up)
    and free `meta` (not kept).
:document: id and exactly one of `text` (one string) and `sentences` (a sentence split, kept as given); optional
    title, url, meta. An empty text stands for a page that could not be had.
:statement: id, text (not empty, without its citation marks); optional `group` (what resampling draws: statements that
    share one are not independent; default: the statement's id), `system` (the generator), `level` (what all of its
    citations together support, for unit=statement), meta.
:citation: statement, document, level ("full", "partial" or "none", or another word for one of these, such as
    "Partially supported"); optional id (default "STATEMENT:DOCUMENT"), meta,
    `evidence`: {"sentences": [0-based indices into the document's sentences]} or {"texts": [copied text]}: what
    is needed together. Where several such sets are each enough, `evidence_sets`: a list of them, instead.

Ids are unique among the lines of their type. Other fields are errors: free content goes into `meta`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metaeval.core.errors import Problem, UserError, shown, shown_with_hint
from metaeval.core.files import write_text
from metaeval.core.parsing import MalformedError, parse_json, read_text
from metaeval.core.tables import TABLES
from metaeval.corpus.level_words import WORDS, plain_word
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

FORMAT = "metaeval-corpus/1"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """What is allowed in one field of a record.

    fits: returns whether a value is allowed. allowed: the allowed values in words. required: the field must be there.
    inner: what is allowed in the fields of a value that is an object, or a list of objects; None: not checked.
    """

    fits: Callable[[Any], bool]
    allowed: str
    required: bool = False
    inner: Mapping[str, Field] | None = None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_count(value: Any) -> bool:
    # bool is a subclass of int: `true` is not a number here.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


LEVELS: Mapping[str, SupportLevel] = {level.label: level for level in sorted(SupportLevel, reverse=True)}

_ID = Field(_is_filled, "a string that is not empty", required=True)
_OPTIONAL_ID = Field(_is_filled, "a string that is not empty")
_TEXT = Field(_is_text, "a string")
_META = Field(_is_object, "an object")
_LEVEL = Field(lambda v: isinstance(v, str) and plain_word(v) in WORDS, ", ".join(LEVELS), required=True)
_EVIDENCE: Mapping[str, Field] = {
    "sentences": Field(lambda v: isinstance(v, list) and all(map(_is_count, v)), "a list of whole numbers from 0"),
    "texts": Field(lambda v: isinstance(v, list) and all(map(_is_filled, v)), "a list of strings that are not empty"),
}

SCHEMA: Mapping[str, Mapping[str, Field]] = {
    "corpus": {
        "format": Field(lambda v: v == FORMAT, f'"{FORMAT}"', required=True),
        "name": _ID,
        "demo": Field(lambda v: isinstance(v, bool), "true or false (true: the labels are made up)"),
        "dropped": Field(
            lambda v: isinstance(v, dict) and all(map(_is_count, v.values())), "an object of counts by reason"
        ),
        "meta": _META,
    },
    "document": {
        "id": _ID,
        "text": _TEXT,
        "sentences": Field(lambda v: isinstance(v, list) and all(map(_is_text, v)), "a list of strings"),
        "title": _TEXT,
        "url": _TEXT,
        "meta": _META,
    },
    "statement": {
        "id": _ID,
        "text": _ID,
        "group": _OPTIONAL_ID,
        "system": _TEXT,
        "level": replace(_LEVEL, required=False),
        "meta": _META,
    },
    "citation": {
        "id": _OPTIONAL_ID,
        "statement": _ID,
        "document": _ID,
        "level": _LEVEL,
        "evidence": Field(_is_object, 'an object with "sentences" or "texts"', inner=_EVIDENCE),
        "evidence_sets": Field(
            lambda v: isinstance(v, list) and all(map(_is_object, v)),
            'a list of objects with "sentences" or "texts"',
            inner=_EVIDENCE,
        ),
        "meta": _META,
    },
}


def check_record(line: int, record: Any) -> Iterator[Problem]:
    """Yield every problem that one line has by itself. line: its number, from 1. record: its parsed JSON."""
    if not isinstance(record, dict):
        yield Problem(line, "the line", shown(record), "one JSON object per line")
        return
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in SCHEMA:
        fault = shown_with_hint(kind, SCHEMA) if "type" in record else "missing"
        yield Problem(line, "type", fault, ", ".join(SCHEMA))
        return
    yield from _check_fields(line, {key: value for key, value in record.items() if key != "type"}, SCHEMA[kind], "")
    if kind == "document" and ("text" in record) == ("sentences" in record):
        fault = "given together with sentences" if "text" in record else "missing"
        yield Problem(line, "text", fault, 'exactly one of "text" and "sentences"')
    if kind == "citation" and "evidence" in record and "evidence_sets" in record:
        yield Problem(line, "evidence_sets", "given together with evidence", 'one of "evidence" and "evidence_sets"')


def _check_fields(line: int, record: Record, fields: Mapping[str, Field], prefix: str) -> Iterator[Problem]:
    for name, value in record.items():
        field = fields.get(name)
        if field is None:
            yield Problem(line, "a field's name", prefix + shown_with_hint(name, fields), ", ".join(fields))
        elif not field.fits(value):
            known = LEVELS if name == "level" else ()
            yield Problem(line, prefix + name, shown_with_hint(value, known), field.allowed)
        elif field.inner is not None:
            for place, inside in _objects(name, value):
                yield from _check_fields(line, inside, field.inner, f"{prefix}{place}.")
    for name, field in fields.items():
        if field.required and name not in record:
            yield Problem(line, prefix + name, "missing", field.allowed)


def _objects(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return (place, value) of a field's value, or of each entry if it is a list; a place is NAME or NAME[0]."""
    return [(f"{name}[{at}]", entry) for at, entry in enumerate(value)] if isinstance(value, list) else [(name, value)]


Numbered = tuple[int, Record]
"""A line's number, from 1, and its parsed object."""


def citation_id(record: Record) -> str:
    """Return the id of a citation's record, by default STATEMENT:DOCUMENT."""
    return str(record.get("id", f"{record.get('statement')}:{record.get('document')}"))


def check_links(numbered: Sequence[Numbered]) -> Iterator[Problem]:
    """Yield the problems that concern several lines, such as a citation of an unknown document.

    A document or statement with other faults still counts as the target of a citation, if it has an id.
    """
    firsts: dict[str, dict[str, Numbered]] = {"document": {}, "statement": {}, "citation": {}}
    for number, record in numbered:
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in firsts:
            continue
        record_id = citation_id(record) if kind == "citation" else record.get("id")
        if not isinstance(record_id, str) or not record_id:
            continue
        if record_id in firsts[kind]:
            value = f"{shown(record_id)}, which line {firsts[kind][record_id][0]} has already"
            yield Problem(number, "id", value, f"an id that no other {kind} has")
        else:
            firsts[kind][record_id] = (number, record)
    for number, record in numbered:
        if record.get("type") != "citation":
            continue
        for end in ("statement", "document"):
            target = record.get(end)
            if isinstance(target, str) and target and target not in firsts[end]:
                yield Problem(number, end, shown(target), f"the id of a {end} in this file")
        document = record.get("document")
        if not isinstance(document, str) or document not in firsts["document"]:
            continue
        sentences = firsts["document"][document][1].get("sentences", [])
        if not isinstance(sentences, list):
            continue
        for name in ("evidence", "evidence_sets"):
            for place, evidence in _objects(name, record.get(name)):
                indices = evidence.get("sentences") if isinstance(evidence, dict) else None
                if not isinstance(indices, list):
                    continue
                if indices and not sentences:
                    allowed = f'evidence "texts" only, because document {shown(document)} has no "sentences"'
                    yield Problem(number, f"{place}.sentences", shown(indices), allowed)
                elif any(isinstance(index, int) and index >= len(sentences) for index in indices):
                    allowed = f"0 to {len(sentences) - 1}, the sentences of document {shown(document)}"
                    yield Problem(number, f"{place}.sentences", shown(indices), allowed)


# Legal inside a JSON string, but many tools take them for the end of a line.
_LINE_BREAKS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})
_HEADER = f'a first line {{"type": "corpus", "format": "{FORMAT}", "name": "..."}}'


UNJUDGED = "unjudged"
"""The field of `meta` that `read_corpus` sets to true for a citation to which the file gives no level."""


def read_corpus(path: Path, unjudged: bool = False) -> Corpus:
    """Read a corpus file. unjudged: citations may lack a level; they get NONE, and `UNJUDGED` in their `meta`.

    Raises `UserError` for a table, a file that cannot be read, and one with problems: the first, and how many others.
    """
    if path.suffix.lower() in TABLES and path.is_file():
        raise UserError(
            f"{path} is a table, and a corpus is JSON lines ({FORMAT}). Scores in a table that has a column of human "
            f"levels are evaluated by 'metaeval evaluate -d ratings --data {path}'; a table with a statement and a "
            f"source in each row is scored by 'metaeval score -d ratings --data {path}'."
        )
    numbered, problems = _check(read_text(path))
    if unjudged:
        problems = [problem for problem in problems if (problem.field, problem.value) != ("level", "missing")]
    if problems:
        others = len(problems) - 1
        more = f" ({others} more problem{'s' if others > 1 else ''})" if others else ""
        raise UserError(f"{path}: {problems[0]}.{more}")
    return _build([record for _, record in numbered])


def validate(path: Path, limit: int = 100) -> list[Problem]:
    """Return the problems of a corpus file, at most `limit`: first those of single lines, then those between lines.

    Raises `UserError` only when the file cannot be read as UTF-8 text.
    """
    return _check(read_text(path))[1][:limit]


def write_corpus(corpus: Corpus, path: Path) -> None:
    """Write a corpus without its published scores, whole or not at all; `read_corpus` returns the rest unchanged.

    Raises `UserError` when the corpus holds what the format does not allow (an empty statement, a `meta` that is not
    JSON) or the file cannot be written.
    """
    try:
        lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in _records(corpus)]
    except (TypeError, ValueError) as error:
        raise UserError(f"Corpus {corpus.name!r} cannot be written to {path} as JSON: {error}.") from error
    text = "".join(f"{line.translate(_LINE_BREAKS)}\n" for line in lines)
    _, problems = _check(text)
    if problems:
        raise UserError(f"Corpus {corpus.name!r} cannot be written to {path}: {problems[0]}.")
    write_text(path, text)


def _check(text: str) -> tuple[list[Numbered], list[Problem]]:
    numbered: list[Numbered] = []
    problems: list[Problem] = []
    # Split at "\n" alone: str.splitlines would also cut at U+2028 and its like inside strings.
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    for number, line in lines:
        try:
            record = parse_json(line, constants=False)
        except MalformedError as error:
            problems.append(Problem(number, "the line", f"not JSON ({error})", "one JSON object per line, UTF-8"))
            continue
        is_header = isinstance(record, dict) and record.get("type") == "corpus"
        if number == lines[0][0] and not is_header:
            problems.append(Problem(number, "the first line", shown(record), _HEADER))
        elif is_header and number != lines[0][0]:
            problems.append(Problem(number, "type", '"corpus"', "once only, on the first line"))
        problems.extend(check_record(number, record))
        if isinstance(record, dict):
            numbered.append((number, record))
    if not lines:
        problems.append(Problem(1, "the file", "empty", _HEADER))
    problems.extend(check_links(numbered))
    return numbered, problems


def _build(records: Sequence[Record]) -> Corpus:
    header, documents, statements, citations = records[0], {}, {}, []
    for record in records:
        record_id = record.get("id", "")
        if record["type"] == "document":
            optional = _chosen(record, "text", "title", "url", "meta")
            documents[record_id] = Document(record_id, sentences=tuple(record.get("sentences", ())), **optional)
        elif record["type"] == "statement":
            group = str(record.get("group", record_id))
            level = WORDS[plain_word(record["level"])] if "level" in record else None
            optional = _chosen(record, "system", "meta")
            statements[record_id] = Statement(record_id, record["text"], group, level=level, **optional)
        elif record["type"] == "citation":
            unknown = {"meta": {**record.get("meta", {}), UNJUDGED: True}}
            sets = record.get("evidence_sets", [record.get("evidence", {})])
            citations.append(
                Citation(
                    *(citation_id(record), record["statement"], record["document"]),
                    level=WORDS[plain_word(record.get("level", SupportLevel.NONE.label))],
                    evidence=tuple(Evidence(*(tuple(of.get(name, ())) for name in _EVIDENCE)) for of in sets),
                    **(_chosen(record, "meta") if "level" in record else unknown),
                )
            )
    return Corpus(
        header["name"], documents, statements, tuple(citations), header.get("dropped", {}), header.get("demo", False)
    )


def _chosen(record: Record, *names: str) -> Record:
    """Return those of the fields `names` that a record has, with their values."""
    return {name: record[name] for name in names if name in record}


def _records(corpus: Corpus) -> Iterator[Record]:
    yield {"type": "corpus", "format": FORMAT, "name": corpus.name, **_given(dropped=corpus.dropped, demo=corpus.demo)}
    for document in corpus.documents.values():
        content = {"sentences": document.sentences} if document.sentences else {"text": document.text}
        optional = _given(title=document.title, url=document.url, meta=document.meta)
        yield {"type": "document", "id": document.id, **content, **optional}
    for statement in corpus.statements.values():
        level = "" if statement.level is None else statement.level.label
        optional = _given(system=statement.system, level=level, meta=statement.meta)
        yield {"type": "statement", "id": statement.id, "text": statement.text, "group": statement.group, **optional}
    for citation in corpus.citations:
        ends = {"statement": citation.statement_id, "document": citation.document_id, "level": citation.level.label}
        sets = [
            _given(sentences=evidence_set.sentences, texts=evidence_set.texts) for evidence_set in citation.evidence
        ]
        # One set stands where it always stood: files that need no alternatives are read by every version.
        evidence = {"evidence_sets": sets} if len(sets) > 1 else {"evidence": sets[0]} if sets else {}
        yield {"type": "citation", "id": citation.id, **ends, **evidence, **_given(meta=citation.meta)}


def _given(**fields: Any) -> Record:
    """Return the fields that are not empty; mappings become plain dicts."""
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items() if value}
