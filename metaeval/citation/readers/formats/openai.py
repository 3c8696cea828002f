"""Replies of OpenAI (Responses, Chat), Perplexity and xAI, and of gateways in the same shapes.

The span of an annotation is the citation itself, behind its claim, in code points of the text (recorded replies of
pydantic/pydantic-ai @ c1d42fd8 and b7ecb470). Gateways that translate other providers give the claim's span, or 0 and 0
for all: then marks [n] in the text count the search results, or the annotations, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import (
    REASONING,
    AnswerFormat,
    answering,
    entries,
    finished,
    is_aside,
    named_by,
    offset,
    part,
    parts,
    question_of,
    text_in,
    text_part,
    values_at,
)
from metaeval.corpus.data_rows import DataRow

_TOKEN = re.compile("\ue200cite((?:\ue202[^\ue200-\ue202]*)+)\ue201")
_OTHER_OUTPUT = "citations are those of other output than messages"
_NESTED = ("url_citation", "file_citation", "web_citation", "x_citation", "collections_citation")


_STEPS = "step_details.tool_calls[].file_search.results[]"
_SEARCHED = f"output[].results[]|{_STEPS}|steps[].{_STEPS}|steps.data[].{_STEPS}|run_steps[].{_STEPS}|data[].{_STEPS}"


def _files(row: DataRow) -> dict[str, str]:
    """Return the texts of files by id that the results of a file search in a record hold."""
    texts: dict[str, list[str]] = {}
    for result in values_at(row.fields, _SEARCHED):
        if isinstance(result, Mapping) and isinstance(name := result.get("file_id"), str):
            texts.setdefault(name, []).append(text_in(result.get("text") or result.get("content")))
    return {name: "\n\n".join(dict.fromkeys(filter(None, listed))) for name, listed in texts.items()}


def _read_responses(row: DataRow) -> Iterator[CitedText]:
    draft, files = CitedText(), _files(row)
    results = [each for item in parts(row, "output") for each in parts(item, "results") if "file_id" not in each.fields]
    blocks = []
    for message in row.rows("output"):
        if message.fields.get("type", "message") == "message":
            blocks += parts(message, "content")
        else:
            draft.left_out[_OTHER_OUTPUT] += sum(len(parts(each, "annotations")) for each in parts(message, "content"))
            blocks.append(DataRow(message.where, {"type": message.fields["type"]}))
    for content in answering(blocks, draft):
        if (text := text_part(content, draft, "annotations")) is not None:
            write_annotated(draft, text, parts(content, "annotations"), results, files)
    yield finished(draft, row)


def _read_messages(row: DataRow) -> Iterator[CitedText]:
    files, question = _files(row), ""
    # A thread lists the newest message first.
    listed = parts(row, "data")[::-1] or parts(row, "messages") or [row]
    for message in sorted(listed, key=lambda each: offset(each, "created_at") or 0):
        draft = CitedText()
        for content in parts(message, "content"):
            if content.fields.get("type", "text") == "text":
                text = content.row("text")
                notes = [note for note in parts(text, "annotations") if note.fields.get("type") != "file_path"]
                write_annotated(draft, text.text("value"), notes, (), files)
        if message.fields.get("role") == "user":
            question = draft.text
        else:
            yield finished(draft, message, question=question or question_of(row))


def _read_choices(row: DataRow) -> Iterator[CitedText]:
    # The results of Perplexity's search; without any, a result for each address in `citations`.
    addresses = [DataRow(row.where, {"url": url}) for url in entries(row, "citations") if isinstance(url, str)]
    results = parts(row, "search_results") or addresses
    for number, choice in enumerate(row.rows("choices" if "choices" in row.fields else "outputs")):
        draft, message = CitedText(), choice.row("message")
        annotations = parts(message, "annotations") or parts(message, "citations")
        draft.cut += [("reasoning block", 0)] * is_aside(message.fields, REASONING)
        write_annotated(draft, text_in(message.fields.get("content")), annotations, results)
        yield finished(draft, row, number)


def write_annotated(
    draft: CitedText,
    text: str,
    annotations: Sequence[DataRow],
    results: Sequence[DataRow] = (),
    files: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Append a text with the citations of its annotations to a draft.

    If no annotation has offsets (0 and 0 count as none), a mark [n] in the text cites the n-th result, or the n-th
    annotation where there are no results; without marks the annotations are cited without a place. files: texts of
    files by id.
    """
    shift = draft.write(text)
    for match in _TOKEN.finditer(text):  # structured output cites by tokens, whose sources have no address
        sources = [draft.source(name, id=name) for name in match[1].split("\ue202")[1:]]
        draft.mark(match.start() + shift, match.end() + shift, sources)
    spans = [_span(annotation) for annotation in annotations]
    cited = [_source(annotation, draft, files) for annotation in annotations]
    if any(end for _, end in spans):
        for (start, end), source, annotation in zip(spans, cited, annotations, strict=True):
            ends = [None if place is None else place + shift for place in (start, end)]
            mark = annotation.fields.get("text") if "file_citation" in annotation.fields else None  # of Assistants
            quoted = (mark,) if isinstance(mark, str) else ()
            draft.cite("mark" if quoted else "either", ends[0], ends[1], (source,), *quoted)
        return
    ordered = [_source(result, draft) for result in results] or cited
    marks = find_marks(text) if ordered else []
    for mark in marks:
        source = ordered[mark.number - 1] if mark.number and 0 < mark.number <= len(ordered) else None
        draft.mark(mark.start + shift, mark.end + shift, (source,))
    for source in () if marks else cited:
        draft.cite("either", None, None, (source,))


def _span(annotation: DataRow) -> tuple[int | None, int | None]:
    for row in (annotation, *(part(annotation, name) for name in _NESTED)):
        start, end = offset(row, "start_index"), offset(row, "end_index")
        if start is not None or end is not None:
            return start, end
        if (point := offset(row, "index")) is not None:  # of a file, where it is to be inserted
            return point, point
    return None, None


def _source(annotation: DataRow, draft: CitedText, files: Mapping[str, str] = MappingProxyType({})) -> int | None:
    """Return the draft's index of the source that an annotation or a search result names (added if new); else None."""
    for row in (annotation, *(part(annotation, name) for name in _NESTED)):
        url, title = row.optional_text("url"), row.optional_text("title") or row.optional_text("filename")
        if name := url or named_by(row, "file_id", "container_id") or title:
            text = row.optional_text("snippet") or row.optional_text("content") or files.get(name, "")
            quote = row.optional_text("cited_text") or row.optional_text("quote")
            return draft.source(name, quote, id="" if url else name, url=url, title=title, text=text)
    return None


def _read_blocks(row: DataRow) -> Iterator[CitedText]:
    draft = CitedText()
    kept = part(row, "kwargs") if "kwargs" in row.fields else row
    names = [name for name in ("content_blocks", "content", "outputs") if isinstance(kept.fields.get(name), list)]
    for block in answering(parts(kept, names[0]) if names else [kept], draft):
        if (text := text_part(block, draft, "annotations")) is not None:
            write_annotated(draft, text, parts(block, "annotations"))
    yield finished(draft, row)


RESPONSES = AnswerFormat(
    name="openai",
    title="OpenAI Responses, Perplexity's agent API: output messages with annotations",
    needs=("output[]", "output[].content[].text"),
    read=_read_responses,
)

CHAT = AnswerFormat(
    name="openai-chat",
    title="OpenAI Chat, Perplexity Sonar, OpenRouter and other gateways: choices with annotations or search results",
    needs=("choices[]", "choices[].message.content"),
    read=_read_choices,
)

XAI = AnswerFormat(
    "xai", "xAI: outputs with inline citations", ("outputs[]", "outputs[].message.content"), _read_choices
)

ASSISTANTS = AnswerFormat(
    name="openai-assistants",
    title="OpenAI Assistants: messages of a thread with annotations, one by one or as a list",
    needs=("content[].text.value|data[].content[].text.value|messages[].content[].text.value",),
    read=_read_messages,
)

LANGCHAIN = AnswerFormat(
    name="langchain",
    title="LangChain v1 messages, and Gemini's Interactions API: text blocks with annotations",
    needs=(
        "content[].annotations|content_blocks[].annotations|kwargs.content[].annotations|outputs[].annotations"
        "|annotations[]",
    ),
    read=_read_blocks,
)
