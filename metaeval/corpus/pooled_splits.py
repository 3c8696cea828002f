"""Several splits of a data set pooled into one: what they share is kept once, and ids with two meanings are changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from metaeval.corpus.dataset import Dataset
from metaeval.corpus.model import Citation, Corpus, Document, Statement
from metaeval.corpus.ratings import Rating, Ratings
from metaeval.errors import UserError, unknown

Kept = TypeVar("Kept", Document, Statement, Citation, Rating)
SHARED = "judgements that an earlier split of the pool has too"
JOINED = "+"
"""The separator of split names in the name of pooled splits."""


def splits_of(dataset: Dataset, split: str) -> tuple[str, ...]:
    """Return the splits that a text names, in the card's order: one, several with commas, or all of them ("all").

    "all" is the card's own split of that name if it has one, else `Dataset.pooled`, or every split. Raises `UserError`
    for a split that the card does not know, and for one that is named twice.
    """
    names = [name.strip() for name in split.split(",")]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise UserError(f"split={split} names {repeated[0]} twice: name each split once.")
    if "all" in names and "all" not in dataset.files:
        names = [name for name in names if name != "all"] + [*(dataset.pooled or dataset.files)]
    for name in names:
        if name not in dataset.files:
            then = "Several with commas, or all, are pooled." if len(dataset.files) > 1 else ""
            raise unknown(f"split of {dataset.name}", name, dataset.files, then)
    return tuple(name for name in dataset.files if name in names)


def pooled(parts: Mapping[str, Corpus | Ratings]) -> Corpus | Ratings:
    """Return the data of several splits as one. parts: the data of each split by its name, all of one kind.

    A citation or rating that an earlier split has too, with the same id and content, is left out and counted in
    `dropped`; documents and statements are kept once. An id with other content in an earlier split becomes ID@SPLIT.
    """
    corpora = {split: part for split, part in parts.items() if isinstance(part, Corpus)}
    if corpora:
        return _corpus(corpora)
    return _ratings({split: part for split, part in parts.items() if isinstance(part, Ratings)})


def _corpus(parts: Mapping[str, Corpus]) -> Corpus:
    documents: dict[str, Document] = {}
    statements: dict[str, Statement] = {}
    citations: dict[str, Citation] = {}
    scores: dict[str, dict[str, float | None]] = {}
    shared = 0
    for split, part in parts.items():
        of_document = {id: _add(documents, document, split) for id, document in part.documents.items()}
        of_statement = {id: _add(statements, statement, split) for id, statement in part.statements.items()}
        new_ids = {}
        for citation in part.citations:
            statement, document = of_statement[citation.statement_id], of_document[citation.document_id]
            before = len(citations)
            placed = replace(citation, statement_id=statement, document_id=document)
            new_ids[citation.id] = _add(citations, placed, split)
            shared += len(citations) == before
        for metric, by_id in part.scores.items():
            scores.setdefault(metric, {}).update({new_ids[id]: score for id, score in by_id.items() if id in new_ids})
    return Corpus(
        _name(parts),
        documents,
        statements,
        tuple(citations.values()),
        _dropped(parts, shared),
        any(part.demo for part in parts.values()),
        scores,
    )


def _ratings(parts: Mapping[str, Ratings]) -> Ratings:
    rows: dict[str, Rating] = {}
    scores: dict[str, dict[str, float | None]] = {}
    shared = 0
    for split, part in parts.items():
        new_ids = {}
        for rating in part.rows:
            before = len(rows)
            new_ids[rating.id] = _add(rows, rating, split)
            shared += len(rows) == before
        for metric, by_id in part.scores.items():
            scores.setdefault(metric, {}).update({new_ids[id]: score for id, score in by_id.items()})
    levels = all(part.levels for part in parts.values())
    return Ratings(_name(parts), list(rows.values()), scores, _dropped(parts, shared), levels)


def _add(known: dict[str, Kept], item: Kept, split: str) -> str:
    """Add an item to `known`, unless an equal one is there; return its id, ID@SPLIT where ID has other content."""
    there = known.setdefault(item.id, item)
    if _content(there) == _content(item):
        return item.id
    return _add(known, replace(item, id=f"{item.id}@{split}"), split)


def _content(item: Document | Statement | Citation | Rating) -> tuple[Any, ...]:
    """Return the content, without the id, by which two items of one id are equal: what fingerprints hash."""
    match item:
        case Document():
            return item.text, item.sentences
        case Statement():
            return item.text, item.group, item.system, item.level
        case Citation():
            return item.statement_id, item.document_id, item.level, item.evidence
        case _:
            return item.group, item.gold, item.system, item.text, item.pair


def _name(parts: Mapping[str, Corpus | Ratings]) -> str:
    """Return the name of the pooled data: the first part's, with all splits in place of its own (wice/dev+test)."""
    split, part = next(iter(parts.items()))
    return f"{part.name.removesuffix(f'/{split}')}/{JOINED.join(parts)}"


def _dropped(parts: Mapping[str, Corpus | Ratings], shared: int) -> dict[str, int]:
    counts = sum((Counter(part.dropped) for part in parts.values()), Counter[str]())
    return {**counts, **({SHARED: shared} if shared else {})}


def pool_name(splits: Sequence[str]) -> str:
    """Return the name that results have for pooled splits: their names with "+" between them."""
    return JOINED.join(splits)
