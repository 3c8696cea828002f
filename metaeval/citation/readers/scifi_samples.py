"""SCiFi's samples (arXiv 2406.06125): a query, candidate documents, and a reference paragraph with its citations.

The paper describes the contents of a sample without names of fields; the names are the project's own. One JSON object
per line (or a list of them), UTF-8::

    {"id": "s1", "query": "Who built it?", "paragraph": "A Dane built it in 1999.",
     "citations": [{"position": 6, "document": 1}, {"position": 23, "document": 2}],
     "documents": [{"title": "Bridge", "text": "A Danish engineer built it."}, {"text": "It opened in 1999."}],
     "output": "A Danish engineer [1] built the bridge."}

:query: the question. group: optional, the unit of resampling; default: the query.
:paragraph: the reference, without marks.
:citations: of the paragraph. position: a character offset in it, 0 to its length, from 0. document: the number of a
    document, from 1.
:documents: the candidates: objects with `text`, and optional `title`.
:output: optional: a model's answer, with marks [n] that count the documents from 1; `text` is read as well. Without
    one the paragraph with its citations is the answer: the score of people, an upper bound.
:id: optional; default: the sample's number in the file, from 1. No two samples share one.
:system: optional, the generator; default for the paragraph itself: "reference".
:topic, views: optional, topics of its page (a text or a list) and page views, by which `cite tables-scifi` can count.
:page, section: optional, the titles where the paragraph stands; not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_marks
from metaeval.citation.readers.answers_jsonl import passages_of
from metaeval.core.errors import UserError, shown
from metaeval.corpus.data_rows import DataRow

COUNTED_BY = ("topic", "views")
FIELDS = (
    *("id", "query", "paragraph", "citations", "documents", "output", "text", "group", "system", "page", "section"),
    *COUNTED_BY,
)


def read_scifi(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield one answer for each sample; its text is the field `output` if there is one, else the reference paragraph.

    Raises `UserError` for an unknown field, for a citation whose offset lies outside the paragraph or that names no
    document, and for a paragraph that contains citation marks.
    """
    for number, row in enumerate(rows, start=1):
        row.only(FIELDS)
        sample_id = row.identifier("id") if "id" in row.fields else str(number)
        query, paragraph, cited = row.text("query"), row.text("paragraph"), _cited(row)
        outputs = [name for name in ("output", "text") if row.fields.get(name) is not None]
        if len(outputs) > 1:
            raise UserError(f"{row.where}: the fields 'output' and 'text' both hold an answer; leave one out.")
        yield Answer(
            id=sample_id,
            text=row.text(outputs[0]) if outputs else with_marks(paragraph, cited),
            passages=passages_of(row, "documents"),
            question=query,
            group=row.optional_text("group") or ("" if query.strip() else sample_id),
            system=row.optional_text("system") or ("" if outputs else "reference"),
            reference={"answer": paragraph, **{name: row.fields[name] for name in COUNTED_BY if name in row.fields}},
        )


def with_marks(paragraph: str, cited: Sequence[tuple[int, int]]) -> str:
    """Return a paragraph with citations (offset, number) written as marks [n]; those at one offset keep their order."""
    for offset, number in sorted(cited, key=lambda citation: citation[0])[::-1]:
        paragraph = f"{paragraph[:offset]}[{number}]{paragraph[offset:]}"
    return paragraph


def _cited(row: DataRow) -> list[tuple[int, int]]:
    """Return the paragraph's citations as (offset, number of the document from 1), in the order of the file."""
    paragraph, documents = row.text("paragraph"), len(row.rows("documents"))
    if mark := next((mark for mark in find_marks(paragraph) if mark.number is not None), None):
        held = f"{row.where}: the paragraph has {shown(paragraph[mark.start : mark.end])} at offset {mark.start}"
        raise UserError(f"{held}: put its citations into 'citations', or use the format jsonl.")
    citations = []
    for citation in row.rows("citations"):
        offset, number = citation.number("position"), citation.number("document")
        if not 0 <= offset <= len(paragraph):
            raise citation.error("position", f"an offset in the paragraph, 0 to {len(paragraph)}")
        if not 1 <= number <= documents:
            allowed = f"a number from 1 to {documents}" if documents else "none, since the sample has no documents"
            raise citation.error("document", allowed)
        citations.append((offset, number))
    return citations
