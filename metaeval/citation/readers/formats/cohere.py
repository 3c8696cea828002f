"""Replies of Cohere, v2 and v1: short spans of the text with their sources.

v2 counts characters of the content block `content_index` (cohere-ai/cohere-python @ bc495daa `types/citation.py`).
Citations of thoughts and plans are not citations of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metaeval.citation.readers.cited_text import AnswerDraft, CitedText
from metaeval.citation.readers.formats.answer_format import (
    AnswerFormat,
    entries,
    finished,
    named_by,
    offset,
    part,
    parts,
)
from metaeval.corpus.data_rows import DataRow

_NOT_OF_ANSWER = "citations are those of thoughts or plans"


def _read_v2(row: DataRow) -> Iterator[CitedText]:
    draft, message, starts = AnswerDraft(), row.row("message"), dict[int, int]()
    for number, block in enumerate(message.rows("content")):
        if isinstance(block.fields.get("text"), str):
            starts[number] = draft.write(block.text("text"))
    for citation in parts(message, "citations"):
        cited = [_source(source, row, draft) for source in parts(citation, "sources")]
        block_number = offset(citation, "content_index") or 0
        if citation.fields.get("type", "TEXT_CONTENT") != "TEXT_CONTENT" or block_number not in starts:
            draft.left_out[_NOT_OF_ANSWER] += len(cited)
        else:
            _cite(draft, citation, cited, starts[block_number])
    yield finished(draft, row)


def _read_v1(row: DataRow) -> Iterator[CitedText]:
    draft = AnswerDraft()
    draft.write(row.text("text"))
    for document in parts(row, "documents"):
        _document(document, draft, named_by(document, "id"))
    for citation in row.rows("citations"):
        _cite(draft, citation, [draft.find(name) for name in citation.texts("document_ids")], 0)
    yield finished(draft, row, id=named_by(row, "id", "response_id", "generation_id"))


def _cite(draft: AnswerDraft, citation: DataRow, cited: list[int | None], shift: int) -> None:
    text = citation.fields.get("text")
    start, end = (None if place is None else place + shift for place in map(offset, [citation] * 2, ("start", "end")))
    draft.cite("claim", start, end, cited, text if isinstance(text, str) else None)


def _source(source: DataRow, row: DataRow, draft: AnswerDraft) -> int | None:
    name = named_by(source, "id")
    held = part(source, "document") if "document" in source.fields else part(source, "tool_output")
    listed = entries(part(row, "request"), "documents")
    asked_with = [entry for entry in listed if isinstance(entry, Mapping) and entry.get("id") == name]
    inner = held if held.fields or not asked_with else DataRow(source.where, asked_with[0])
    return _document(inner, draft, name or named_by(inner, "id"))


def _document(document: DataRow, draft: AnswerDraft, name: str) -> int | None:
    nested = document.fields.get("data")
    fields = {**document.fields, **nested} if isinstance(nested, Mapping) else document.fields
    inner = DataRow(document.where, fields)
    texts = [named_by(inner, key) for key in ("snippet", "text", "content", "data")]
    text, url = next(filter(None, texts), ""), named_by(inner, "url")
    return draft.source(name, id=name, url=url, title=named_by(inner, "title"), text=text) if name else None


V2 = AnswerFormat(
    name="cohere",
    title="Cohere v2: a message with citations of its content",
    needs=("message.content[]", "message.content[].text"),
    example='{"message": {"content": [{"type": "text", "text": "It opened in 1999."}], "citations": [{"start": 13, '
    '"end": 17, "text": "1999", "type": "TEXT_CONTENT", "content_index": 0, "sources": [{"type": "document", "id": '
    '"d1", "document": {"title": "Bridge", "snippet": "The bridge opened in 1999."}}]}]}}',
    read=_read_v2,
)

V1 = AnswerFormat(
    name="cohere-v1",
    title="Cohere v1: a text with citations of documents",
    needs=("text", "citations[].document_ids", "documents[]"),
    example='{"text": "It opened in 1999.", "citations": [{"start": 13, "end": 17, "text": "1999", "document_ids": '
    '["d1"]}], "documents": [{"id": "d1", "snippet": "The bridge opened in 1999."}]}',
    read=_read_v1,
)
