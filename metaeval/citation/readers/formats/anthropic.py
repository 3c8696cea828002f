"""Replies of Anthropic, and inspect_ai's logs: blocks of text, each with the citations that support it.

Anthropic (anthropics/anthropic-sdk-python @ 009b0353 `types/citation_*.py`): offsets are those of the source; the
documents are in the request, or beside `content`. inspect_ai (UKGovernmentBEIS/inspect_ai @ 499e6152
`_util/citation.py`): `cited_text` is a quotation, or the offsets of the claim in the block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.citation.readers.cited_text import CitedSpan, CitedText
from metaeval.citation.readers.formats.answer_format import (
    AnswerFormat,
    answering,
    finished,
    named_by,
    part,
    parts,
    text_in,
    text_part,
)
from metaeval.corpus.data_rows import DataRow


def _read_reply(row: DataRow) -> Iterator[CitedText]:
    draft, held = CitedText(), _held(row)
    for block in answering(row.rows("content"), draft):
        if (text := text_part(block, draft, "citations")) is not None:
            draft.claim(text, [_cited(citation, draft, held) for citation in parts(block, "citations")])
    yield finished(draft, row)


def _cited(citation: DataRow, draft: CitedText, held: Mapping[tuple[str, int], tuple[str, str]]) -> int | None:
    title, quote = named_by(citation, "document_title", "title"), citation.optional_text("cited_text")
    for kind in ("document", "search_result"):
        place = citation.fields.get(f"{kind}_index")
        if isinstance(place, int):
            known, text = held.get((kind, place), ("", ""))
            name = named_by(citation, "source", "file_id") or title or known or f"{kind} {place}"
            return draft.source((kind, place), quote, id=name, title=title or known, text=text)
    url = citation.optional_text("url")
    if not (name := url or title or quote):
        return None
    return draft.source(name, quote, id="" if url else title, url=url, title=title)


def _held(row: DataRow) -> dict[tuple[str, int], tuple[str, str]]:
    """Return (title, text) of the documents beside the reply, or else of those in its request, by (kind, index).

    kind: document or search_result.
    """
    beside = row.fields.get("documents")
    documents = [("document", entry) for entry in beside] if isinstance(beside, list) else []
    documents += [] if documents else list(_blocks(part(row, "request").fields.get("messages")))
    held: dict[tuple[str, int], tuple[str, str]] = {}
    places: Counter[str] = Counter()
    for kind, block in documents:
        fields = block if isinstance(block, Mapping) else {"text": block}
        places[kind] += 1
        source = fields.get("source")
        texts = [fields.get(name) for name in ("text", "data", "content")]
        if isinstance(source, Mapping):
            texts = [source.get("data" if source.get("type") == "text" else "content")]
        held[kind, places[kind] - 1] = str(fields.get("title") or ""), next(filter(None, map(text_in, texts)), "")
    return held


def _blocks(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the documents and search results in messages, in order, also those in results of tools."""
    for entry in value if isinstance(value, Sequence) and not isinstance(value, str) else ():
        if isinstance(entry, Mapping):
            if entry.get("type") in ("document", "search_result"):
                yield str(entry["type"]), entry
            else:
                yield from _blocks(entry.get("content"))


def _read_log(row: DataRow) -> Iterator[CitedText]:
    for number, choice in enumerate(row.row("output").rows("choices")):
        draft, message = CitedText(), choice.row("message")
        whole = isinstance(message.fields.get("content"), str)
        blocks = [DataRow(message.where, {"text": message.text("content")})] if whole else message.rows("content")
        for block in answering(blocks, draft):
            if (text := text_part(block, draft, "citations")) is None:
                continue
            start = draft.write(text)
            for citation in parts(block, "citations"):
                ends = citation.fields.get("cited_text")
                page = {name: citation.fields.get(name) for name in ("url", "title")}
                page["cited_text"] = ends if isinstance(ends, str) else None
                sources = [_cited(DataRow(citation.where, page), draft, {})]
                if isinstance(ends, list):
                    first, last = (end + start if isinstance(end, int) else None for end in (*ends, None, None)[:2])
                    draft.cite("claim", first, last, sources)
                else:
                    draft.spans.append(CitedSpan("claim", start, start + len(text), tuple(sources), exact=True))
        yield finished(draft, row, number, system=named_by(part(row, "output"), "model"))


ANTHROPIC = AnswerFormat(
    "anthropic", "Anthropic messages: text blocks with citations", ("content[]", "content[].text"), _read_reply
)

INSPECT = AnswerFormat(
    name="inspect",
    title="inspect_ai samples: output choices whose text has citations",
    needs=("output.choices[]", "output.choices[].message.content"),
    read=_read_log,
)
