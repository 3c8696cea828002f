"""ALCE's output files: `{"data": [...]}` or a bare list of items with `question`, `output` and `docs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.citation.model import Answer, Passage
from metaeval.corpus.loaders.rows import Row

REFERENCE = ("answer", "qa_pairs", "annotations", "claims", "answers")
"""The fields that correctness is measured against, kept as they stand."""

_IDS = ("id", "sample_id")


def read_alce(rows: Sequence[Row]) -> Iterator[Answer]:
    """One answer for each item, or for each sample where `output` is a list; samples of an item share its group.

    Ids are the item's `id` or `sample_id`, else its number from 1; a sample's has `#1`, `#2` behind it. A document's
    `sent` is read in place of its `text` where it has one, as ALCE's own code does.
    """
    for number, row in enumerate(rows, start=1):
        name = next((row.identifier(field) for field in _IDS if row.fields.get(field) is not None), str(number))
        passages = tuple(Passage(_text(document), document.optional_text("title")) for document in row.rows("docs"))
        reference = {field: row.fields[field] for field in REFERENCE if row.fields.get(field) is not None}
        question = row.optional_text("question")
        for own, text in _outputs(row, name):
            yield Answer(own, text, passages, question, group=name, reference=reference)


def _outputs(row: Row, name: str) -> list[tuple[str, str]]:
    if isinstance(row.fields.get("output"), list):
        return [(f"{name}#{number}", text) for number, text in enumerate(row.texts("output"), start=1)]
    return [(name, row.text("output"))]


def _text(document: Row) -> str:
    return document.text("sent") if "sent" in document.fields else document.text("text")
