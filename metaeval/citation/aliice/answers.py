"""ALiiCE on answers: from sentences to claims with offsets, and the lines of the citation table for all answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metaeval.citation.aliice.claims import MARK, SentenceClaims, Stated, read_sentences
from metaeval.citation.aliice.profile import Profile
from metaeval.citation.model import Answer, Claim, Entails, Mark, Problem
from metaeval.citation.parsers.parse import Parser
from metaeval.citation.premises import Judgement, Question, find_place, judge
from metaeval.citation.sentences import (
    RULES,
    Reading,
    SentenceSplitter,
    find_marks,
    joined,
    move_leading,
    part,
    span,
    split,
    whole,
)
from metaeval.citation.table import (
    Line,
    State,
    claim_line,
    lines_not_read,
    mark_line,
    precision_of,
    reason_of,
    recall_of,
)


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A claim with the marks of its citation group, in the order of `claim.citations`."""

    claim: Claim
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class AnswerClaims:
    """An answer with its claims. sentences: as they were read, marks moved and brought to one form."""

    answer: Answer
    sentences: tuple[SentenceClaims, ...]
    claims: tuple[CitedClaim, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences, with their marks."""
        return tuple(sentence.sentence for sentence in self.sentences)


def read_answers(
    answers: Sequence[Answer], parser: Parser, profile: Profile, splitter: SentenceSplitter = RULES
) -> list[AnswerClaims]:
    """The claims of every answer, in order."""
    split_up: list[list[Reading]] = []
    for answer in answers:
        moved = move_leading(split(in_one_form(answer, profile), splitter), profile.leading, profile.styles)
        split_up.append([each for each in moved if profile.emptied == "keep" or each.text.strip()])
    read = iter(read_sentences([each.text for sentences in split_up for each in sentences], parser, profile))
    found = []
    for answer, sentences in zip(answers, split_up, strict=True):
        own = tuple(next(read) for _ in sentences)
        claims = tuple(
            _cited(stated, sentence, number)
            for number, (sentence, stated_there) in enumerate(zip(sentences, own, strict=True), start=1)
            for stated in stated_there.claims
        )
        found.append(AnswerClaims(answer, own, claims))
    return found


def in_one_form(answer: Answer, profile: Profile) -> Reading:
    """The answer with every mark that the profile's styles read as a [n] of its own, counted from 1."""
    text = whole(answer.text)
    pieces: list[Reading] = []
    end = 0
    for mark in find_marks(answer.text, profile.styles, answer.first):
        bracket = answer.text[mark.start : mark.end]
        if mark.number is None or (answer.first == 1 and MARK.fullmatch(bracket)):
            continue
        if mark.start >= end:
            pieces.append(part(text, end, mark.start))
        written = f"[{max(mark.number, 0)}]"
        pieces.append(Reading(written, (mark.start,) + (mark.end - 1,) * (len(written) - 1)))
        end = mark.end
    return joined(*pieces, part(text, end, len(answer.text)))


def _cited(stated: Stated, sentence: Reading, number: int) -> CitedClaim:
    where = span(sentence)
    marks = tuple(Mark(sentence.at[start], sentence.at[end - 1] + 1, cited) for start, end, cited in stated.marks)
    claim = Claim(stated.text, stated.citations, number, where.start, where.end, stated.made_by)
    return CitedClaim(claim, marks)


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
    found: list[tuple[int | None, Problem | None]] = [
        (None, "out of range")
        if profile.bound is not None and (mark.number or 0) > profile.bound
        else find_place(mark.number, len(answer.passages), profile.zero)
        for mark in cited.marks
    ]
    places, problems = tuple(place for place, _ in found), tuple(problem for _, problem in found)
    counts = bool(places) and not (profile.out_of_range == "left out" and None in places)
    return _Group(cited, places, problems, counts)


def _lines(answer: Answer, group: _Group, number: int, judgement: Judgement) -> Iterator[Line]:
    claim, joint = group.cited.claim, judgement.joint
    recall, why = (recall_of(joint), reason_of(joint)) if group.counts else (None, "")
    verdicts = iter(zip(judgement.alone, judgement.rest, strict=True))
    for mark, place, problem in zip(group.cited.marks, group.places, group.problems, strict=True):
        state: State = "judged" if group.counts and place is not None else "fails"
        alone, rest = next(verdicts) if state == "judged" else (None, None)
        precision, reason = (0 if group.counts else None), ""
        if state == "judged" and joint is not None:
            precision, reason = precision_of(joint, alone, rest, len(group.valid))
        of_mark = (joint, alone, rest)
        yield mark_line(answer, claim, number, recall, mark, of_mark, precision, state, problem, reason, why)
    if not group.cited.marks:
        yield claim_line(answer, claim, number, None, None, state="uncited")
