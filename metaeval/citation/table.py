"""What a claim is held against, its verdicts in three large batches, and one line for each citation of each answer:
the table that every value comes from, whatever pipeline judged it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.model import Answer, Claim, Entails, Mark, Pair, Passage, Problem, Verdict, answer_cells
from metaeval.citation.sentences import find_marks, unread

Zero = Literal["out of range", "last passage"]
"""What the number 0 cites: nothing, or the last passage, where the released code's index -1 leads."""

Untitled = Literal["text only", "title line"]
"""What stands for a passage without a title: its text, or its text under an empty title line, as released."""


def find_place(number: int | None, passages: int, zero: Zero = "out of range") -> tuple[int | None, Problem | None]:
    """Index of the passage that a mark's number cites (None: no such passage), and what is wrong with the number.

    passages: how many there are. Zero is a problem even where it is read as the last passage.
    """
    if number is None:
        return None, "unparsable"
    if number == 0:
        return (passages - 1 if zero == "last passage" and passages else None), "zero"
    if not 0 < number <= passages:
        return None, "out of range"
    return number - 1, None


def premise(passages: Sequence[Passage], untitled: Untitled = "text only") -> str:
    """The passages as one premise: a title line and the text of each, in order, joined by line breaks."""
    return "\n".join(
        f"Title: {one.title}\n{one.text}" if one.title or untitled == "title line" else one.text for one in passages
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A claim and what it cites: the answer's passages, and the indices of the cited ones in mark order."""

    claim: str
    passages: tuple[Passage, ...]
    cited: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts on one question; None where none was asked for.

    joint: of all cited passages together. alone, rest: of each cited passage by itself, and of the others without it,
    in mark order; asked for only where it can matter.
    """

    joint: Verdict | None
    alone: tuple[Verdict | None, ...]
    rest: tuple[Verdict | None, ...]


def judge(questions: Sequence[Question], entails: Entails, untitled: Untitled = "text only") -> list[Judgement]:
    """Judge all questions in three calls of `entails`, no pair twice.

    First every joint verdict; then, of questions with several marks that are jointly entailed, each passage alone;
    last the rest, where the passage alone does not entail. That is the rule's own order, so the pairs that are asked
    are exactly those it looks at. A question without a cited passage is not asked.
    """
    joint = [(premise([q.passages[i] for i in q.cited], untitled), q.claim) if q.cited else None for q in questions]
    known = verdicts_on(joint, entails)
    alone: list[list[Pair | None]] = []
    for question, pair in zip(questions, joint, strict=True):
        several = len(question.cited) > 1 and pair is not None and known[pair].entailed is True
        alone.append(
            [(premise([question.passages[i]], untitled), question.claim) if several else None for i in question.cited]
        )
    known |= verdicts_on((pair for pairs in alone for pair in pairs if pair not in known), entails)
    rest: list[list[Pair | None]] = []
    for question, pairs in zip(questions, alone, strict=True):
        rest.append([])
        for index, pair in zip(question.cited, pairs, strict=True):
            # Of a passage that is cited twice only the first is taken out: the other is then part of the rest.
            others = list(question.cited)
            others.remove(index)
            held = [question.passages[other] for other in others]
            wanted = pair is not None and known[pair].entailed is not True
            rest[-1].append((premise(held, untitled), question.claim) if wanted else None)
    known |= verdicts_on((pair for pairs in rest for pair in pairs if pair not in known), entails)

    def verdicts(pairs: Sequence[Pair | None]) -> tuple[Verdict | None, ...]:
        return tuple(None if pair is None else known[pair] for pair in pairs)

    return [
        Judgement(verdicts([one])[0], verdicts(few), verdicts(others))
        for one, few, others in zip(joint, alone, rest, strict=True)
    ]


def needed(alone: Verdict | None, rest: Verdict | None) -> bool | None:
    """Whether a mark of a jointly entailed claim is needed: not if alone it does not entail and the rest does.

    None where a verdict that decides it is missing.
    """
    by_itself = None if alone is None else alone.entailed
    without = None if rest is None else rest.entailed
    if by_itself is True or without is False:
        return True
    return False if by_itself is False and without is True else None


def verdicts_on(pairs: Iterable[Pair | None], entails: Entails) -> dict[Pair, Verdict]:
    """The verdict on each distinct pair, all asked in one call; without a pair nothing is asked."""
    asked = list(dict.fromkeys(pair for pair in pairs if pair is not None))
    return dict(zip(asked, entails(asked), strict=True)) if asked else {}


State = Literal["judged", "unjudged", "uncited", "fails", "over the limit", "repeated", "no statement", "not read"]
"""What became of a citation.

judged: its precision is known. unjudged: the backend gave no score that decides it; `reason` says why. uncited: the
line stands for a claim without citations. fails: it points at no passage, or stands beside one that does and the
profile lets the whole claim fail. over the limit: behind the number of citations that the profile reads. repeated: the
same number again in its group. no statement: its sentence holds no words. not read: the profile does not read such
marks, or not that part of the answer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One citation of one claim; a claim without citations has one line without a citation.

    sentence, claim_number: from 1 within the answer; None where a mark stands in no sentence that was read. citation:
    the number cited (1 is the first passage; None: none, or unparsable). start, end: the mark's offsets in the answer;
    sentence_start, sentence_end: its sentence's. joint: whether the claim's passages together entail it; alone, rest:
    whether this one does, and the others without it (None: not asked, or no answer). score: the backend's joint score.
    recall: the claim's, 0 or 1, on each of its lines. precision: the citation's, 0 or 1. Both are None where undefined,
    and degrees of support from 0 to 1 where a soft backend gives them (`metaeval.citation.measures.soften`).
    cut: a premise of this line was longer than what the backend reads.
    """

    answer: str
    group: str = ""
    system: str = ""
    sentence: int | None = None
    claim_number: int | None = None
    claim: str = ""
    made_by: str = ""
    sentence_start: int | None = None
    sentence_end: int | None = None
    citation: int | None = None
    start: int | None = None
    end: int | None = None
    joint: bool | None = None
    alone: bool | None = None
    rest: bool | None = None
    score: float | None = None
    recall: float | None = None
    precision: float | None = None
    state: State = "judged"
    problem: Problem | None = None
    reason: str = ""
    cut: bool = False


COLUMNS = tuple(column.name for column in dataclasses.fields(Line))


def claims_of(lines: Sequence[Line]) -> list[Line]:
    """The first line of each claim, in order: what recall is counted over."""
    first: dict[tuple[str, int], Line] = {}
    for line in lines:
        if line.claim_number is not None:
            first.setdefault((line.answer, line.claim_number), line)
    return list(first.values())


def unjudged(lines: Sequence[Line]) -> list[Line]:
    """The lines whose recall or precision would count and has no value, because a verdict is missing."""
    return [line for line in lines if line.reason]


def counts(lines: Sequence[Line]) -> Mapping[str, int]:
    """How many claims and marks there are, and how many marks are of each state and have each problem.

    A sentence that opens on a mark often has the citation of the sentence before it, set behind the full stop.
    `marks` is the sum over the states of the marks: every mark is in exactly one.
    """
    marks = [line for line in lines if line.start is not None]
    states = Counter(line.state for line in marks)
    problems = Counter(line.problem for line in marks if line.problem is not None)
    claims = claims_of(lines)
    return {
        "claims": len(claims),
        "claims uncited": sum(line.state == "uncited" for line in claims),
        "claims unjudged": sum(unjudged_claim(line) for line in claims),
        "premises cut": sum(line.cut for line in lines),
        "sentences that open on a mark": len(
            {(line.answer, line.start) for line in marks if line.start == line.sentence_start}
        ),
        "marks": len(marks),
        **{f"marks: {state}": states[state] for state in sorted(states)},
        **{f"problem: {problem}": problems[problem] for problem in sorted(problems)},
    }


def unjudged_claim(line: Line) -> bool:
    """A claim without a verdict that would have counted.

    Claims that ALiiCE leaves out altogether would not: those that cite nothing, and by its released code those with a
    mark that points at no passage, which alone fail without a precision.
    """
    left_out = line.state == "uncited" or (line.state == "fails" and line.precision is None)
    return line.recall is None and not left_out


def sentence_rows(lines: Sequence[Line]) -> list[dict[str, str | int | None]]:
    """One row per sentence with a claim: how many claims and citations it holds, and how many of them hold.

    A claim or citation without a verdict is in the number, not in the supported or precise.
    """
    claims: dict[tuple[str, int | None], list[Line]] = {}
    citations: dict[tuple[str, int | None], list[Line]] = {}
    for line in claims_of(lines):
        claims.setdefault((line.answer, line.sentence), []).append(line)
    for line in lines:
        if line.start is not None:
            citations.setdefault((line.answer, line.sentence), []).append(line)
    return [
        {
            "answer": answer,
            "system": own[0].system,
            "sentence": sentence,
            "start": own[0].sentence_start,
            "end": own[0].sentence_end,
            "claims": len(own),
            "claims_supported": sum(line.recall == 1 for line in own),
            "claims_unjudged": sum(line.recall is None and bool(line.reason) for line in own),
            "citations": len(marks := citations.get((answer, sentence), [])),
            "citations_precise": sum(line.precision == 1 for line in marks),
            "citations_unjudged": sum(line.state == "unjudged" for line in marks),
        }
        for (answer, sentence), own in claims.items()
    ]


@dataclass(frozen=True, slots=True)
class Cited:
    """One mark of a claim: the index of the passage it cites, what is wrong with it, and what becomes of it.

    state: "judged" where the mark takes part in the verdicts.
    """

    mark: Mark
    place: int | None
    problem: Problem | None
    state: State


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim and its marks, before it is judged. number: in the table; None: it has none, and is in no share.

    counts: recall is a share of such statements. failing: precision of marks that fail.
    """

    claim: Claim
    cited: tuple[Cited, ...]
    number: int | None
    counts: bool
    failing: int | None

    @property
    def places(self) -> tuple[int, ...]:
        """The passages that the claim is judged against."""
        return tuple(one.place for one in self.cited if one.state == "judged" and one.place is not None)


def judged_lines(
    answers: Sequence[Answer],
    stated: Sequence[Sequence[Statement]],
    entails: Entails,
    untitled: Untitled,
    reason_on_all: bool = False,
) -> list[Line]:
    """One line for each mark of each answer and for each uncited statement, answer by answer in the order of the text.

    Recall of a statement: 1 if its cited passages together entail it, else 0; undefined where it does not count.
    Precision of a citation: 0 if recall is 0, or if it alone does not entail the statement and the others do; else 1.
    Marks that are in no statement close an answer's lines, so that every mark in the text has its line.

    reason_on_all: marks that fail, too, have the reason for which their statement's verdict is missing.
    """
    questions = [
        Question(one.claim.text, answer.passages, one.places)
        for answer, own in zip(answers, stated, strict=True)
        for one in own
    ]
    judged = iter(judge(questions, entails, untitled))
    lines: list[Line] = []
    for answer, own in zip(answers, stated, strict=True):
        for statement in own:
            lines.extend(_lines(answer, statement, next(judged), reason_on_all))
        lines.extend(_not_read(answer, [one.mark for statement in own for one in statement.cited]))
    return lines


def _lines(answer: Answer, statement: Statement, judgement: Judgement, reason_on_all: bool) -> Iterator[Line]:
    claim, joint = statement.claim, judgement.joint
    line = Line(
        **answer_cells(answer),
        sentence=claim.sentence,
        claim_number=statement.number,
        claim=claim.text,
        made_by=claim.made_by,
        sentence_start=claim.start,
        sentence_end=claim.end,
        joint=None if joint is None else joint.entailed,
        score=None if joint is None else joint.score,
        recall=_recall(joint) if statement.counts else None,
    )
    if not statement.cited and statement.number is not None:
        yield dataclasses.replace(line, state="uncited")
    why = _reason(joint) if reason_on_all and statement.counts else ""
    verdicts = iter(zip(judgement.alone, judgement.rest, strict=True))
    for one in statement.cited:
        alone, rest = next(verdicts) if one.state == "judged" else (None, None)
        precision, reason = (statement.failing if one.state == "fails" else None), ""
        if one.state == "judged" and joint is not None:
            precision, reason = mark_precision(joint, alone, rest, len(statement.places))
        yield dataclasses.replace(
            line,
            citation=one.mark.number,
            start=one.mark.start,
            end=one.mark.end,
            alone=None if alone is None else alone.entailed,
            rest=None if rest is None else rest.entailed,
            precision=precision,
            state="unjudged" if reason else one.state,
            problem=one.problem,
            reason=reason or why,
            cut=any(verdict is not None and verdict.cut for verdict in (joint, alone, rest)),
        )


def _recall(joint: Verdict | None) -> int | None:
    """Recall of a claim by the verdict on its passages together: 0 without a passage; None where it is missing."""
    if joint is None:
        return 0
    return None if joint.entailed is None else int(joint.entailed)


def mark_precision(joint: Verdict, alone: Verdict | None, rest: Verdict | None, cited: int) -> tuple[int | None, str]:
    """Precision of one of a claim's `cited` citations, and the reason where a missing verdict leaves it open."""
    if joint.entailed is None:
        return None, joint.status
    if not joint.entailed or cited == 1:
        return int(joint.entailed), ""
    value = needed(alone, rest)
    return (None, _reason(alone, rest)) if value is None else (int(value), "")


def _reason(*verdicts: Verdict | None) -> str:
    """Why a verdict is missing: the first status among those that were asked for and have no decision."""
    return next((verdict.status for verdict in verdicts if verdict is not None and verdict.entailed is None), "")


def _not_read(answer: Answer, read: Sequence[Mark]) -> Iterator[Line]:
    """The marks of the answer that are in no claim: of forms or parts that a profile does not read, or lost there."""
    for mark in unread(find_marks(answer.text, first=answer.first), read):
        yield Line(
            **answer_cells(answer),
            citation=mark.number,
            start=mark.start,
            end=mark.end,
            state="not read",
            problem=find_place(mark.number, len(answer.passages))[1],
        )
