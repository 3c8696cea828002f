"""Answers of the TREC tracks RAG 2024 to 2026, RAGTIME, NeuCLIR, DRAGUN and AutoJudge: sentences with citations.

A citation is an index into `references`, the id of a segment or document, or a key of an object that maps ids to
confidences. Texts of sources are in `documents` (AutoJudge), in `segments` (RAGDoll's resolved files), or outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.citation.readers.cited_text import AnswerDraft, CitedText
from metaeval.citation.readers.formats.answer_format import AnswerFormat, entries, finished, named_by, part
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.sentences import RULES


def _read_run(row: DataRow) -> Iterator[CitedText]:
    head = part(row, "metadata") if row.fields.get("metadata") is not None else row
    draft, writer = AnswerDraft(), SentenceWriter()
    places = []
    for reference in entries(row, "references"):
        if not isinstance(reference, str):
            raise row.error("references", "a list of ids")
        places.append(_source(row, draft, reference))
    for sentence in row.rows("answer" if "answer" in row.fields else "responses"):
        cited = sentence.fields.get("citations")
        if not isinstance(cited, list | Mapping | None):
            raise sentence.error("citations", "a list, or an object with the ids of documents")
        writer.write(draft, sentence.text("text"), [_cited(row, draft, places, entry) for entry in cited or ()])
    yield _answer(head, draft)


def _cited(row: DataRow, draft: AnswerDraft, places: Sequence[int], entry: Any) -> int | None:
    """Return the index of a cited source in the draft. entry: an id, or an index into the record's references.

    places: the source of each reference, which are the same for an id that is listed twice. An id that is not listed is
    added as a source; for an index outside the list, and any other entry, return None.
    """
    if isinstance(entry, int) and not isinstance(entry, bool):
        return places[entry] if 0 <= entry < len(places) else None
    return _source(row, draft, entry) if isinstance(entry, str) and entry else None


def _source(row: DataRow, draft: AnswerDraft, name: str) -> int:
    if (place := draft.find(name)) is not None:
        return place
    document = part(row, "documents").fields.get(name)
    inner = DataRow(f"{row.where}, documents", document if isinstance(document, Mapping) else {})
    segment = part(row, "segments").fields.get(name)
    text = segment if isinstance(segment, str) else inner.optional_text("text")
    return draft.source(name, id=name, title=inner.optional_text("title"), url=inner.optional_text("url"), text=text)


def _answer(head: DataRow, draft: AnswerDraft) -> CitedText:
    topic, run = named_by(head, "topic_id", "narrative_id", "request_id"), named_by(head, "run_id")
    question = named_by(head, "narrative", "topic", "title")
    return finished(draft, head, id="/".join(filter(None, (run, topic))), question=question, group=topic, system=run)


class SentenceWriter:
    """Writes the sentences of a record to a draft, each with its citations.

    Sentences are separated by a space where a splitter sees the end of a sentence there, else by a line break.
    """

    def __init__(self) -> None:
        self._last = ""

    def write(self, draft: AnswerDraft, sentence: str, cited: list[int | None] | list[int]) -> None:
        """Append one more sentence. cited: indices of its sources in the draft (None: a source that is not listed)."""
        sentence = sentence.strip()
        if self._last and sentence:
            apart = len(RULES.split(self._last)) + len(RULES.split(sentence))
            draft.write(" " if len(RULES.split(f"{self._last} {sentence}")) == apart else "\n")
        draft.claim(sentence, cited)
        self._last = sentence or self._last


TREC = AnswerFormat(
    name="trec",
    title="TREC RAG 2024 to 2026, RAGTIME, NeuCLIR, DRAGUN, AutoJudge and RAGDoll: sentences with citations",
    needs=("run_id|metadata.run_id", "answer[].text|responses[].text"),
    example='{"metadata": {"run_id": "r", "topic_id": "7"}, "responses": [{"text": "It opened in 1999.", "citations": '
    '["doc-a"]}], "documents": {"doc-a": {"id": "doc-a", "text": "It opened in 1999."}}}',
    read=_read_run,
)
