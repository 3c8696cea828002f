"""ALCE citation recall and precision: the statements of answers, what each cites, and the lines of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.model import Answer, Claim, Entails, Mark, Problem
from metaeval.citation.premises import Judgement, Question, find_place, judge
from metaeval.citation.sentences import (
    RULES,
    Reading,
    SentenceSplitter,
    added,
    find_marks,
    joined,
    marks_in,
    move_leading,
    part,
    prepare,
    span,
    split,
    stripped,
    without,
    without_marks,
)
from metaeval.citation.table import Line, State, claim_line, lines_not_read, mark_line, precision_of, recall_of

_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Cited:
    """One mark of a statement: the index of the passage it cites, what is wrong with it, and what becomes of it.

    state: "judged" where the mark takes part in the verdicts.
    """

    mark: Mark
    place: int | None
    problem: Problem | None
    state: State


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim and its marks. fails: settled without a verdict, because a mark points at no passage or none is left.

    counts: it is one of the statements that recall is a share of.
    """

    claim: Claim
    cited: tuple[Cited, ...]
    fails: bool
    counts: bool = True

    @property
    def places(self) -> tuple[int, ...]:
        """The passages that the claim is judged against; none where it fails."""
        places = (one.place for one in self.cited if one.state == "judged" and one.place is not None)
        return () if self.fails or not self.counts else tuple(places)


def statements(answer: Answer, options: AlceOptions, splitter: SentenceSplitter = RULES) -> list[Statement]:
    """The statements of one answer, in order."""
    reading = prepare(answer.text, options.lines)
    if options.statements == "list items":
        units = list(_items(reading, answer, options))
    else:
        units = move_leading(split(reading, splitter), options.leading, options.styles)
    return [_statement(unit, number, answer, options) for number, unit in enumerate(units, start=1)]


def _items(reading: Reading, answer: Answer, options: AlceOptions) -> Iterator[Reading]:
    """The items of a list, each behind the question; full stops and then commas at the end are cut, as released."""
    end = len(reading.text.rstrip().rstrip(".").rstrip(","))
    inside = [
        (mark.start, mark.end)
        for mark in find_marks(reading.text[:end], options.styles, answer.first)
        if options.commas == "outside marks"
    ]
    start = 0
    for match in re.finditer(r",|\Z", reading.text[:end]):
        if any(opened <= match.start() < closed for opened, closed in inside):
            continue
        yield joined(added(f"{answer.question} "), stripped(part(reading, start, match.start())))
        start = match.end()


def _statement(unit: Reading, number: int, answer: Answer, options: AlceOptions) -> Statement:
    where = span(unit)
    cited = tuple(_cited(unit, answer, options))
    text = clean(unit, answer, options).text.strip()
    # A list item stands behind the question, which is no part of the answer.
    begin = next((index for index, offset in enumerate(unit.at) if offset >= 0), len(unit.text))
    own = unit if options.statements == "sentences" else part(unit, begin, len(unit.text))
    numbers = tuple(one.mark.number or 0 for one in cited if one.state == "judged")
    claim = Claim(text, numbers, number, where.start, where.end)
    if options.wordless == "skip" and not _WORD.search(clean(own, answer, options).text):
        lost = tuple(replace(one, state="no statement") for one in cited)
        return Statement(claim, lost, fails=True, counts=False)
    wrong = any(one.state == "fails" for one in cited)
    return Statement(claim, cited, fails=wrong and options.out_of_range == "sentence fails")


def _cited(unit: Reading, answer: Answer, options: AlceOptions) -> Iterator[Cited]:
    """The marks of a statement that the profile reads, with the limit, repeats and numbers decided."""
    seen: set[int] = set()
    found: list[Cited] = []
    for mark in marks_in(unit, options.styles, answer.first):
        place, problem = find_place(mark.number, len(answer.passages), options.zero)
        state: State = "judged"
        if mark.number is None:
            # The released code reads a number of any length, and one that is too long here lies out of any range.
            state = "fails" if options.styles.unclosed else "not read"
        elif mark.number in seen and options.repeats == "drop":
            state = "repeated"
        elif place is None:
            state = "fails"
        seen.add(mark.number if mark.number is not None else -1)
        found.append(Cited(mark, place, problem, state))
    # A sentence that fails as a whole is settled before the limit: any of its marks may be the one out of range.
    settled = options.out_of_range == "sentence fails" and any(one.state == "fails" for one in found)
    left = len(found) if options.at_most is None or settled else options.at_most
    for one in found:
        counted = one.state in ("judged", "fails")
        yield replace(one, state="over the limit") if counted and not left else one
        left -= counted and left > 0


def clean(unit: Reading, answer: Answer, options: AlceOptions) -> Reading:
    """The unit without its marks."""
    if options.cleaning == "pattern":
        # The released code's four replacements, one after the other: each can bring about matches of the next.
        for pattern in (r" \[\d+", r"\[\d+", r" \|", r"\]"):
            unit = without(unit, [match.span() for match in re.finditer(pattern, unit.text)])
        return unit
    return without_marks(unit, options.styles, answer.first)


def alce_lines(
    answers: Sequence[Answer],
    entails: Entails,
    options: AlceOptions = PAPER,
    splitter: SentenceSplitter = RULES,
    stated: Sequence[Sequence[Statement]] | None = None,
) -> list[Line]:
    """One line for each mark of each answer and for each uncited statement, answer by answer in the order of the text.

    Recall of a statement: 1 if its cited passages together entail it, else 0; 0 without a citation. Precision of a
    citation: 0 if recall is 0, or if it alone does not entail the statement and the others do; else 1. Marks that the
    profile does not read close an answer's lines, so that every mark in the text has its line.

    stated: the answers' `statements`, where they have been made already; else they are made with the splitter.
    """
    if stated is None:
        stated = [statements(answer, options, splitter) for answer in answers]
    questions = [
        Question(one.claim.text, answer.passages, one.places)
        for answer, own in zip(answers, stated, strict=True)
        for one in own
    ]
    judged = iter(judge(questions, entails, options.untitled))
    lines: list[Line] = []
    for answer, own in zip(answers, stated, strict=True):
        for statement in own:
            lines.extend(_lines(answer, statement, next(judged), options))
        lines.extend(lines_not_read(answer, [one.mark for statement in own for one in statement.cited]))
    return lines


def _lines(answer: Answer, statement: Statement, judgement: Judgement, options: AlceOptions) -> Iterator[Line]:
    recall = recall_of(judgement.joint) if statement.counts else None
    verdicts = iter(zip(judgement.alone, judgement.rest, strict=True))
    number = statement.claim.sentence if statement.counts else None
    for one in statement.cited:
        # A sentence that fails as a whole takes its other marks with it.
        state: State = "fails" if statement.fails and one.state == "judged" else one.state
        alone, rest = next(verdicts) if state == "judged" else (None, None)
        precision, reason = (0 if state == "fails" and options.out_of_range == "mark fails" else None), ""
        if state == "judged" and judgement.joint is not None:
            precision, reason = precision_of(judgement.joint, alone, rest, len(statement.places))
        verdicts_of_mark = (judgement.joint, alone, rest)
        yield mark_line(
            answer, statement.claim, number, recall, one.mark, verdicts_of_mark, precision, state, one.problem, reason
        )
    if statement.counts and not statement.cited:
        yield claim_line(answer, statement.claim, number, None, recall, state="uncited")
