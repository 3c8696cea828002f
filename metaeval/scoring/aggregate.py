"""From pair scores to one score per unit of analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from metaeval.corpus.units import UnitRow
from metaeval.scoring.contract import PairScore, Status

Aggregate = Literal["max", "mean"]
AGGREGATES: tuple[str, ...] = get_args(Aggregate)

# A chunk that could have held the support and was not judged leaves the document unjudged. A chunk in which there was
# nothing to judge does not.
_SPOILS = (Status.FAILED, Status.ABSENT, Status.TOO_LONG, Status.UNPARSED)


def aggregate(
    answers: Sequence[PairScore], rows: Sequence[UnitRow], how: Aggregate, direction: Literal[1, -1]
) -> list[PairScore]:
    """One answer per row, oriented so that higher is more support: the best of the row's chunks, or their mean."""
    return [_combine([answers[number] for number in row.members], how, direction) for row in rows]


def _combine(members: list[PairScore], how: Aggregate, direction: Literal[1, -1]) -> PairScore:
    tokens, cut = sum(member.tokens for member in members), sum(member.cut for member in members)
    scores = [direction * member.score for member in members if member.score is not None]
    status = next((member.status for member in members if member.status in _SPOILS), None)
    if status is None and not scores:
        status = members[0].status
    if status is not None:
        return PairScore(None, status, tokens, cut)
    return PairScore(max(scores) if how == "max" else sum(scores) / len(scores), tokens=tokens, cut=cut)
