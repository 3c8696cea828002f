"""Checks of "metaeval-corpus/1" that take more than one line: ids used twice, unknown ids, evidence out of range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.corpus.jsonl_schema import Record
from metaeval.corpus.problems import Problem, shown

Numbered = tuple[int, Record]
"""A line's number, from 1, and its parsed object."""


def citation_id(record: Record) -> str:
    """The citation's id, by default STATEMENT:DOCUMENT."""
    return str(record.get("id", f"{record.get('statement')}:{record.get('document')}"))


def check_links(numbered: Sequence[Numbered]) -> Iterator[Problem]:
    """Yield the problems between lines. Lines with faults of their own still count as targets of a citation."""
    firsts: dict[str, dict[str, Numbered]] = {"document": {}, "statement": {}, "citation": {}}
    for number, record in numbered:
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in firsts:
            continue
        own = citation_id(record) if kind == "citation" else record.get("id")
        if not isinstance(own, str) or not own:
            continue
        if own in firsts[kind]:
            value = f"{shown(own)}, which line {firsts[kind][own][0]} has already"
            yield Problem(number, "id", value, f"an id that no other {kind} has")
        else:
            firsts[kind][own] = (number, record)
    for number, record in numbered:
        if record.get("type") == "citation":
            yield from _check_citation(number, record, firsts)


def _check_citation(number: int, record: Record, firsts: dict[str, dict[str, Numbered]]) -> Iterator[Problem]:
    for end in ("statement", "document"):
        target = record.get(end)
        if isinstance(target, str) and target and target not in firsts[end]:
            yield Problem(number, end, shown(target), f"the id of a {end} in this file")
    evidence, document = record.get("evidence"), record.get("document")
    indices = evidence.get("sentences") if isinstance(evidence, dict) else None
    if not isinstance(indices, list) or not isinstance(document, str) or document not in firsts["document"]:
        return
    sentences = firsts["document"][document][1].get("sentences", [])
    if not isinstance(sentences, list):
        return
    if indices and not sentences:
        allowed = f'evidence "texts", for document {shown(document)} has no published "sentences"'
        yield Problem(number, "evidence.sentences", shown(indices), allowed)
    elif any(isinstance(index, int) and index >= len(sentences) for index in indices):
        allowed = f"0 to {len(sentences) - 1}, the sentences of document {shown(document)}"
        yield Problem(number, "evidence.sentences", shown(indices), allowed)
