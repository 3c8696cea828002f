"""The citation table, from which ALCE and ALiiCE compute recall and precision: one line for each citation of a claim.

A claim without citations has one line too. The verdicts on all claims are asked for in at most three batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from metaeval.citation.data_model import (
    NO_TEXT,
    UNKNOWN_TEXT,
    Answer,
    Claim,
    Entails,
    Mark,
    MarkProblem,
    NliPair,
    Passage,
    Verdict,
    answer_cells,
)
from metaeval.citation.marks_and_sentences import Leading, MarkStyles, reading_of, unread
from metaeval.core.errors import unknown

# What the number 0 cites: nothing, or the last passage, which the released code finds at index -1.
Zero = Literal["out of range", "last passage"]

# How a passage without a title is written: its text alone, or below an empty title line, as released.
Untitled = Literal["text only", "title line"]

# A sentence or claim without a citation has recall 0, or is in no share.
Uncited = Literal["fails", "left out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rules that ALCE's and ALiiCE's profiles share; the defaults are those of ALCE's paper.

    name: in signatures; with what the user chose (paper|leading=move all). styles: marks that are read. leading: what
    becomes of marks that open a sentence. bound: the highest number that is read as a citation (None: the number of
    passages). zero: what the number 0 cites. out_of_range: a mark that cites no passage fails alone and is an imprecise
    citation, or its whole sentence fails and its marks count in no precision, or that sentence (ALiiCE: its group) is
    in no share. by_group: average an answer's precision over its citation groups, instead of its citations.
    undefined_is_zero: an answer with claims and without a citation that counts has precision 0, instead of none.
    """

    name: str = "paper"
    styles: MarkStyles = "all"
    leading: Leading = "auto"
    bound: int | None = None
    zero: Zero = "out of range"
    out_of_range: Literal["mark fails", "sentence fails", "left out"] = "mark fails"
    uncited: Uncited = "fails"
    untitled: Untitled = "text only"
    by_group: bool = False
    undefined_is_zero: bool = False


P = TypeVar("P", bound=Profile)


def find_profile(
    profiles: Mapping[str, P], name: str = "paper", leading: Leading | None = None, uncited: Uncited | None = None
) -> P:
    """Return the profile of this name with `leading` and `uncited` as given (None: its own).

    Raises `UserError` for an unknown name.
    """
    if name not in profiles:
        raise unknown("profile", name, profiles)
    profile = profiles[name]
    choices = {"leading": leading, "uncited": uncited}
    chosen = {key: value for key, value in choices.items() if value not in (None, getattr(profile, key))}
    changes = {**chosen, "name": "|".join([name, *(f"{key}={value}" for key, value in chosen.items())])}
    return replace(profile, **changes)  # type: ignore[arg-type]


def find_place(
    number: int | None, passages: int, zero: Zero = "out of range", bound: int | None = None
) -> tuple[int | None, MarkProblem | None]:
    """Return (index from 0 of the passage that a number cites, the number's problem); either can be None.

    number: None if the mark is unparsable. passages: the number of passages. bound: the highest number that is read
    (None: the number of passages). Zero is a problem even where it is read as the last passage.
    """
    if number is None:
        return None, "unparsable"
    if number == 0:
        return (passages - 1 if zero == "last passage" and passages else None), "zero"
    if not 0 < number <= (passages if bound is None else min(passages, bound)):
        return None, "out of range"
    return number - 1, None


def premise(passages: Sequence[Passage], untitled: Untitled = "text only") -> str:
    """Return one premise of all passages: of each a title line (see `Untitled`) and the text, on lines of their own."""
    return "\n".join(
        f"Title: {passage.title}\n{passage.text}" if passage.title or untitled == "title line" else passage.text
        for passage in passages
    )


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
    """A claim to judge, the answer's passages, and the indices of the cited passages in the order of the marks."""

    claim: str
    passages: tuple[Passage, ...]
    cited: tuple[int, ...]

    def pair(self, indices: Iterable[int], untitled: Untitled) -> NliPair:
        """Return (premise of these passages, or `UNKNOWN_TEXT` if each is blank; the claim)."""
        places = list(indices)
        if len(self.blank(places, untitled)) == len(places):
            return UNKNOWN_TEXT, self.claim
        return premise([self.passages[place] for place in places], untitled), self.claim

    def blank(self, indices: Iterable[int], untitled: Untitled) -> list[int]:
        """Return those of the passages that have no text; the released code judges blank ones without a source."""
        judged = untitled == "title line"
        passages = ((index, self.passages[index]) for index in indices)
        return [at for at, passage in passages if not passage.text.strip() and (passage.source or not judged)]


Verdicts: TypeAlias = tuple[Verdict | None, ...]

# The verdicts on one claim, None where none was needed: on all cited passages together (joint), on each cited passage
# by itself (alone), and on all others together without that one (rest); the last two by passage, in the order of the
# marks.
Judgement: TypeAlias = tuple[Verdict | None, Verdicts, Verdicts]


def judge(questions: Sequence[ClaimQuestion], entails: Entails, untitled: Untitled = "text only") -> list[Judgement]:
    """Return the verdicts on each question, from at most three calls of `entails` without duplicate pairs.

    The first call is for every joint verdict; the second for each passage alone, where several marks jointly entail
    the claim; the third for the other passages, where the passage alone does not entail it or has no verdict. So only
    the pairs that ALCE's rule needs are judged. A question without a cited passage needs no verdict.
    """
    joint = [question.pair(question.cited, untitled) if question.cited else None for question in questions]
    known = verdicts_on(joint, entails)
    alone: list[list[NliPair | None]] = []
    for question, pair in zip(questions, joint, strict=True):
        several = len(question.cited) > 1 and pair is not None and known[pair].entailed is True
        alone.append([question.pair([index], untitled) if several else None for index in question.cited])
    known |= verdicts_on((pair for pairs in alone for pair in pairs if pair not in known), entails)
    rest: list[list[NliPair | None]] = []
    for question, pairs in zip(questions, alone, strict=True):
        rest.append([])
        for index, pair in zip(question.cited, pairs, strict=True):
            # A passage that is cited twice is removed once: its second citation is part of the rest.
            others = list(question.cited)
            others.remove(index)
            is_needed = pair is not None and known[pair].entailed is not True
            rest[-1].append(question.pair(others, untitled) if is_needed else None)
    known |= verdicts_on((pair for pairs in rest for pair in pairs if pair not in known), entails)

    def found(pair: NliPair | None, doubtful: bool) -> Verdict | None:
        """Return the verdict; none where a passage without text could turn it."""
        verdict = None if pair is None else known[pair]
        if doubtful and verdict is not None and verdict.entailed is False:
            return replace(verdict, entailed=None, status=NO_TEXT)
        return verdict

    judgements: list[Judgement] = []
    for question, pair, few, left in zip(questions, joint, alone, rest, strict=True):
        blanks = question.blank(question.cited, untitled)
        of_rest = [found(each, len(blanks) > (at in blanks)) for at, each in zip(question.cited, left, strict=True)]
        judgements.append((found(pair, bool(blanks)), tuple(found(each, False) for each in few), tuple(of_rest)))
    return judgements


def needed(alone: Verdict | None, rest: Verdict | None) -> bool | None:
    """Return whether a claim that all its citations together support needs this one; None where a verdict is missing.

    alone: verdict on its passage. rest: verdict on the other passages. It is not needed if its passage does not entail
    the claim and the others do; it is needed if its passage does or the others do not.
    """
    by_itself, without = (None if verdict is None else verdict.entailed for verdict in (alone, rest))
    if by_itself is True or without is False:
        return True
    return False if by_itself is False and without is True else None


def verdicts_on(pairs: Iterable[NliPair | None], entails: Entails) -> dict[NliPair, Verdict]:
    """Return the verdict on each distinct pair, by pair, from one call of `entails` (none if no pair is to be judged).

    None among the pairs is ignored. A pair with the premise `UNKNOWN_TEXT` is not judged: its status is `NO_TEXT`.
    """
    distinct = list(dict.fromkeys(pair for pair in pairs if pair is not None))
    known = [pair for pair in distinct if pair[0] != UNKNOWN_TEXT]
    verdicts = dict(zip(known, entails(known), strict=True)) if known else {}
    return verdicts | {pair: Verdict(None, status=NO_TEXT) for pair in distinct if pair not in verdicts}


# State of a citation.
#
# judged: its precision is known. unjudged: a verdict that decides on it is missing; `reason` says why. uncited: the
# line is of a claim without citations. fails: it cites no passage, or is beside such a citation and the profile lets
# the whole claim fail. over the limit: beyond the number of citations that the profile reads. repeated: its statement
# cites the number before. no statement: its sentence states nothing. not read: the profile does not read such marks, or
# that part of the answer.
MarkState = Literal["judged", "unjudged", "uncited", "fails", "over the limit", "repeated", "no statement", "not read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationLine:
    """One citation of one claim; a claim without citations has one line without a citation.

    answer, group, system: see `answer_cells`. sentence, claim_number: from 1 within the answer; None for a mark in no
    sentence that was read, and claim_number also for a claim that is in no share. made_by: see `Claim`. citation: the
    cited number (1 is the first passage; None: none, or unparsable). start, end: the mark's offsets in the answer;
    sentence_start, sentence_end: its sentence's. joint: whether the claim's cited passages together entail the claim;
    alone, rest: whether this passage does, and the other cited ones without it (None: not judged, or no verdict).
    score: the backend's score of joint. recall: of the claim, 0 or 1, on each of its lines. precision: of the citation,
    0 or 1. Recall and precision are None where undefined, and degrees of support from 0 to 1 for a soft backend
    (`metaeval.citation.measures.soften`). problem: see `find_place`. reason: why a verdict is missing, else empty. cut:
    a premise of this line was longer than the backend's limit.
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
    state: MarkState = "judged"
    problem: MarkProblem | None = None
    reason: str = ""
    cut: bool = False


def claims_of(lines: Sequence[CitationLine]) -> list[CitationLine]:
    """Return the first line of each claim that has a number, in order; recall is computed over these lines."""
    first: dict[tuple[str, int], CitationLine] = {}
    for line in lines:
        if line.claim_number is not None:
            first.setdefault((line.answer, line.claim_number), line)
    return list(first.values())


def unjudged(lines: Sequence[CitationLine]) -> list[CitationLine]:
    """Return the lines with a `reason`: those whose recall or precision has no value because a verdict is missing."""
    return [line for line in lines if line.reason]


def unjudged_claim(line: CitationLine) -> bool:
    """Return whether the claim of this line lacks the verdict that its recall needs; False if recall leaves it out."""
    left_out = line.state == "uncited" or (line.state == "fails" and line.precision is None)
    return line.recall is None and not left_out


def sentence_rows(lines: Sequence[CitationLine]) -> list[dict[str, str | int | None]]:
    """Return one row (by column) per sentence with a claim: its offsets, and counts of its claims and citation marks.

    Claims are counted in all, as supported and as unjudged, marks in all, as precise and as unjudged.
    """
    names = ("claims", "claims_supported", "claims_unjudged", "citations", "citations_precise", "citations_unjudged")
    rows: dict[tuple[str, int | None], dict[str, Any]] = {}
    for line in claims_of(lines):
        new: dict[str, Any] = {"answer": line.answer, "system": line.system, "sentence": line.sentence}
        new |= {"start": line.sentence_start, "end": line.sentence_end, **dict.fromkeys(names, 0)}
        row = rows.setdefault((line.answer, line.sentence), new)
        row["claims"] += 1
        row["claims_supported"] += line.recall == 1
        row["claims_unjudged"] += line.recall is None and bool(line.reason)
    for line in lines:
        if line.start is not None and (line.answer, line.sentence) in rows:
            row = rows[line.answer, line.sentence]
            row["citations"] += 1
            row["citations_precise"] += line.precision == 1
            row["citations_unjudged"] += line.state == "unjudged"
    return list(rows.values())


@dataclass(frozen=True, slots=True)
class CitedMark:
    """One citation mark of a claim: the index of the cited passage (place), its problem, and its state.

    state: before judging; "judged" if the passage is to be part of the premises.
    """

    mark: Mark
    place: int | None
    problem: MarkProblem | None
    state: MarkState


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A claim and its marks, before it is judged. number: of the claim in its answer; None: the claim is in no share.

    counts: whether recall counts the claim. failing: precision of marks in state "fails" (None: it leaves them out).
    """

    claim: Claim
    cited: tuple[CitedMark, ...]
    number: int | None
    counts: bool
    failing: int | None

    @property
    def places(self) -> tuple[int, ...]:
        """The indices of the passages in the claim's premise, in the order of the marks."""
        return tuple(mark.place for mark in self.cited if mark.state == "judged" and mark.place is not None)


def judged_lines(
    answers: Sequence[Answer],
    stated: Sequence[Sequence[CitedStatement]],
    entails: Entails,
    untitled: Untitled,
    reason_on_all: bool,
) -> list[CitationLine]:
    """Return one line for each mark and each numbered statement without marks, by answer, in the order of the text.

    Recall of a statement: 1 if its cited passages together entail it, else 0; undefined where it does not count.
    Precision of a citation: 0 if recall is 0, or if it alone does not entail the statement and the others do; else 1.
    Marks in no statement come last in their answer, so that every mark in the text has a line.

    stated: the statements of each answer. reason_on_all: each mark of a statement that recall counts, also one that
    fails, gets the reason why the statement's joint verdict is missing.
    """
    questions = [
        ClaimQuestion(statement.claim.text, answer.passages, statement.places)
        for answer, statements in zip(answers, stated, strict=True)
        for statement in statements
    ]
    judged = iter(judge(questions, entails, untitled))
    lines: list[CitationLine] = []
    for answer, statements in zip(answers, stated, strict=True):
        for statement in statements:
            claim, (joint, alone, rest), cited = statement.claim, next(judged), len(statement.places)
            entailed = None if joint is None else joint.entailed
            # Without a cited passage the recall of a claim is 0; without a decision it has none.
            recall = 0 if joint is None else None if entailed is None else int(entailed)
            line = CitationLine(
                **answer_cells(answer),
                sentence=claim.sentence,
                claim_number=statement.number,
                claim=claim.text,
                made_by=claim.made_by,
                sentence_start=claim.start,
                sentence_end=claim.end,
                joint=entailed,
                score=None if joint is None else joint.score,
                recall=recall if statement.counts else None,
            )
            if not statement.cited and statement.number is not None:
                lines.append(replace(line, state="uncited"))
            why = _reason(joint) if reason_on_all and statement.counts else ""
            verdicts = iter(zip(alone, rest, strict=True))
            for citation in statement.cited:
                mark, state = citation.mark, citation.state
                of_mark = replace(line, citation=mark.number, start=mark.start, end=mark.end, problem=citation.problem)
                by_itself, others = next(verdicts) if state == "judged" else (None, None)
                precision, reason = (statement.failing if state == "fails" else None), ""
                if state == "judged" and joint is not None:
                    precision, reason = mark_precision(joint, by_itself, others, cited)
                judged_mark = replace(
                    of_mark,
                    alone=None if by_itself is None else by_itself.entailed,
                    rest=None if others is None else others.entailed,
                    precision=precision,
                    state="unjudged" if reason else state,
                    reason=reason or why,
                    cut=any(verdict is not None and verdict.cut for verdict in (joint, by_itself, others)),
                )
                lines.append(judged_mark)
        read = [citation.mark for statement in statements for citation in statement.cited]
        for mark in unread(reading_of(answer).marks(first=answer.first), read):
            problem = find_place(mark.number, len(answer.passages))[1]
            line = CitationLine(**answer_cells(answer), citation=mark.number, start=mark.start, end=mark.end)
            lines.append(replace(line, state="not read", problem=problem))
    return lines


def mark_precision(joint: Verdict, alone: Verdict | None, rest: Verdict | None, cited: int) -> tuple[int | None, str]:
    """Return (precision of one citation, ""), or (None, why it is missing).

    joint, alone, rest: verdicts on all cited passages of the claim together, on this one, and on the others without it.
    cited: number of the passages behind joint.
    """
    if joint.entailed is None:
        return None, joint.status
    if not joint.entailed or cited == 1:
        return int(joint.entailed), ""
    value = needed(alone, rest)
    return (None, _reason(alone, rest)) if value is None else (int(value), "")


def _reason(*verdicts: Verdict | None) -> str:
    """Return the status of the first verdict without a decision, as the reason why it is missing; else empty."""
    return next((verdict.status for verdict in verdicts if verdict is not None and verdict.entailed is None), "")
