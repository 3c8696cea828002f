"""The project's own corpus file, format "metaeval-corpus/1": bring your own labels, or exchange a corpus.

One JSON object per line, UTF-8 (a byte order mark, CRLF and blank lines are tolerated). The first line says what the
file is; the lines after it may stand in any order, so a citation may precede its document::

    {"type": "corpus", "format": "metaeval-corpus/1", "name": "my-answers"}
    {"type": "document", "id": "d1", "sentences": ["Rain fell all day.", "The river rose."]}
    {"type": "statement", "id": "s1", "text": "The river rose after the rain.", "group": "answer-1"}
    {"type": "citation", "statement": "s1", "document": "d1", "level": "full", "evidence": {"sentences": [0, 1]}}

corpus      format, name; optional `dropped` (counts by reason of what was left out) and free `meta` (not kept).
document    id and exactly one of `text` (one string) and `sentences` (a sentence split, kept as given); optional
            title, url, meta. An empty text stands for a page that could not be had.
statement   id, text (not empty, without its citation marks); optional `group` (what resampling draws: statements that
            share one are not independent; default: the statement's id), `system` (the generator), meta.
citation    statement, document, level ("full", "partial" or "none"); optional id (default "STATEMENT:DOCUMENT"), meta,
            `evidence`: {"sentences": [0-based indices into the document's sentences]} or {"texts": [copied text]}.

Ids are unique among the lines of their type. Other fields are errors: free content goes into `meta`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.corpus.jsonl_links import Numbered, check_links, citation_id
from metaeval.corpus.jsonl_schema import FORMAT, LEVELS, Record, check_record
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement
from metaeval.corpus.problems import Problem, shown
from metaeval.errors import UserError
from metaeval.files import read_text, unique_fields, write_text

# Legal inside a JSON string, but many tools take them for the end of a line.
_LINE_BREAKS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})
_HEADER = f'a first line {{"type": "corpus", "format": "{FORMAT}", "name": "..."}}'


def read_corpus(path: Path) -> Corpus:
    """Read a corpus file.

    Raises `UserError` when the file cannot be read, or with its first problem and the number of others.
    """
    numbered, problems = _check(read_text(path))
    if problems:
        others = len(problems) - 1
        more = f" ({others} more problem{'s' if others > 1 else ''})" if others else ""
        raise UserError(f"{path}: {problems[0]}.{more}")
    return _build([record for _, record in numbered])


def validate(path: Path, limit: int = 100) -> list[Problem]:
    """The problems of a corpus file, lines alone first, then what stands between lines; at most `limit`.

    Raises `UserError` only when the file cannot be read as UTF-8 text.
    """
    return _check(read_text(path))[1][:limit]


def write_corpus(corpus: Corpus, path: Path) -> None:
    """Write a corpus, whole or not at all; `read_corpus` gives an equal one back.

    Raises `UserError` when the corpus holds what the format does not allow (an empty statement, a `meta` that is no
    JSON) or the file cannot be written.
    """
    try:
        text = "".join(_line(record) for record in _records(corpus))
    except (TypeError, ValueError) as error:
        raise UserError(f"Corpus {corpus.name!r} cannot be written to {path} as JSON: {error}.") from error
    _, problems = _check(text)
    if problems:
        raise UserError(f"Corpus {corpus.name!r} cannot be written to {path}: {problems[0]}.")
    write_text(path, text)


def _check(text: str) -> tuple[list[Numbered], list[Problem]]:
    numbered: list[Numbered] = []
    problems: list[Problem] = []
    # Split at "\n" alone: str.splitlines would also cut at U+2028 and its like inside strings.
    lines = [(n, line) for n, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1) if line.strip()]
    for number, line in lines:
        try:
            record = _parse(line)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(number, "the line", f"not JSON ({error})", "one JSON object per line, UTF-8"))
            continue
        problems.extend(_check_place(number, record, is_first=number == lines[0][0]))
        problems.extend(check_record(number, record))
        if isinstance(record, dict):
            numbered.append((number, record))
    if not lines:
        problems.append(Problem(1, "the file", "empty", _HEADER))
    problems.extend(check_links(numbered))
    return numbered, problems


def _check_place(number: int, record: Any, is_first: bool) -> Iterator[Problem]:
    is_header = isinstance(record, dict) and record.get("type") == "corpus"
    if is_first and not is_header:
        yield Problem(number, "the first line", shown(record), _HEADER)
    elif is_header and not is_first:
        yield Problem(number, "type", '"corpus"', "once only, on the first line")


def _parse(line: str) -> Any:
    value = json.loads(line, object_pairs_hook=unique_fields, parse_constant=_no_constant)
    # "\ud800" is legal JSON and no text: it could be neither hashed nor written again.
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _build(records: Sequence[Record]) -> Corpus:
    header = records[0]
    of_type: dict[str, list[Record]] = {"corpus": [], "document": [], "statement": [], "citation": []}
    for record in records:
        of_type[record["type"]].append(record)
    return Corpus(
        name=header["name"],
        documents={record["id"]: _document(record) for record in of_type["document"]},
        statements={record["id"]: _statement(record) for record in of_type["statement"]},
        citations=tuple(map(_citation, of_type["citation"])),
        dropped=header.get("dropped", {}),
    )


def _document(record: Record) -> Document:
    return Document(
        id=record["id"],
        text=record.get("text", ""),
        title=record.get("title", ""),
        url=record.get("url", ""),
        sentences=tuple(record.get("sentences", ())),
        meta=record.get("meta", {}),
    )


def _statement(record: Record) -> Statement:
    return Statement(
        id=record["id"],
        text=record["text"],
        group=record["group"] if "group" in record else record["id"],
        system=record.get("system", ""),
        meta=record.get("meta", {}),
    )


def _citation(record: Record) -> Citation:
    evidence = record.get("evidence", {})
    return Citation(
        id=citation_id(record),
        statement_id=record["statement"],
        document_id=record["document"],
        level=LEVELS[record["level"]],
        evidence=Evidence(tuple(evidence.get("sentences", ())), tuple(evidence.get("texts", ()))),
        meta=record.get("meta", {}),
    )


def _records(corpus: Corpus) -> Iterator[Record]:
    yield {"type": "corpus", "format": FORMAT, "name": corpus.name, **_given(dropped=corpus.dropped)}
    for document in corpus.documents.values():
        content = {"sentences": document.sentences} if document.sentences else {"text": document.text}
        optional = _given(title=document.title, url=document.url, meta=document.meta)
        yield {"type": "document", "id": document.id, **content, **optional}
    for statement in corpus.statements.values():
        optional = _given(system=statement.system, meta=statement.meta)
        yield {"type": "statement", "id": statement.id, "text": statement.text, "group": statement.group, **optional}
    for citation in corpus.citations:
        ends = {"statement": citation.statement_id, "document": citation.document_id, "level": citation.level.label}
        evidence = _given(sentences=citation.evidence.sentences, texts=citation.evidence.texts)
        yield {"type": "citation", "id": citation.id, **ends, **_given(evidence=evidence, meta=citation.meta)}


def _given(**fields: Any) -> Record:
    """The fields that hold something; mappings become plain dicts."""
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items() if value}


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS) + "\n"
