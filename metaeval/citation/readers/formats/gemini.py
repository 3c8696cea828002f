"""Replies of Gemini and Vertex with grounding: spans of the text and the indices of chunks.

Offsets are bytes of all text parts together, not of a part as the SDK says (a recorded reply with two parts in
Portuguese); `startIndex` is absent where it is 0. A chunk's address is a redirect: texts are found by its index.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import (
    REASONING,
    AnswerFormat,
    answering,
    entries,
    finished,
    is_aside,
    offset,
    part,
    parts,
)
from metaeval.corpus.data_rows import DataRow


def _read(row: DataRow) -> Iterator[CitedText]:
    for number, candidate in enumerate(row.rows("candidates")):
        inner = DataRow(candidate.where, _camel(candidate.fields))
        draft = CitedText()
        starts, encoded = list[int](), bytearray()
        pieces, metadata = parts(part(inner, "content"), "parts"), part(inner, "groundingMetadata")
        for piece in pieces:
            starts.append(len(encoded))
            if not is_aside(piece.fields, REASONING):
                encoded += piece.optional_text("text").encode("utf-8", "surrogatepass")
        for place, chunk in enumerate(parts(metadata, "groundingChunks")):
            kinds = [value for value in chunk.fields.values() if isinstance(value, Mapping)]
            source = DataRow(chunk.where, kinds[0] if kinds else {})
            title, text = source.optional_text("title"), source.optional_text("text")
            draft.source(place, id=title, url=source.optional_text("uri"), title=title, text=text)
        supports, written = deque(parts(metadata, "groundingSupports")), 0
        for piece in answering(pieces, draft, gap=""):  # a gap would move the offsets
            draft.write(text := piece.optional_text("text"))
            written += len(text.encode("utf-8", "surrogatepass"))
            while supports and (offset(part(supports[0], "segment"), "endIndex") or written) <= written:
                _cite(draft, supports.popleft(), starts, encoded)
        for support in supports:
            _cite(draft, support, starts, encoded)
        yield finished(draft, row, number)


def _cite(draft: CitedText, support: DataRow, starts: list[int], encoded: bytearray) -> None:
    segment = part(support, "segment")
    listed = entries(support, "groundingChunkIndices")
    chunks = [place if isinstance(place, int) and 0 <= place < len(draft.sources) else None for place in listed]
    text = segment.fields.get("text")
    start = offset(segment, "startIndex") if "startIndex" in segment.fields else 0
    end, place = offset(segment, "endIndex"), offset(segment, "partIndex")
    if place and place < len(starts) and start is not None and end is not None and isinstance(text, str):
        together = encoded[start:end] == text.encode("utf-8", "surrogatepass")
        start, end = (start, end) if together else (start + starts[place], end + starts[place])
    draft.cite("claim", start, end, chunks, text if isinstance(text, str) else None)


def _camel(value: Any) -> Any:
    """Return a value whose keys are in camelCase, which the SDK writes in snake_case."""
    if isinstance(value, Mapping):
        words = {key: str(key).split("_") for key in value}
        return {"".join([key[0], *map(str.title, key[1:])]): _camel(value[name]) for name, key in words.items()}
    return [_camel(entry) for entry in value] if isinstance(value, list) else value


GEMINI = AnswerFormat(
    name="gemini",
    title="Gemini and Vertex: candidates with grounding supports",
    needs=("candidates[]", "candidates[].content.parts[].text"),
    read=_read,
)
