"""The nouns of the citation pipelines: passages, answers, marks, claims, verdicts.

All text is kept as the model wrote it; offsets are character offsets into `Answer.text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from metaeval.errors import UserError, shown
from metaeval.files import sha256_json

Problem = Literal["out of range", "zero", "unparsable"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One document that the model was given; answers cite it by its place, from 1."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Answer:
    """One model answer with the passages that its marks point into.

    group: what resampling draws, where the file names it; empty: the question (see `group_of`). system: the generator.
    reference: what correctness is measured against, by the published field names (answer, qa_pairs, annotations,
    claims, answers), unchanged. first: the number that the text cites the first passage by; 0 in some published sets.
    Numbers everywhere else are from 1.
    """

    id: str
    text: str
    passages: tuple[Passage, ...]
    question: str = ""
    group: str = ""
    system: str = ""
    reference: Mapping[str, Any] = field(default_factory=dict)
    first: int = 1


def group_of(answer: Answer) -> str:
    """The group that resampling draws with an answer: the one that its file names, else its question, else its id."""
    return writable(answer.group or answer.question.strip() or answer.id)


def writable(text: str) -> str:
    """A text as files can hold it: a lone surrogate, which JSON input may hold, as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def answer_cells(answer: Answer) -> dict[str, Any]:
    """What a row about an answer begins with."""
    return {"answer": answer.id, "system": answer.system, "group": group_of(answer)}


@dataclass(frozen=True, slots=True)
class Mark:
    """One citation mark as it stands in the text: start and end offsets, and the number in it (None: unparsable)."""

    start: int
    end: int
    number: int | None


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the answer: start and end offsets, and its text as a pipeline reads it."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What the passages of one citation group are held to entail.

    marks: of its citation group; empty: the claim is uncited. sentence: number of the sentence in the answer. made_by:
    the rule that made the claim ("sentence", "tree", or "fallback: ..." with its reason), so that fallbacks can be
    counted. start, end: offsets of the sentence.
    """

    text: str
    marks: tuple[Mark, ...]
    sentence: int
    start: int
    end: int
    made_by: str = "sentence"

    @property
    def citations(self) -> tuple[int | None, ...]:
        """The cited numbers as written, in the order of the marks (1 is the first passage)."""
        return tuple(mark.number for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a premise entails a claim: the backend's score and the decision at its threshold.

    Both None where the backend gave no score; `status` then says why (a `metaeval.scoring.contract.Status` value).
    cut: the premise was longer than what the backend reads.
    """

    entailed: bool | None
    score: float | None = None
    status: str = "ok"
    cut: bool = False


def check_ids(ids: Iterable[str], what: str, where: object) -> None:
    """Raise `UserError` where two of these have one id. what: they are, and where: they stand, for the message."""
    repeated = [name for name, times in Counter(ids).items() if times > 1]
    if repeated:
        raise UserError(f"{where}: two {what} have the id {shown(repeated[0])}; allowed: an id of its own for each.")


Pair = tuple[str, str]
"""(premise, claim)."""

Entails = Callable[[Sequence[Pair]], Sequence[Verdict]]
"""A batch of pairs to their verdicts, in order: made from a metric and a threshold, or from stored verdicts."""


def fingerprint(answers: Sequence[Answer]) -> str:
    """A hash of everything that is read of the answers."""
    return sha256_json(
        [
            [one.id, one.group or one.id, one.system, one.question, one.text, one.first, dict(one.reference)]
            + [[passage.title, passage.text] for passage in one.passages]
            for one in answers
        ]
    )
