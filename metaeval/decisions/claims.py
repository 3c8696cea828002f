"""Claims as ALCE and ALiiCE read them: what is asked of each, and its recall and precision by whoever answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from metaeval.citation.judging import read_claims
from metaeval.citation.model import Answer, NliPair, Verdict, writable
from metaeval.citation.table import CitationLine, ClaimQuestion, Untitled, find_place, judge, mark_precision, premise
from metaeval.stats.arrays import Floats

TITLES: Mapping[str, str] = {"alce": "ALCE", "aliice": "ALiiCE"}
"""The pipelines whose questions people can answer."""

ClaimMeasure = Literal["recall", "precision"]

ItemJudge = Callable[[int], bool | None]
"""Whether the item of a number is full support; None: nobody says."""


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim and what may be asked of it.

    items: numbers of the items by (premise, claim), those that `judge` may ask for: its passages together, each alone,
    and the others without each; names: ids of the items. failing: marks that count as imprecise, whatever is said.
    counts: recall is a share of such claims.
    """

    id: str
    answer: Answer
    question: ClaimQuestion
    items: Mapping[NliPair, int]
    names: tuple[str, ...]
    failing: int
    counts: bool

    def value(self, measure: ClaimMeasure, says: ItemJudge, untitled: Untitled) -> float | None:
        """Recall (0 or 1), or the mean precision of the marks; None where an answer that decides it is missing."""

        def entails(pairs: Sequence[NliPair]) -> list[Verdict]:
            return [Verdict(says(self.items[pair])) for pair in pairs]

        (found,) = judge([self.question], entails, untitled)
        if found.joint is None:
            return 0.0
        if measure == "recall":
            return None if found.joint.entailed is None else float(found.joint.entailed)
        many = len(self.question.cited)
        each = [mark_precision(found.joint, *pair, many)[0] for pair in zip(found.alone, found.rest, strict=True)]
        known = [one for one in each if one is not None]
        return None if len(known) < many else sum(known) / (many + self.failing)

    def degree(self, measure: ClaimMeasure, score: Floats, untitled: Untitled) -> float:
        """What a metric's scores of the items say: that of all passages together, or the mean of each alone."""
        if measure == "recall":
            return float(score[min(self.items.values())])
        alone = [(premise([self.question.passages[at]], untitled), self.question.claim) for at in self.question.cited]
        each = [score[self.items[pair]] for pair in alone] + [score.min()] * self.failing
        return float(np.mean(each))


@dataclass(frozen=True, eq=False)
class Claims:
    """All claims of a file, in order, as a pipeline of its paper's profile reads them; fields: what a signature says.

    by_group: an answer's precision is the mean over its citation groups, not over its citations.
    """

    pipeline: str
    claims: tuple[JudgedClaim, ...]
    by_group: bool
    untitled: Untitled
    fields: Mapping[str, str]

    def sizes(self, measure: ClaimMeasure) -> Floats:
        """(C,) what each claim counts in the mean over answers of each answer's share; 0: it is in no share."""
        if measure == "recall":
            size = np.array([float(one.counts) for one in self.claims])
        else:
            size = np.array([float(len(one.question.cited) + one.failing) for one in self.claims])
            size = np.minimum(size, 1) if self.by_group else size
        answer = np.unique([one.answer.id for one in self.claims], return_inverse=True)[1]
        whole = np.bincount(answer, size)[answer]
        return np.where(whole > 0, size / np.maximum(whole, 1), 0.0)


def claims_of(answers: Sequence[Answer], pipeline: str) -> Claims:
    """The claims of answers. Raises `UserError` for an unknown pipeline, and for a parser that cannot be had."""
    reading = read_claims(pipeline, answers, measures=("length",))
    passages = {answer.id: answer for answer in answers}
    # Which marks count does not depend on what is said of them.
    lines = reading.lines(lambda pairs: [Verdict(True)] * len(pairs))
    found: list[JudgedClaim] = []
    items = 0
    numbered = [line for line in lines if line.claim_number is not None]
    for (own, number), group in groupby(numbered, key=lambda line: (line.answer, line.claim_number)):
        made = _claim(passages[own], number or 0, list(group), reading.untitled, items)
        items += len(made.items)
        found.append(made)
    return Claims(pipeline, tuple(found), reading.by_group, reading.untitled, reading.fields)


def _claim(answer: Answer, number: int, lines: Sequence[CitationLine], untitled: Untitled, first: int) -> JudgedClaim:
    cited = tuple(
        place
        for line in lines
        if line.state == "judged" and (place := find_place(line.citation, len(answer.passages))[0]) is not None
    )
    # All together, each alone, and the others without each: two of these may be one text.
    sets = [cited, *((one,) for one in cited), *(cited[:at] + cited[at + 1 :] for at in range(len(cited)))]
    own = writable(f"{answer.id}/{number}")
    names: dict[NliPair, str] = {}
    for places in filter(None, sets):
        marks = "".join(f"[{place + 1}]" for place in places)
        names.setdefault((premise([answer.passages[at] for at in places], untitled), lines[0].claim), own + marks)
    return JudgedClaim(
        id=own,
        answer=answer,
        question=ClaimQuestion(lines[0].claim, answer.passages, cited),
        items={pair: first + place for place, pair in enumerate(names)},
        names=tuple(names.values()),
        failing=sum(line.state == "fails" and line.precision is not None for line in lines),
        counts=lines[0].recall is not None,
    )
