"""Claims as ALCE and ALiiCE read them: the questions about each claim, and its recall and precision by any judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from metaeval.citation.alce.citations import read_alce
from metaeval.citation.aliice.citation_lines import read_aliice
from metaeval.citation.citation_table import (
    CitationLine,
    ClaimQuestion,
    Untitled,
    find_place,
    judge,
    mark_precision,
    premise,
)
from metaeval.citation.data_model import Answer, NliPair, Verdict, writable
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.stats.arrays import Floats

ClaimMeasure = Literal["recall", "precision"]

# Returns whether the item of an index is fully supported; None if the item has no verdict or label.
ItemJudge = Callable[[int], bool | None]


@dataclass(frozen=True, slots=True)
class ClaimQuestions:
    """A claim and the items (pairs of passages and claim) whose labels decide its recall and precision.

    items: numbers of the items, among those of all claims, by (premise, claim), where the premise is all of the claim's
    passages, each one alone, or all but one. names: ids of these items, in the same order. failing: number of marks
    that count as imprecise whatever the labels. counts: whether recall counts the claim.
    """

    id: str
    answer: Answer
    question: ClaimQuestion
    items: Mapping[NliPair, int]
    names: tuple[str, ...]
    failing: int
    counts: bool

    def value(self, measure: ClaimMeasure, says: ItemJudge, untitled: Untitled) -> float | None:
        """Return the claim's recall (0 or 1) or the mean precision of its marks, by the verdicts of `says`.

        0 for a claim without a passage; None if a necessary verdict is missing.
        """
        verdicts = {pair: Verdict(says(item)) for pair, item in self.items.items()}
        ((joint, alone, rest),) = judge([self.question], lambda pairs: [verdicts[pair] for pair in pairs], untitled)
        if joint is None:
            return 0.0
        if measure == "recall":
            return None if joint.entailed is None else float(joint.entailed)
        many = len(self.question.cited)
        precisions = [mark_precision(joint, *both, many)[0] for both in zip(alone, rest, strict=True)]
        known = [precision for precision in precisions if precision is not None]
        return None if len(known) < many else sum(known) / (many + self.failing)

    def degree(self, measure: ClaimMeasure, score: Floats, untitled: Untitled) -> float:
        """Return a metric's score of all passages together (recall), or the mean of those of each alone (precision).

        score: (N,) of all items. A failing mark counts in the mean with the lowest score of all items.
        """
        if measure == "recall":
            return float(score[min(self.items.values())])
        alone = [(premise([self.question.passages[at]], untitled), self.question.claim) for at in self.question.cited]
        return float(np.mean([score[self.items[pair]] for pair in alone] + [score.min()] * self.failing))


@dataclass(frozen=True, eq=False)
class Claims:
    """All claims of a file, in order, as a pipeline with its paper's profile reads them.

    by_group: whether an answer's precision is the mean over its citation groups, and not over its citations. untitled:
    how passages without a title are written. fields: those of the pipeline in signatures.
    """

    pipeline: str
    claims: tuple[ClaimQuestions, ...]
    by_group: bool
    untitled: Untitled
    fields: Mapping[str, str]

    def sizes(self, measure: ClaimMeasure) -> Floats:
        """Return the weight of each claim in its answer's share, (C,): in each answer they sum to 1, or all are 0."""
        if measure == "recall":
            size = np.array([float(claim.counts) for claim in self.claims])
        else:
            size = np.array([float(len(claim.question.cited) + claim.failing) for claim in self.claims])
            size = np.minimum(size, 1) if self.by_group else size
        answer = np.unique([claim.answer.id for claim in self.claims], return_inverse=True)[1]
        whole = np.bincount(answer, size)[answer]
        return np.where(whole > 0, size / np.maximum(whole, 1), 0.0)


def claims_of(answers: Sequence[Answer], pipeline: str) -> Claims:
    """Return the claims of answers as a pipeline reads them.

    Raises `UserError` for a parser that is not installed.
    """
    reading = (read_alce if pipeline == "alce" else read_aliice)(answers, splitter=find_sentence_splitter())
    passages = {answer.id: answer for answer in answers}
    # Which marks count does not depend on the verdicts.
    lines, _ = reading.judge(lambda pairs: [Verdict(True)] * len(pairs))
    claims: list[ClaimQuestions] = []
    items = 0
    numbered = [line for line in lines if line.claim_number is not None]
    for (answer_id, number), group in groupby(numbered, key=lambda line: (line.answer, line.claim_number)):
        name, untitled = writable(f"{answer_id}/{number}"), reading.profile.untitled
        claims.append(_claim(passages[answer_id], name, list(group), untitled, items))
        items += len(claims[-1].items)
    return Claims(pipeline, tuple(claims), reading.profile.by_group, reading.profile.untitled, reading.fields)


def _claim(
    answer: Answer, claim_id: str, lines: Sequence[CitationLine], untitled: Untitled, first: int
) -> ClaimQuestions:
    judged = (line.citation for line in lines if line.state == "judged")
    found_at = (find_place(citation, len(answer.passages))[0] for citation in judged)
    cited = tuple(place for place in found_at if place is not None)
    # All passages together, each alone, and the others without each; two of these may be the same text.
    sets = [cited, *((place,) for place in cited), *(cited[:at] + cited[at + 1 :] for at in range(len(cited)))]
    names: dict[NliPair, str] = {}
    for places in filter(None, sets):
        marks = "".join(f"[{place + 1}]" for place in places)
        names.setdefault((premise([answer.passages[at] for at in places], untitled), lines[0].claim), claim_id + marks)
    return ClaimQuestions(
        id=claim_id,
        answer=answer,
        question=ClaimQuestion(lines[0].claim, answer.passages, cited),
        items={pair: first + place for place, pair in enumerate(names)},
        names=tuple(names.values()),
        failing=sum(line.state == "fails" and line.precision is not None for line in lines),
        counts=lines[0].recall is not None,
    )
