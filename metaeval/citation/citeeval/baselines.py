"""Other judges' words as values of statements and responses, as CiteEval compares itself with: AutoAIS, AttrScore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.measures import f1
from metaeval.citation.model import Answer, Entails
from metaeval.citation.waves import Judgement, Question, judge, needed

_ATTRSCORE = {"Attributable": 1.0, "Contradictory": 0.0}


@dataclass(frozen=True, slots=True)
class Triple:
    """Citation precision, recall and F1 of a statement or a response, in [0, 1]; None where a verdict is missing."""

    precision: float | None
    recall: float | None
    f1: float | None


def autoais(answers: Sequence[Answer], splits: Sequence[Split], entails: Entails) -> list[list[Triple]]:
    """AutoAIS of each statement of each response, from entailment verdicts that are asked for in three batches.

    Recall: 1 if the cited passages together entail the statement, else 0. Precision: the mean over its citations of
    1 if recall is 1 and the citation is needed (see `waves.needed`), else 0. Both are 0 without a citation. A citation
    of a passage that does not exist supports nothing. Gao et al. 2023 (ALCE); aggregated as CiteEval does.
    Raises ValueError if the lengths differ.
    """
    pairs = list(zip(answers, splits, strict=True))
    questions = [
        Question(one.text, answer.passages, tuple(_places(one, answer)))
        for answer, split in pairs
        for one in split.statements
    ]
    judged = iter(judge(questions, entails))
    return [[_triple(one, next(judged)) for one in split.statements] for _, split in pairs]


def response_mean(values: Sequence[float | None]) -> float | None:
    """The value of a response: the mean over all its statements; None without any, or if one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def response_triple(triples: Sequence[Triple]) -> Triple:
    """Precision, recall and F1 of a response: each the mean of its statements' own."""
    return Triple(
        response_mean([one.precision for one in triples]),
        response_mean([one.recall for one in triples]),
        response_mean([one.f1 for one in triples]),
    )


def attrscore(
    labels: Sequence[str],
    mode: Literal["strict", "relaxed"] = "strict",
    otherwise: Literal["missing", "attributable"] = "missing",
) -> float | None:
    """AttrScore of a statement from the labels of its citations: their mean worth, and 0 without a citation.

    Attributable is worth 1, Contradictory 0, Extrapolatory 0 (strict) or 0.5 (relaxed). otherwise: any other label
    makes the statement's value missing, or is taken for Attributable, as the released code does.
    """
    worths = [_worth(label, mode, otherwise) for label in labels]
    return response_mean(worths) if worths else 0.0


def _worth(label: str, mode: str, otherwise: str) -> float | None:
    if label == "Extrapolatory":
        return 0.5 if mode == "relaxed" else 0.0
    return _ATTRSCORE.get(label, 1.0 if otherwise == "attributable" else None)


def _places(statement: Statement, answer: Answer) -> list[int]:
    return [number - 1 for number in statement.citations if 1 <= number <= len(answer.passages)]


def _triple(statement: Statement, judgement: Judgement) -> Triple:
    if judgement.joint is None:
        return Triple(0.0, 0.0, 0.0)
    if judgement.joint.entailed is None:
        return Triple(None, None, None)
    recall = float(judgement.joint.entailed)
    hits = [recall] if len(judgement.alone) == 1 or not recall else _needed(judgement)
    known = [hit for hit in hits if hit is not None]
    precision = sum(known) / len(statement.citations) if len(known) == len(hits) else None
    return Triple(precision, recall, f1(precision, recall))


def _needed(judgement: Judgement) -> list[float | None]:
    found = [needed(alone, rest) for alone, rest in zip(judgement.alone, judgement.rest, strict=True)]
    return [None if one is None else float(one) for one in found]
