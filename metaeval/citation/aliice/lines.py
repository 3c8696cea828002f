"""ALiiCE citation recall and precision: the lines of the citation table, for all answers at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.aliice.answers import AnswerClaims, CitedClaim
from metaeval.citation.aliice.profile import Profile
from metaeval.citation.batched_entailment import Judgement, Question, judge, needed
from metaeval.citation.lines import claim_line, lines_not_read
from metaeval.citation.model import Answer, Entails, Mark, Problem, Verdict
from metaeval.citation.premises import find_place
from metaeval.citation.table import Line, State, reason_of


@dataclass(frozen=True, slots=True)
class _Group:
    """A claim's marks with the passages they cite (None: none). counts: the group is in the denominators."""

    cited: CitedClaim
    places: tuple[int | None, ...]
    problems: tuple[Problem | None, ...]
    counts: bool

    @property
    def valid(self) -> tuple[int, ...]:
        return tuple(place for place in self.places if place is not None) if self.counts else ()


def aliice_lines(read: Sequence[AnswerClaims], entails: Entails, profile: Profile) -> list[Line]:
    """One line for each mark of each answer and for each uncited claim, answer by answer in the order of the text.

    Recall of a claim: 1 if its group's passages together entail it, else 0; undefined without a citation. Precision
    of a citation: 0 if recall is 0, or if it alone does not entail the claim and the others do; else 1.
    """
    groups = [[_group(cited, each.answer, profile) for cited in each.claims] for each in read]
    questions = [
        Question(group.cited.claim.text, each.answer.passages, group.valid)
        for each, own in zip(read, groups, strict=True)
        for group in own
    ]
    judgements = iter(judge(questions, entails, profile.untitled))
    lines: list[Line] = []
    for each, own in zip(read, groups, strict=True):
        for number, group in enumerate(own, start=1):
            lines.extend(_lines(each.answer, group, number, next(judgements)))
        lines.extend(lines_not_read(each.answer, [mark for group in own for mark in group.cited.marks]))
    return lines


def _group(cited: CitedClaim, answer: Answer, profile: Profile) -> _Group:
    found = [_place(mark, len(answer.passages), profile) for mark in cited.marks]
    places, problems = tuple(place for place, _ in found), tuple(problem for _, problem in found)
    counts = bool(places) and not (profile.out_of_range == "left out" and None in places)
    return _Group(cited, places, problems, counts)


def _place(mark: Mark, passages: int, profile: Profile) -> tuple[int | None, Problem | None]:
    if mark.number is not None and profile.bound is not None and mark.number > profile.bound:
        return None, "out of range"
    return find_place(mark.number, passages, profile.zero)


def _lines(answer: Answer, group: _Group, number: int, judgement: Judgement) -> Iterator[Line]:
    joint = judgement.joint
    recall, why = _recall(group, joint)
    verdicts = iter(zip(judgement.alone, judgement.rest, strict=True))
    for mark, place, problem in zip(group.cited.marks, group.places, group.problems, strict=True):
        alone, rest = next(verdicts) if group.counts and place is not None else (None, None)
        state: State = "judged" if group.counts and place is not None else "fails"
        precision, reason = (0 if group.counts else None), ""
        if state == "judged":
            precision, reason = _precision(joint, alone, rest, len(group.valid))
        yield claim_line(
            answer,
            group.cited.claim,
            number,
            joint,
            recall,
            citation=mark.number,
            start=mark.start,
            end=mark.end,
            alone=alone and alone.entailed,
            rest=rest and rest.entailed,
            precision=precision,
            state="unjudged" if reason else state,
            problem=problem,
            reason=reason or why,
            cut=any(verdict is not None and verdict.cut for verdict in (joint, alone, rest)),
        )
    if not group.cited.marks:
        yield claim_line(answer, group.cited.claim, number, None, None, state="uncited")


def _recall(group: _Group, joint: Verdict | None) -> tuple[int | None, str]:
    if not group.counts:
        return None, ""
    if joint is None:
        return 0, ""
    return (None, joint.status) if joint.entailed is None else (int(joint.entailed), "")


def _precision(
    joint: Verdict | None, alone: Verdict | None, rest: Verdict | None, cited: int
) -> tuple[int | None, str]:
    """The citation's precision, and the reason where a missing verdict leaves it open."""
    if joint is None or joint.entailed is None:
        return None, reason_of(joint)
    if not joint.entailed or cited == 1:
        return int(joint.entailed), ""
    value = needed(alone, rest)
    return (None, reason_of(alone, rest)) if value is None else (int(value), "")
