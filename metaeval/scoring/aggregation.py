"""Aggregation of the scores of pairs to one score per row, which is a chunk, a citation or a statement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from metaeval.corpus.units import Aggregation, UnitRow
from metaeval.scoring.contract import PairScore, Status

# A chunk that may hold the support and has no score leaves its document without one. A chunk without anything to score
# does not.
_SPOILS = frozenset(Status) - {Status.OK, Status.EMPTY, Status.NOTHING_TO_SCORE}


def aggregate(
    answers: Sequence[PairScore], rows: Sequence[UnitRow], how: Aggregation, direction: Literal[1, -1]
) -> list[PairScore]:
    """Return one `PairScore` per row, oriented so that higher is more support: its pairs' best score, or their mean.

    answers: of all pairs, which `UnitRow.members` numbers. how: the rule; "mean" is over the `how.most` best pairs, and
    "union" gives the best score (the joined chunks, see `best_members`, are scored later). direction: 1 if higher raw
    scores mean more support, else -1. A row of which a pair has a status in `_SPOILS` gets the first such status, and
    no score; other pairs without a score are left out.
    """
    return [_combine([answers[number] for number in row.members], how, direction) for row in rows]


def best_members(
    answers: Sequence[PairScore], members: Iterable[int], most: int | None, direction: Literal[1, -1]
) -> list[int]:
    """Return the numbers of a row's `most` best scored pairs (None: all), ascending; of ties the first in `members`."""
    scored = [(number, score) for number in members if (score := answers[number].score) is not None]
    best = sorted(scored, key=lambda member: -direction * member[1])[:most]
    return sorted(number for number, _ in best)


def _combine(members: list[PairScore], how: Aggregation, direction: Literal[1, -1]) -> PairScore:
    tokens, cut = sum(member.tokens for member in members), sum(member.cut for member in members)
    best = best_members(members, range(len(members)), how.most if how.kind == "mean" else None, direction)
    scores = [direction * score for number in best if (score := members[number].score) is not None]
    status = next((member.status for member in members if member.status in _SPOILS), None)
    if status is None and not scores:
        status = members[0].status
    if status is not None:
        return PairScore(None, status, tokens, cut)
    score = sum(scores) / len(scores) if how.kind == "mean" else max(scores)
    return PairScore(score, tokens=tokens, cut=cut)
