"""What a claim is held against, and the verdicts that citation recall and precision need, in three large batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.model import Entails, Pair, Passage, Problem, Verdict

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
