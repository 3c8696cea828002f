"""Reads files that hold levels of support: TREC's judgements, FACT's validated tasks.

Each row becomes an answer whose sentences are written with marks. Its reference holds the levels as the file has them
(`metaeval.citation.support.level_readings`)::

    {"topic_id": "t1", "run_id": "r", "sentences": [{"text": "It opened in 1999.",
     "citations": [{"reference": "doc-a", "support": "2"}]}]}
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.readers.expertqa import write_statements
from metaeval.citation.readers.formats.answer_format import whole_file
from metaeval.citation.support.level_readings import FIELD, SCALE
from metaeval.corpus.data_rows import DataRow

_log = logging.getLogger("metaeval")

_TOPIC, _RUN = ("topic_id", "narrative_id", "qid", "query_id"), ("run_id", "runtag", "run")


def read_trec_judgements(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield the answers of TREC's support judgements: 2 full, 1 partial, 0 none, -1 not judged, also as text.

    The files of 2024 name a topic_id, those of 2025 a narrative_id. `segments` (docid to text) gives the sources' texts
    where somebody has resolved them; without this field only people's levels can be scored. As in the official code, a
    citation that is a text alone is left out, and a sentence that is a text alone cites nothing; a warning counts both.
    """
    bare = 0
    for row in rows:
        topic, run = (row.identifier(next((each for each in of if each in row.fields), of[0])) for of in (_TOPIC, _RUN))
        sources: dict[str, int] = {}
        statements = []
        sentences, texts_alone = _rows(row, "sentences")
        bare += texts_alone
        for sentence in sentences:
            citations, texts_alone = _rows(sentence, "citations")
            bare += texts_alone
            cited = []
            for citation in citations:
                source = str(citation.fields.get("reference", f"source {len(sources) + 1}"))
                cited.append(sources.setdefault(source, len(sources) + 1))
            levels = [citation.fields.get("support") for citation in citations]
            text = sentence.fields.get("text")
            is_nan = text != text  # blank sentences of two published files
            text = "" if is_nan else sentence.optional_text("text")
            statements.append({"text": text, "cited": cited, "levels": levels})
        texts = row.row("segments").fields if isinstance(row.fields.get("segments"), dict) else {}
        passages = [Passage(str(texts.get(source, "")), source=source) for source in sources]
        text, reference = _stated(statements, "trec")
        yield Answer(f"{run}/{topic}", text, tuple(passages), topic, topic, run, reference)
    if bare:
        _log.warning("%s sentences and citations are texts without a level, and count as uncited or not at all.", bare)


def read_fact(rows: Sequence[DataRow]) -> Iterator[Answer]:
    """Yield the tasks of DeepResearch Bench's validated file: one statement for each fact of each page.

    As in the official count, a page with an error has no verdicts, and a task without extracted citations no pairs.
    Where de-duplication left no page, the extracted citations count as pairs without a verdict.
    """
    for row in rows:
        statements: list[dict[str, Any]] = []
        pages = row.row("citations_deduped") if row.value("citations") != [] else DataRow(row.where, {})
        passages = [Passage(pages.row(url).optional_text("url_content"), source=url) for url in pages.fields]
        for number, url in enumerate(pages.fields, start=1):
            page = pages.row(url)
            judged = _rows(page, "validate_res")[0] if page.value("validate_error") is None else []
            verdicts = [(each.number("idx"), each.value("result")) for each in judged]
            texts = dict(enumerate(page.texts("facts")))
            verdicts += [(place, "unknown") for place in texts.keys() - dict(verdicts).keys()]
            for place, verdict in sorted(verdicts, key=lambda each: each[0]):
                statements.append({"text": texts.get(place, ""), "cited": [number], "levels": [verdict]})
        if not passages and isinstance(row.fields["citations"], list):
            lost = [(each.text("fact"), each.text("url")) for each in row.rows("citations")]
            passages = [Passage("", source=url) for url in dict.fromkeys(url for _, url in lost)]
            places = {passage.source: number for number, passage in enumerate(passages, start=1)}
            statements = [{"text": fact, "cited": [places[url]], "levels": ["unknown"]} for fact, url in lost]
        name, (text, reference) = row.identifier("id"), _stated(statements, "fact")
        yield Answer(name, text, tuple(passages), row.optional_text("prompt"), name, reference=reference)


def _rows(row: DataRow, name: str) -> tuple[list[DataRow], int]:
    """Return the objects of the list in a field, and how many of its entries are texts.

    A text among `sentences` becomes an object with that text; others are left out. An absent list is empty.
    """
    entries = row.fields.get(name)
    if not isinstance(entries, list):
        return (row.rows(name) if name in row.fields else []), 0
    objects = [{"text": entry} if isinstance(entry, str) and name == "sentences" else entry for entry in entries]
    kept = [entry for entry in objects if not isinstance(entry, str)]
    return DataRow(row.where, {name: kept}).rows(name), sum(isinstance(entry, str) for entry in entries)


def _stated(statements: Sequence[Mapping[str, Any]], scale: str) -> tuple[str, dict[str, Any]]:
    """Return the text of the statements with their marks, and a reference with their places and levels."""
    text, places = write_statements([(statement["text"], statement["cited"]) for statement in statements])
    both = zip(statements, places, strict=True)
    return text, {FIELD: [{**statement, "start": start, "end": end} for statement, (start, end) in both], SCALE: scale}


TREC_SUPPORT = whole_file(
    "trec-support",
    "NIST's support judgements of TREC RAG: sentences with people's levels of each citation",
    ("run_id", "sentences"),
    read_trec_judgements,
)
FACT = whole_file(
    "fact",
    "DeepResearch Bench's validated tasks: facts of pages with the judge's verdicts",
    ("citations_deduped",),
    read_fact,
)
