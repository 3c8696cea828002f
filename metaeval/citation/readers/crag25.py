"""CRAG-25 (Gienapp et al. 2025): the language models' responses of study 1, with the retrieval file beside them.

Marks count from 0. In the 903 published responses they run from 0 to 19 over 20 passages, 0 is the most frequent, and
20 never occurs; and a clause shares 38 % of its words with the passage at the number counted from 0, 22 % with the one
before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metaeval.citation.model import Answer, Passage
from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError


def read_crag25(rows: Sequence[Row], path: Path) -> Iterator[Answer]:
    """One answer for each response; its topic is the group, its style (bullet, essay, news) the system.

    The passages are in `STUDY_retrieval.jsonl`, gzipped or not, in the folder of `STUDY_responses_llm.jsonl`.
    Raises `UserError` when that file is missing, lacks a topic, or has fewer texts than ids for one.
    """
    topics = {row.text("topic"): row for row in read_rows(_retrieval(path))}
    passages = {topic: _passages(row) for topic, row in topics.items()}
    for row in rows:
        topic = row.text("topic")
        if topic not in topics:
            raise row.error("topic", f"a topic of {_retrieval(path)}")
        yield Answer(
            id=row.identifier("response"),
            text=row.text("text"),
            passages=passages[topic],
            question=topics[topic].text("query"),
            group=topic,
            system=row.optional_text("style"),
            first=0,
        )


def _retrieval(path: Path) -> Path:
    study = path.name.split("_")[0]
    places = [path.with_name(f"{study}_retrieval.jsonl{ending}") for ending in (".gz", "")]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UserError(f"{path}: the passages are missing; put {places[0].name} into the same folder.")
    return found


def _passages(row: Row) -> tuple[Passage, ...]:
    texts, ids = row.texts("references_texts"), row.texts("references_ids")
    if len(texts) != len(ids):
        raise UserError(f"{row.where}: field 'references_texts' has {len(texts)} texts for {len(ids)} ids.")
    return tuple(Passage(text) for text in texts)
