"""Soft verdicts: recall and precision as mean scores, with no threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from metaeval.citation.measures import Share, mean_of_groups, sum_up
from metaeval.citation.model import Answer, Entails, Pair, Verdict
from metaeval.citation.premises import Untitled, Zero, find_place, premise
from metaeval.citation.table import Line, claims_of, unjudged_claim

_OPEN = "ok"
"""The reason on a line whose verdict is open though there is a score: what a soft cut-off leaves behind."""


@dataclass(frozen=True, slots=True)
class SoftLine:
    """A line with its degrees of support in [0, 1]: of the claim by all its passages, and by this one alone."""

    line: Line
    recall: float | None
    precision: float | None
    reason: str


def soften(
    answers: Sequence[Answer], lines: Sequence[Line], entails: Entails, untitled: Untitled, zero: Zero
) -> list[SoftLine]:
    """Degrees of support for the lines of a pipeline that was run with a soft backend; one more call of `entails`.

    A claim's recall is the score of its passages together, a citation's precision the score of its passage alone.
    What the pipeline settled without a verdict (a mark that points nowhere, an uncited claim) stays as it settled it.
    """
    passages = {answer.id: answer.passages for answer in answers}
    pairs: list[Pair | None] = []
    for line in lines:
        own = passages[line.answer]
        place, _ = find_place(line.citation, len(own), zero)
        asked = line.state == "unjudged" and place is not None
        pairs.append((premise([own[place]], untitled), line.claim) if asked and place is not None else None)
    unique = list(dict.fromkeys(pair for pair in pairs if pair is not None))
    known = dict(zip(unique, entails(unique), strict=True)) if unique else {}
    return [_soft(line, None if pair is None else known[pair]) for line, pair in zip(lines, pairs, strict=True)]


def soft_recalls(answers: Sequence[Answer], lines: Sequence[SoftLine]) -> list[Share]:
    """Of each answer: the sum of its claims' degrees of support, out of the claims that have one."""
    recall = {id(line.line): line for line in lines}
    first = [recall[id(line)] for line in claims_of([line.line for line in lines])]
    return sum_up(answers, ((line.line.answer, line.recall, bool(line.reason)) for line in first))


def soft_precisions(answers: Sequence[Answer], lines: Sequence[SoftLine], by_group: bool = False) -> list[Share]:
    """Of each answer: the sum of its citations' degrees of support, out of the citations that have one.

    by_group: the sum over its citation groups of their mean degrees, out of the groups that have one.
    """
    if by_group:
        return mean_of_groups(answers, ((one.line.answer, one.line.claim_number, one.precision) for one in lines))
    return sum_up(answers, ((one.line.answer, one.precision, bool(one.reason)) for one in lines))


def soft_filled(line: SoftLine, value: float) -> SoftLine:
    """The line with what is missing in it as it could be, from 0 to 1."""
    open_claim = line.recall is None and unjudged_claim(line.line)
    open_mark = line.precision is None and line.line.state == "unjudged"
    return replace(
        line,
        recall=value if open_claim else line.recall,
        precision=value if open_mark else line.precision,
        reason="",
    )


def settled(line: SoftLine) -> Line:
    """The line for the citation table: judged where it has its score, with no verdict on it."""
    return replace(
        line.line,
        state="judged" if line.line.state == "unjudged" and not line.reason else line.line.state,
        reason=line.reason,
    )


def _soft(line: Line, alone: Verdict | None) -> SoftLine:
    recall = line.score if line.score is not None else (None if line.recall is None else float(line.recall))
    precision = None if line.precision is None else float(line.precision)
    reason = line.reason if line.reason != _OPEN else ""
    if alone is not None:
        precision = alone.score
        reason = reason or ("" if alone.score is not None else alone.status)
    return SoftLine(line, recall, precision, reason)
