"""ALCE citation recall and precision: the lines of the citation table, for all answers at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.alce.statements import Cited, Statement, statements
from metaeval.citation.batched_entailment import Judgement, Question, judge, needed
from metaeval.citation.lines import claim_line, lines_not_read
from metaeval.citation.model import Answer, Entails, Verdict
from metaeval.citation.sentences import RULES, SentenceSplitter
from metaeval.citation.table import Line, State, reason_of


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
    recall = _recall(statement, judgement)
    verdicts = iter(zip(judgement.alone, judgement.rest, strict=True))
    number = statement.claim.sentence if statement.counts else None
    for one in statement.cited:
        state, alone, rest = _state(statement, one, options), None, None
        if state == "judged":
            alone, rest = next(verdicts)
        precision, reason = _precision(state, judgement.joint, alone, rest, len(statement.places), options)
        yield claim_line(
            answer,
            statement.claim,
            number,
            judgement.joint,
            recall,
            citation=one.mark.number,
            start=one.mark.start,
            end=one.mark.end,
            alone=alone.entailed if alone else None,
            rest=rest.entailed if rest else None,
            precision=precision,
            state="unjudged" if reason else state,
            problem=one.problem,
            reason=reason,
            cut=any(verdict is not None and verdict.cut for verdict in (judgement.joint, alone, rest)),
        )
    if statement.counts and not statement.cited:
        yield claim_line(answer, statement.claim, number, None, recall, state="uncited")


def _recall(statement: Statement, judgement: Judgement) -> int | None:
    if not statement.counts:
        return None
    if judgement.joint is None:
        return 0
    return None if judgement.joint.entailed is None else int(judgement.joint.entailed)


def _state(statement: Statement, one: Cited, options: AlceOptions) -> State:
    """A sentence that fails as a whole takes its other marks with it."""
    return "fails" if statement.fails and one.state == "judged" else one.state


def _precision(
    state: State,
    joint: Verdict | None,
    alone: Verdict | None,
    rest: Verdict | None,
    cited: int,
    options: AlceOptions,
) -> tuple[int | None, str]:
    """The citation's precision, and the reason where a missing verdict leaves it open."""
    if state == "fails":
        return (0, "") if options.out_of_range == "mark fails" else (None, "")
    if state != "judged" or joint is None:
        return None, ""
    if joint.entailed is None:
        return None, joint.status
    if not joint.entailed or cited == 1:
        return int(joint.entailed), ""
    value = needed(alone, rest)
    return (None, reason_of(alone, rest)) if value is None else (int(value), "")
