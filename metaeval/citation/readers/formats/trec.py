"""Answers of the TREC tracks RAG 2024 to 2026, RAGTIME, NeuCLIR, DRAGUN and AutoJudge: sentences with citations.

A citation is an index into `references`, the id of a segment or document, or a key of an object that maps ids to
confidences. Texts of sources are in `documents` (AutoJudge), in `segments` (RAGDoll's resolved files), or outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.expertqa import separator
from metaeval.citation.readers.formats.answer_format import AnswerFormat, entries, finished, named_by, part
from metaeval.corpus.data_rows import DataRow


def _read_run(row: DataRow) -> Iterator[CitedText]:
    head = part(row, "metadata") if row.fields.get("metadata") is not None else row
    draft, places, last = CitedText(), [], ""
    for reference in entries(row, "references"):
        if not isinstance(reference, str):
            raise row.error("references", "a list of ids")
        places.append(_source(row, draft, reference))
    for sentence in row.rows("answer" if "answer" in row.fields else "responses"):
        cited = sentence.fields.get("citations")
        if not isinstance(cited, list | Mapping | None):
            raise sentence.error("citations", "a list, or an object with the ids of documents")
        # An entry is an id (added as a source where it is not listed), or an index into the record's references.
        sources = [
            _source(row, draft, entry)
            if isinstance(entry, str) and entry
            else places[entry]
            if type(entry) is int and 0 <= entry < len(places)
            else None
            for entry in cited or ()
        ]
        text = sentence.text("text").strip()
        if last and text:
            draft.write(separator(last, text))
        draft.claim(text, sources)
        last = text or last
    topic, run = named_by(head, "topic_id", "narrative_id", "request_id"), named_by(head, "run_id")
    question = named_by(head, "narrative", "topic", "title")
    yield finished(draft, head, id="/".join(filter(None, (run, topic))), question=question, group=topic, system=run)


def _source(row: DataRow, draft: CitedText, name: str) -> int:
    if (place := draft.find(name)) is not None:
        return place
    document = part(row, "documents").fields.get(name)
    inner = DataRow(f"{row.where}, documents", document if isinstance(document, Mapping) else {})
    segment = part(row, "segments").fields.get(name)
    text = segment if isinstance(segment, str) else inner.optional_text("text")
    return draft.source(name, id=name, title=inner.optional_text("title"), url=inner.optional_text("url"), text=text)


TREC = AnswerFormat(
    name="trec",
    title="TREC RAG 2024 to 2026, RAGTIME, NeuCLIR, DRAGUN, AutoJudge and RAGDoll: sentences with citations",
    needs=("run_id|metadata.run_id", "answer[].text|responses[].text"),
    read=_read_run,
)
