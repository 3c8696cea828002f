"""Data model of the citation pipelines: passages, answers, marks, claims, verdicts.

All text is kept as the model wrote it; offsets are character offsets into `Answer.text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from metaeval.core.errors import UserError, shown
from metaeval.core.files import sha256_json

if TYPE_CHECKING:
    from metaeval.citation.citeeval.splitting import Split

MarkProblem = Literal["out of range", "zero", "unparsable"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One document of the model's input; answers cite it by its position, from 1.

    Parameters
    ----------
    text, title : str
        The document.
    source : str
        Its id or address.
    snippet, summary : str
        Shorter texts of the document that the answer file holds; empty if it holds none.
    """

    text: str
    title: str = ""
    source: str = ""
    snippet: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A piece of an answer's text that does not belong to the answer: offsets, and what it is ("list number").

    written: the text that is read in its place. Where start and end are equal, the file reader has left it out itself.
    sources: of a list of sources, how many it holds.
    """

    start: int
    end: int
    kind: str
    written: str = ""
    sources: int = 0


@dataclass(frozen=True)
class Answer:
    """One model answer with the passages that it can cite.

    Parameters
    ----------
    id, text : str
        Its id, and the text as the model wrote it.
    passages : tuple of Passage
        What it can cite.
    question : str
        The question.
    group : str
        The unit of resampling, where the file names it; empty: the question (see `group_of`).
    system : str
        The generator.
    reference : mapping
        What the file holds for measures of correctness, by the published field names (answer, qa_pairs, annotations,
        claims, answers), unchanged, and levels of support (`metaeval.citation.support.level_readings`).
    first : int, default 1
        The number by which the text cites the first passage; 0 in some published sets. Numbers everywhere else are from
        1.
    sample : int, optional
        The number of the answer among several by one system to the question, from 0 (None: only one).
    left_out : tuple of LeftOut
        The pieces of the text that are not read as the answer, in order and without overlap.
    split : Split, optional
        CiteEval's statements, where the file holds them.
    """

    id: str
    text: str
    passages: tuple[Passage, ...]
    question: str = ""
    group: str = ""
    system: str = ""
    reference: Mapping[str, Any] = field(default_factory=dict)
    first: int = 1
    sample: int | None = None
    left_out: tuple[LeftOut, ...] = ()
    split: Split | None = None

    def in_sample(self, sample: int) -> Answer:
        """Return the answer with this number of the sample, which is also appended to its id (q1#0)."""
        return replace(self, id=f"{self.id}#{sample}", sample=sample)

    @property
    def with_text(self) -> dict[int, Passage]:
        """The passages that have a text, by number from 1: no other one is shown to a judge."""
        numbered = enumerate(self.passages, start=1)
        return {number: passage for number, passage in numbered if passage.text.strip()}

    def cites_blank(self, citations: Iterable[int]) -> bool:
        """Return whether a passage without a text is among these numbers, so that the citations cannot be judged."""
        cited = (self.passages[number - 1] for number in citations if 0 < number <= len(self.passages))
        return not all(passage.text.strip() for passage in cited)

    @property
    def sampled_id(self) -> str:
        """The id without the number of the sample."""
        return self.id if self.sample is None else self.id.removesuffix(f"#{self.sample}")


def group_of(answer: Answer) -> str:
    """Return the group of an answer in resampling: the one that its file names, else its question, else its id."""
    return writable(answer.group or answer.question.strip() or answer.id)


def writable(text: str) -> str:
    """Return a text that can be written to a file: lone surrogates, which JSON input may hold, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def answer_cells(answer: Answer) -> dict[str, Any]:
    """Return the first cells of a table row about an answer: its id as "answer", its "system" and its "group"."""
    return {"answer": answer.id, "system": answer.system, "group": group_of(answer)}


@dataclass(frozen=True, slots=True)
class Mark:
    """One citation mark in a text: start and end offsets, and the number that it cites (None: unparsable)."""

    start: int
    end: int
    number: int | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that the passages which its marks cite should together entail.

    marks: of its citation group (ALiiCE), or those of its sentence that cite a passage and count (ALCE). sentence:
    number of the sentence in the answer, from 1. made_by: the rule that made the claim ("sentence", "tree", or
    "fallback: ..." with its reason). start, end: offsets of the sentence in the answer.
    """

    text: str
    marks: tuple[Mark, ...]
    sentence: int
    start: int
    end: int
    made_by: str = "sentence"

    @property
    def citations(self) -> tuple[int | None, ...]:
        """The cited numbers in the order of the marks (1 is the first passage)."""
        return tuple(mark.number for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a premise entails a claim: the backend's score and the decision at its threshold.

    Both are None where the backend gave no score; `status` then says why (a `metaeval.scoring.contract.Status` value).
    A soft backend gives a score and no decision.
    cut: the premise was longer than the backend's limit.
    """

    entailed: bool | None
    score: float | None = None
    status: str = "ok"
    cut: bool = False


def check_ids(ids: Iterable[str], what: str, where: object) -> None:
    """Raise `UserError` for duplicate ids. what: their owners, in the plural ("answers"). where: file that has them."""
    repeated = [name for name, times in Counter(ids).items() if times > 1]
    if repeated:
        raise UserError(f"{where}: two {what} have the id {shown(repeated[0])}; give each its own id.")


# (premise, claim).
NliPair = tuple[str, str]

# The premise of sources whose texts are not known: a pair with it is not judged, and its status is `NO_TEXT`.
UNKNOWN_TEXT = "\ue0ff"

NO_TEXT = "no source text"

# Returns the verdicts of a batch of pairs, in order, from a metric and a threshold or from stored verdicts.
Entails = Callable[[Sequence[NliPair]], Sequence[Verdict]]


def fingerprint(answers: Sequence[Answer]) -> str:
    """Return the SHA-256 of all that the pipelines read of the answers, in order."""
    rows = []
    for answer in answers:
        passages = [[passage.title, passage.text] for passage in answer.passages]
        fields = [answer.id, answer.group or answer.id, answer.system, answer.question, answer.text, answer.first]
        left_out = [[piece.start, piece.end, piece.written] for piece in answer.left_out if piece.start < piece.end]
        rows.append([*fields, dict(answer.reference), *passages, *([left_out] if left_out else [])])
    return sha256_json(rows)
