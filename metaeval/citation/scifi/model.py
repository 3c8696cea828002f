"""The nouns of SCiFi: sentences without their marks, facts, the segments that they come from, and lines of results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from metaeval.citation.model import Answer, Mark

Found = Literal["verbatim", "case folded", "fuzzy", "sentence", "not asked", "no reply"]
"""How a segment was found.

verbatim: as it stands. case folded: but for case and white space. fuzzy: by likeness. sentence: not at all, and the
whole sentence stands for it. Two more that are no failure to find it, and no success: not asked: the sentence has one
citation group or none, so that every segment would lead to the same. no reply: it was asked for, and no usable reply
came; such a fact is not judged. In both the segment is the whole sentence.
"""

LEFT_OUT = "left out: segment not found"
"""Among `AnswerFacts.problems`: how many facts the option `unmapped=left out` took away."""

DUPLICATE = "duplicate fact"
"""Among `AnswerFacts.problems`: how many facts were said again in their sentence; they count once.

One that a parser cut out for another citation group keeps that group too (`Fact.own`).
"""


@dataclass(frozen=True, slots=True)
class Placed:
    """A citation group: where it stands in the sentence without marks (an offset, 0 to its length), and its marks."""

    at: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer. text: without its marks. start, end: offsets in the answer. number: from 1."""

    number: int
    text: str
    start: int
    end: int
    groups: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """The stretch of a sentence that a fact is stated in: offsets in `Sentence.text`, and how it was found."""

    start: int
    end: int
    found: Found


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a sentence. number: in the answer, from 1. made_by: "model", or the rule of the parser's claims.

    trouble: why its segment is not known, where no usable reply said it (`metaeval.llm.exchange.Trouble`).
    own: where the citation groups stand (`Placed.at`) that a parser cut it out for; several where their claims read
    alike, none where a model made it.
    """

    number: int
    text: str
    sentence: int
    segment: Segment
    made_by: str
    trouble: str = ""
    own: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceFacts:
    """Facts of the reference that an answer should cover. sentences_lost: sentences of it that gave no facts."""

    facts: tuple[str, ...]
    sentences_lost: int = 0


@dataclass(frozen=True)
class AnswerFacts:
    """An answer with its sentences and facts. lost: numbers of the sentences whose facts are missing, with the reason.

    reference: None where the answer comes without one. problems: what was wrong inside replies, by kind.
    """

    answer: Answer
    sentences: tuple[Sentence, ...]
    facts: tuple[Fact, ...]
    lost: dict[int, str] = field(default_factory=dict)
    reference: ReferenceFacts | None = None
    problems: Counter[str] = field(default_factory=Counter)


State = Literal["judged", "unjudged", "uncited", "fails"]
"""What became of a fact.

judged: it has a value. unjudged: the backend gave no score that decides it, or no reply said which citation it has;
`reason` says why. uncited: its sentence has no citation, and it takes no part. fails: what it cites is no passage, and
its value is 0, or None where the options leave it out.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLine:
    """One fact, and how far its citation entails it.

    segment_start, segment_end: offsets in the sentence without marks. citations: the numbers of the marks it was
    assigned, cited_at: where they stand in that sentence. passage: the number of the passage that decided, None where
    its text holds several; chunk: which of the chunks, of the passage or of all that are one premise; both from 1.
    value: in [0, 1]; None where undefined. cut: a premise was longer than what the backend reads.
    """

    answer: str
    group: str
    system: str
    sentence: int
    sentence_start: int
    sentence_end: int
    fact_number: int
    fact: str
    made_by: str
    segment: str
    segment_start: int
    segment_end: int
    found: Found
    citations: tuple[int | None, ...] = ()
    cited_at: int | None = None
    distance: int | None = None
    passage: int | None = None
    chunk: int | None = None
    value: float | None = None
    state: State = "judged"
    reason: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageLine:
    """One fact of the reference, and how far the answer entails it; value None: missing, and `reason` says why."""

    answer: str
    group: str
    system: str
    fact_number: int
    fact: str
    value: float | None = None
    reason: str = ""
    cut: bool = False
