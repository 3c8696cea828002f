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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, NonNegativeInt, ValidationError
from pydantic_core import ErrorDetails

from metaeval.core.errors import Problem, UserError, shown, shown_with_hint
from metaeval.core.files import write_text
from metaeval.core.parsing import MalformedError, parse_json, read_text
from metaeval.core.tables import TABLES
from metaeval.corpus.level_words import WORDS, plain_word
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

FORMAT = "metaeval-corpus/1"

Record = dict[str, Any]

LEVELS: Mapping[str, SupportLevel] = {level.label: level for level in sorted(SupportLevel, reverse=True)}


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("a string that is not empty")
    return text


def _level(word: Any) -> SupportLevel:
    if not isinstance(word, str) or plain_word(word) not in WORDS:
        raise ValueError(", ".join(LEVELS))
    return WORDS[plain_word(word)]


Filled = Annotated[str, AfterValidator(_filled)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    meta: dict[str, Any] = {}


class _Header(_Line):
    format: Literal["metaeval-corpus/1"]
    name: Filled
    demo: bool = False
    dropped: dict[str, NonNegativeInt] = {}


class _DocumentLine(_Line):
    id: Filled
    text: str = ""
    sentences: list[str] = []
    title: str = ""
    url: str = ""


class _StatementLine(_Line):
    id: Filled
    text: Filled
    group: Filled = ""
    system: str = ""
    level: Annotated[SupportLevel | None, BeforeValidator(_level)] = None


class _EvidenceSet(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    sentences: list[NonNegativeInt] = []
    texts: list[Filled] = []


class _CitationLine(_Line):
    statement: Filled
    document: Filled
    id: Filled
    level: Annotated[SupportLevel, BeforeValidator(_level)]
    evidence: _EvidenceSet = _EvidenceSet()
    evidence_sets: list[_EvidenceSet] = []


_KINDS = ("corpus", _Header), ("document", _DocumentLine), ("statement", _StatementLine), ("citation", _CitationLine)
_LINES: Mapping[str, type[_Line]] = dict(_KINDS)

# A line's number, from 1, its object, and that as it was read (None if it has a fault).
Numbered = tuple[int, Record, _Line | None]


def _read_line(line: int, record: Any, problems: list[Problem]) -> _Line | None:
    """Return one line as it was read or, after every problem that it has by itself is added, None."""
    kind = record.get("type") if isinstance(record, dict) else None
    if not isinstance(record, dict):
        problems.append(Problem(line, "the line", shown(record), "one JSON object per line"))
        return None
    if not isinstance(kind, str) or kind not in _LINES:
        fault = shown_with_hint(kind, _LINES) if "type" in record else "missing"
        problems.append(Problem(line, "type", fault, ", ".join(_LINES)))
        return None
    if kind == "document" and ("text" in record) == ("sentences" in record):
        fault = "given together with sentences" if "text" in record else "missing"
        problems.append(Problem(line, "text", fault, 'exactly one of "text" and "sentences"'))
    if "evidence" in record and "evidence_sets" in record:
        problems.append(Problem(line, "evidence_sets", "given together with evidence", "one of the two"))
    try:
        ends = {"id": f"{record.get('statement')}:{record.get('document')}"} if kind == "citation" else {}
        return _LINES[kind].model_validate(ends | {name: value for name, value in record.items() if name != "type"})
    except ValidationError as error:
        faults = (fault for fault in error.errors() if fault["type"] != "default_factory_not_called")
        problems += [_problem(line, fault, _LINES[kind]) for fault in faults]
    return None


def _problem(line: int, fault: ErrorDetails, kind: type[BaseModel]) -> Problem:
    path, value = fault["loc"], fault["input"]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]
    if fault["type"] == "extra_forbidden":
        known = (kind if len(path) == 1 else _EvidenceSet).model_fields
        return Problem(line, "a field's name", shown_with_hint(place, known), ", ".join(known))
    text = "missing" if fault["type"] == "missing" else shown_with_hint(value, LEVELS if place == "level" else ())
    allowed = fault["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return Problem(line, place, text, allowed.partition(" or instance of")[0])


def _check_links(numbered: Sequence[Numbered]) -> Iterator[Problem]:
    """Yield the problems that concern several lines, such as a citation of an unknown document.

    A document or statement with other faults still counts as the target of a citation, if it has an id.
    """
    firsts: dict[str, dict[str, Numbered]] = {"document": {}, "statement": {}, "citation": {}}
    for number, record, line in numbered:
        kind, name = str(record.get("type")), getattr(line, "id", record.get("id"))
        if kind not in firsts or not isinstance(name, str) or not name:
            continue
        first = firsts[kind].setdefault(name, (number, record, line))
        if first[0] != number:
            value = f"{shown(name)}, which line {first[0]} has already"
            yield Problem(number, "id", value, f"an id that no other {kind} has")
    for number, _, line in numbered:
        if not isinstance(line, _CitationLine):
            continue
        for end, target in (("statement", line.statement), ("document", line.document)):
            if target not in firsts[end]:
                yield Problem(number, end, shown(target), f"the id of a {end} in this file")
        _, _, document = firsts["document"].get(line.document, (0, {}, None))
        if not isinstance(document, _DocumentLine):
            continue
        last, name = len(document.sentences) - 1, shown(document.id)
        sets = [(f"evidence_sets[{n}]", part) for n, part in enumerate(line.evidence_sets)]
        for place, evidence in [("evidence", line.evidence), *sets]:
            if any(index > last for index in evidence.sentences):
                allowed = f"0 to {last}, the sentences of document {name}"
                if last < 0:
                    allowed = f'evidence "texts" only, because document {name} has no "sentences"'
                yield Problem(number, f"{place}.sentences", shown(evidence.sentences), allowed)


# Legal inside a JSON string, but many tools take them for the end of a line.
_LINE_BREAKS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})
_HEADER = f'a first line {{"type": "corpus", "format": "{FORMAT}", "name": "..."}}'


# The field of `meta` that `read_corpus` sets to true for a citation to which the file gives no level.
UNJUDGED = "unjudged"


def read_corpus(path: Path, unjudged: bool = False) -> Corpus:
    """Read a corpus file. unjudged: citations may lack a level; they get NONE, and `UNJUDGED` in their `meta`.

    Raises `UserError` for a table, a file that cannot be read, and one with problems: the first, and how many others.
    """
    if path.suffix.lower() in TABLES and path.is_file():
        cure = f"type 'metaeval evaluate -d ratings --data {path}' if it holds scores, else 'metaeval score' with these"
        raise UserError(f"{path} is a table, and a corpus is JSON lines ({FORMAT}): {cure}.")
    numbered, problems = _check(read_text(path), unjudged)
    if problems:
        others = len(problems) - 1
        more = f" ({others} more problem{'s' if others > 1 else ''})" if others else ""
        raise UserError(f"{path}: {problems[0]}.{more}")
    return _build([line for _, _, line in numbered])


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


def _check(text: str, unjudged: bool = False) -> tuple[list[Numbered], list[Problem]]:
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
        is_object = isinstance(record, dict)
        is_header = is_object and record.get("type") == "corpus"
        if number == lines[0][0] and not is_header:
            problems.append(Problem(number, "the first line", shown(record), _HEADER))
        elif is_header and number != lines[0][0]:
            problems.append(Problem(number, "type", '"corpus"', "once only, on the first line"))
        lacks_level = unjudged and is_object and record.get("type") == "citation" and "level" not in record
        read = _read_line(number, {**record, "level": SupportLevel.NONE.label} if lacks_level else record, problems)
        if read and lacks_level:
            read.meta[UNJUDGED] = True
        if is_object:
            numbered.append((number, record, read))
    if not lines:
        problems.append(Problem(1, "the file", "empty", _HEADER))
    problems.extend(_check_links(numbered))
    return numbered, problems


def _build(lines: Sequence[_Line | None]) -> Corpus:
    (header,) = (line for line in lines if isinstance(line, _Header))
    documents, statements, citations = {}, {}, list[Citation]()
    for line in lines:
        if isinstance(line, _DocumentLine):
            sentences = tuple(line.sentences)
            documents[line.id] = Document(line.id, line.text, line.title, line.url, sentences, line.meta)
        elif isinstance(line, _StatementLine):
            group = line.group or line.id
            statements[line.id] = Statement(line.id, line.text, group, line.system, line.meta, line.level)
        elif isinstance(line, _CitationLine):
            sets = line.evidence_sets or [line.evidence]
            evidence = tuple(Evidence(tuple(part.sentences), tuple(part.texts)) for part in sets)
            citations.append(Citation(line.id, line.statement, line.document, line.level, evidence, line.meta))
    return Corpus(header.name, documents, statements, tuple(citations), header.dropped, header.demo)


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
        sets = [_given(sentences=part.sentences, texts=part.texts) for part in citation.evidence]
        # One set stands where it always stood: files that need no alternatives are read by every version.
        evidence = {"evidence_sets": sets} if len(sets) > 1 else {"evidence": sets[0]} if sets else {}
        yield {"type": "citation", "id": citation.id, **ends, **evidence, **_given(meta=citation.meta)}


def _given(**fields: Any) -> Record:
    """Return the fields that are not empty; mappings become plain dicts."""
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items() if value}
