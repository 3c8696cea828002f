"""Replies of Amazon Bedrock: Converse with `citationsContent`, and RetrieveAndGenerate.

Names of fields: boto/botocore @ 0e6e2404. The `span` of RetrieveAndGenerate ends inside or behind its last character:
the text of the part decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metaeval.citation.readers.cited_text import AnswerDraft, CitedText
from metaeval.citation.readers.formats.answer_format import (
    AnswerFormat,
    finished,
    named_by,
    offset,
    part,
    parts,
    text_in,
)
from metaeval.corpus.data_rows import DataRow


def _read_converse(row: DataRow) -> Iterator[CitedText]:
    draft, documents = AnswerDraft(), _documents(row)
    for block in row.row("output").row("message").rows("content"):
        inner = part(block, "citationsContent")
        cited = [_cited(citation, draft, documents) for citation in parts(inner, "citations")]
        draft.claim(text_in(inner.fields.get("content")) or block.optional_text("text"), cited)
    yield finished(draft, row)


def _cited(citation: DataRow, draft: AnswerDraft, documents: list[DataRow]) -> int | None:
    quote, title = text_in(citation.fields.get("sourceContent")), citation.optional_text("title")
    for kind, location in part(citation, "location").fields.items():
        inner = DataRow(f"{citation.where}, location", location if isinstance(location, Mapping) else {})
        if url := inner.optional_text("url"):
            return draft.source(url, quote, url=url, title=title)
        names = [name for name in ("documentIndex", "searchResultIndex") if name in inner.fields]
        place = offset(inner, names[0]) if names else None
        if place is not None:
            kind = "search result" if kind.startswith("searchResult") else "document"
            held = documents[place] if kind == "document" and 0 <= place < len(documents) else DataRow("", {})
            name, text = title or held.optional_text("name"), _text(held)
            return draft.source((kind, place), quote, id=name or f"{kind} {place}", title=name, text=text)
    return draft.source(title or quote, quote, id=title, title=title) if title or quote else None


def _documents(row: DataRow) -> list[DataRow]:
    """Return the documents of the request's messages, in order."""
    messages = parts(part(row, "request"), "messages")
    blocks = [block for message in messages for block in parts(message, "content")]
    return [block.row("document") for block in blocks if "document" in block.fields]


def _text(document: DataRow) -> str:
    source = part(document, "source")
    return source.optional_text("text") or text_in(source.fields.get("content"))


def _read_generated(row: DataRow) -> Iterator[CitedText]:
    draft, end = AnswerDraft(), 0
    draft.write(text := row.row("output").text("text"))
    for citation in row.rows("citations"):
        piece = part(part(citation, "generatedResponsePart"), "textResponsePart")
        span, claim = part(piece, "span"), piece.fields.get("text")
        ends = offset(span, "start"), offset(span, "end")
        if ends == (None, None) and isinstance(claim, str) and claim and (start := text.find(claim, end)) >= 0:
            ends = start, start + len(claim)
            end = ends[1]
        cited = [_reference(reference, draft) for reference in parts(citation, "retrievedReferences")]
        draft.cite("claim", *ends, cited, claim if isinstance(claim, str) else None)
    yield finished(draft, row, id=named_by(row, "id") or named_by(row, "sessionId"))


def _reference(reference: DataRow, draft: AnswerDraft) -> int | None:
    text = part(reference, "content").optional_text("text")
    places = [place for place in part(reference, "location").fields.values() if isinstance(place, Mapping)]
    addresses = [str(place[name]) for place in places for name in ("uri", "url", "id") if place.get(name)]
    address = addresses[0] if addresses else ""
    return draft.source((address, text), url=address, text=text) if address or text else None


CONVERSE = AnswerFormat(
    name="bedrock",
    title="Amazon Bedrock Converse: content with citations",
    needs=("output.message.content[]", "output.message.content[].citationsContent|output.message.content[].text"),
    example='{"output": {"message": {"role": "assistant", "content": [{"citationsContent": {"content": [{"text": '
    '"It opened in 1999."}], "citations": [{"title": "Document 1", "sourceContent": [{"text": "It opened in 1999."}], '
    '"location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 18}}}]}}]}}}',
    read=_read_converse,
)

RETRIEVE_AND_GENERATE = AnswerFormat(
    name="bedrock-rag",
    title="Amazon Bedrock RetrieveAndGenerate: spans with retrieved references",
    needs=("output.text", "citations[]"),
    example='{"output": {"text": "It opened in 1999."}, "citations": [{"generatedResponsePart": {"textResponsePart": '
    '{"text": "It opened in 1999.", "span": {"start": 0, "end": 17}}}, "retrievedReferences": [{"content": {"text": '
    '"The bridge opened in 1999."}, "location": {"type": "S3", "s3Location": {"uri": "s3://b/k"}}}]}]}',
    read=_read_generated,
)
