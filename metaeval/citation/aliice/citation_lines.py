"""The citation table of answers from their ALiiCE claims."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.citation.aliice.claim_options import Profile
from metaeval.citation.aliice.claims import AnswerClaims
from metaeval.citation.citation_table import CitationLine, CitedMark, CitedStatement, find_place, judged_lines
from metaeval.citation.data_model import Answer, Claim, Entails


def aliice_lines(read: Sequence[AnswerClaims], entails: Entails, profile: Profile) -> list[CitationLine]:
    """Return the citation table of all answers (see `judged_lines`); a claim without a citation has no recall."""
    stated = [
        [_statement(claim, each.answer, number, profile) for number, claim in enumerate(each.claims, start=1)]
        for each in read
    ]
    return judged_lines([each.answer for each in read], stated, entails, profile.untitled, reason_on_all=True)


def _statement(claim: Claim, answer: Answer, number: int, profile: Profile) -> CitedStatement:
    places = [find_place(mark.number, len(answer.passages), profile.zero, profile.bound) for mark in claim.marks]
    lost = profile.out_of_range == "left out" and any(place is None for place, _ in places)
    counts = bool(places) and not lost
    marks = tuple(
        CitedMark(mark, place, problem, "judged" if counts and place is not None else "fails")
        for mark, (place, problem) in zip(claim.marks, places, strict=True)
    )
    return CitedStatement(claim, marks, number, counts, failing=0 if counts else None)
