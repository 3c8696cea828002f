"""Answers of the TREC tracks RAG 2024 to 2026, RAGTIME, NeuCLIR, DRAGUN and AutoJudge: sentences with citations.

A citation is an index into `references`, the id of a segment or document, or a key of an object that maps ids to
confidences. Texts of sources are in `documents` (AutoJudge), in `segments` (RAGDoll's resolved files), or outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from metaeval.citation.readers.cited_text import CitedText, SourceList
from metaeval.citation.readers.formats.answer_format import AnswerFormat, named_by, part, parts
from metaeval.citation.readers.formats.sentences import CitedSentence, cited_sentences
from metaeval.corpus.loaders.rows import DataRow

_TOPICS = ("topic_id", "narrative_id", "request_id")


def _read_run(row: DataRow) -> Iterator[CitedText]:
    head = part(row, "metadata") if row.fields.get("metadata") is not None else row
    sources = SourceList()
    for reference in row.fields.get("references") or ():
        if not isinstance(reference, str):
            raise row.error("references", "a list of ids")
        _source(row, sources, reference)
    listed = len(sources.sources)
    sentences = []
    for sentence in row.rows("answer" if "answer" in row.fields else "responses"):
        cited = sentence.fields.get("citations")
        if not isinstance(cited, list | Mapping | None):
            raise sentence.error("citations", "a list, or an object with the ids of documents")
        sentences.append((sentence.text("text"), [_cited(row, sources, listed, entry) for entry in cited or ()]))
    yield _answer(head, sentences, sources, named_by(head, "narrative", "topic", "title"))


def _cited(row: DataRow, sources: SourceList, listed: int, entry: Any) -> int | None:
    """Return the index of a cited source: an index into the references, or an id, which need not be listed."""
    if isinstance(entry, int) and not isinstance(entry, bool):
        return entry if 0 <= entry < listed else None
    return _source(row, sources, entry) if isinstance(entry, str) and entry else None


def _source(row: DataRow, sources: SourceList, name: str) -> int:
    if (place := sources.find(name)) is not None:
        return place
    document = part(row, "documents").fields.get(name)
    inner = DataRow(f"{row.where}, documents", document if isinstance(document, Mapping) else {})
    segment = part(row, "segments").fields.get(name)
    text = segment if isinstance(segment, str) else inner.optional_text("text")
    return sources.add(name, id=name, title=inner.optional_text("title"), url=inner.optional_text("url"), text=text)


def _read_judged(row: DataRow) -> Iterator[CitedText]:
    sources = SourceList()
    sentences: list[CitedSentence] = []
    for sentence in row.rows("sentences"):
        names = [citation.text("reference") for citation in parts(sentence, "citations")]
        sentences.append((sentence.text("text"), [sources.add(name, id=name) for name in names]))
    yield _answer(row, sentences, sources, "")


def _answer(head: DataRow, sentences: list[CitedSentence], sources: SourceList, question: str) -> CitedText:
    topic, run = named_by(head, *_TOPICS), named_by(head, "run_id")
    text, spans = cited_sentences(sentences)
    answer_id = "/".join(filter(None, (run, topic)))
    return CitedText(text, sources.sources, spans, answer_id, question, group=topic, system=run)


TREC = AnswerFormat(
    name="trec",
    title="TREC RAG 2024 to 2026, RAGTIME, NeuCLIR, DRAGUN, AutoJudge and RAGDoll: sentences with citations",
    needs=("run_id|metadata.run_id", "answer[].text|responses[].text"),
    example='{"metadata": {"run_id": "r", "topic_id": "7"}, "responses": [{"text": "It opened in 1999.", "citations": '
    '["doc-a"]}], "documents": {"doc-a": {"id": "doc-a", "text": "It opened in 1999."}}}',
    read=_read_run,
)

TREC_SUPPORT = AnswerFormat(
    name="trec-support",
    title="NIST's support judgements of TREC RAG: sentences with judged citations",
    needs=("run_id", "sentences[].text"),
    example='{"topic_id": "7", "run_id": "r", "sentences": [{"sentenceID": 0, "text": "It opened in 1999.", '
    '"citations": [{"citationID": 0, "reference": "doc-a", "support": "2"}]}]}',
    read=_read_judged,
)
