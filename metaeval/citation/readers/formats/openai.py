"""Replies of OpenAI (Responses, Chat), and of Perplexity, xAI and gateways in the same shapes.

The span of an annotation is the citation itself, behind its claim, in code points of the text (recorded replies of
pydantic/pydantic-ai @ c1d42fd8 and b7ecb470). Gateways that translate other providers give the claim's span, or 0 and 0
for all: then marks [n] in the text count the annotations, or the search results, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metaeval.citation.readers.cited_text import CitedSpan, CitedText, SourceList
from metaeval.citation.readers.formats.answer_format import (
    AnswerFormat,
    named_by,
    offset,
    part,
    parts,
    question_of,
    text_in,
)
from metaeval.citation.sentences import find_marks
from metaeval.corpus.loaders.rows import DataRow

_TOKEN = re.compile("\ue200cite((?:\ue202[^\ue200-\ue202]*)+)\ue201")


def _read_responses(row: DataRow) -> Iterator[CitedText]:
    sources, spans, pieces, length = SourceList(), list[CitedSpan](), list[str](), 0
    results = [result for entry in parts(row, "output") for result in parts(entry, "results")]
    for message in parts(row, "output"):
        contents = message.fields.get("content")
        for content in parts(message, "content") if isinstance(contents, list) else ():
            if content.fields.get("type") not in ("output_text", "text"):
                continue
            text = content.text("text")
            spans += annotated(text, parts(content, "annotations"), sources, results, length)
            pieces.append(text)
            length += len(text)
    yield answer("".join(pieces), sources, spans, row)


def _read_chat(row: DataRow) -> Iterator[CitedText]:
    for number, choice in enumerate(row.rows("choices")):
        message, sources = choice.row("message"), SourceList()
        text = text_in(message.fields.get("content"))
        spans = annotated(text, parts(message, "annotations"), sources, _results(row), 0)
        yield answer(text, sources, spans, row, f"#{number + 1}" if number else "")


def _results(row: DataRow) -> list[DataRow]:
    """Return the results of Perplexity's search; where only addresses are listed, these."""
    if results := parts(row, "search_results"):
        return results
    return [DataRow(row.where, {"url": url}) for url in row.fields.get("citations") or () if isinstance(url, str)]


def annotated(
    text: str, annotations: list[DataRow], sources: SourceList, results: list[DataRow], shift: int
) -> list[CitedSpan]:
    """Return the spans of annotations, and those of marks [n] and tokens in the text where annotations have none.

    shift: offset of the text in the whole answer.
    """
    spans: list[CitedSpan] = []
    listed: list[int | None] = []
    for annotation in annotations:
        spans.append(_span(annotation, sources, shift))
        listed += spans[-1].sources
    if any(span.end for span in spans) or (spans and not text):
        return [*spans, *_tokens(text, sources, shift)]
    numbered = [source_of(result, sources) for result in results] or listed
    ordered = numbered if numbered else []
    marks = []
    for mark in find_marks(text) if ordered else ():
        place = ordered[mark.number - 1] if mark.number and 0 < mark.number <= len(ordered) else None
        start, end = mark.start + shift, mark.end + shift
        marks.append(CitedSpan("mark", start, end, (place,), text[mark.start : mark.end]))
    return [*marks, *_tokens(text, sources, shift)]


def _span(annotation: DataRow, sources: SourceList, shift: int) -> CitedSpan:
    inner = next(
        (part(annotation, name) for name in ("url_citation", "file_citation") if name in annotation.fields), annotation
    )
    start, end = offset(inner, "start_index"), offset(inner, "end_index")
    if start is None and end is None and inner.fields.get("type") == "file_citation":
        start = end = offset(inner, "index")
    start, end = (None if place is None else place + shift for place in (start, end))
    kind = "mark" if start == end else "either"
    return CitedSpan(kind, start, end, (source_of(inner, sources),), None)  # type: ignore[arg-type]


def _tokens(text: str, sources: SourceList, shift: int) -> list[CitedSpan]:
    """Return the tokens of private-use characters with which structured output cites; their sources have no address."""
    spans = []
    for match in _TOKEN.finditer(text):
        cited = [sources.add(name, id=name) for name in match[1].split("\ue202")[1:]]
        spans.append(CitedSpan("mark", match.start() + shift, match.end() + shift, tuple(cited), match[0]))
    return spans


def source_of(row: DataRow, sources: SourceList) -> int | None:
    """Return the index of the source that an annotation or a search result names; None where it names none."""
    url, title = row.optional_text("url"), row.optional_text("title") or row.optional_text("filename")
    name = url or named_by(row, "file_id", "container_id", "id")
    if not name:
        return None
    text = row.optional_text("snippet") or row.optional_text("content")
    return sources.add(name, id="" if url else name, url=url, title=title, text=text)


def answer(text: str, sources: SourceList, spans: list[CitedSpan], row: DataRow, more: str = "") -> CitedText:
    """Return the answer of a reply. more: what is added to its id."""
    answer_id, model = named_by(row, "id", "responseId", "response_id"), named_by(row, "model", "modelVersion")
    answer_id = f"{answer_id}{more}" if answer_id else ""
    return CitedText(text, sources.sources, spans, answer_id, question_of(row), system=model)


RESPONSES = AnswerFormat(
    name="openai",
    title="OpenAI Responses, Perplexity's agent API: output messages with annotations",
    needs=("output[]", "output[].content[].text"),
    example='{"output": [{"type": "message", "content": [{"type": "output_text", "text": "It opened in 1999. '
    '([a.example](https://a.example))", "annotations": [{"type": "url_citation", "start_index": 19, "end_index": 51, '
    '"url": "https://a.example", "title": "T"}]}]}]}',
    read=_read_responses,
)

CHAT = AnswerFormat(
    name="openai-chat",
    title="OpenAI Chat, Perplexity Sonar, OpenRouter and other gateways: choices with annotations or search results",
    needs=("choices[]", "choices[].message.content"),
    example='{"choices": [{"message": {"content": "It opened in 1999.[1]"}}], "citations": ["https://a.example"], '
    '"search_results": [{"title": "T", "url": "https://a.example", "snippet": "It opened in 1999."}]}',
    read=_read_chat,
)
