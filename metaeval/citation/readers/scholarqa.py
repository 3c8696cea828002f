"""ScholarQABench (Asai et al. 2024): the experts' answers of ScholarQA-Multi, `human_answers.json`.

Marks count from 0: nearly every answer starts at 0 and ends one below its number of passages, and a clause shares more
words with the passage at the number counted from 0 than with the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.citation.model import Answer, Passage
from metaeval.corpus.loaders.rows import Row


def read_scholarqa(rows: Sequence[Row]) -> Iterator[Answer]:
    """One answer for each item; its question is the group, its annotator the system.

    Two of the published passages have no text, which the file writes as NaN: their text is empty.
    """
    for row in rows:
        own = row.identifier("id")
        yield Answer(
            id=own,
            text=row.text("output"),
            passages=tuple(Passage(_text(passage), passage.optional_text("title")) for passage in row.rows("ctxs")),
            question=row.text("input"),
            group=own,
            system=row.optional_text("annotator"),
            first=0,
        )


def _text(passage: Row) -> str:
    value = passage.fields.get("text")
    return "" if isinstance(value, float) and value != value else passage.text("text")
