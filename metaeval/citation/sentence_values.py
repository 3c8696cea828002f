"""The table of citations, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation.table import Line, claims_of


@dataclass(frozen=True, slots=True)
class SentenceValue:
    """One sentence: its place, and its values as means over its claims (recall) and citations (precision).

    claims, citations: how many have a value. A value is None where none has.
    """

    answer: str
    sentence: int
    start: int | None
    end: int | None
    claims: int
    citations: int
    recall: float | None
    precision: float | None


def sentence_values(lines: Sequence[Line]) -> list[SentenceValue]:
    """One value for each sentence that holds a claim, in the order of the table."""
    recalls: dict[tuple[str, int], list[int]] = {}
    precisions: dict[tuple[str, int], list[int]] = {}
    places: dict[tuple[str, int], Line] = {}
    for line in claims_of(lines):
        if line.sentence is not None:
            places.setdefault((line.answer, line.sentence), line)
            own = recalls.setdefault((line.answer, line.sentence), [])
            own.extend([] if line.recall is None else [line.recall])
    for line in lines:
        if line.sentence is not None and line.precision is not None:
            precisions.setdefault((line.answer, line.sentence), []).append(line.precision)
    return [
        SentenceValue(
            answer=key[0],
            sentence=key[1],
            start=line.sentence_start,
            end=line.sentence_end,
            claims=len(recalls[key]),
            citations=len(precisions.get(key, ())),
            recall=_mean(recalls[key]),
            precision=_mean(precisions.get(key, ())),
        )
        for key, line in places.items()
    ]


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
