"""The measures of a set of answers under each published definition, from the levels of every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from metaeval.citation.measures import AnswerShare, Statistic, f1, micro
from metaeval.citation.support.measures import (
    Statements,
    fact_pairs,
    longcite_shares,
    rag_eval_shares,
    trec_support,
)
from metaeval.stats.arrays import Floats, ratio
from metaeval.stats.influence import COUNTS, SHARES

AllStatements = Sequence[Statements | None]
"""The statements of every answer; None for a topic that a system has not answered."""

Values = dict[str, list[float | None]]
"""Values of each answer by measure, whose mean over answers is the measure; None where undefined."""

Measured = tuple[Values, dict[str, Statistic]]
"""Values of each answer, and statistics of all answers that are not their means, by measure."""

_TREC: Mapping[str, tuple[bool, bool]] = {"": (False, False), "_all": (True, False), "_hard": (False, True)}


def trec_values(answers: AllStatements, soft: bool = False) -> Values:
    """Return TREC RAG's precision and recall of each answer: of first citations, of all, and hard; 0 where missing."""
    values: Values = {}
    for name, (every, hard) in _TREC.items():
        pairs = [None if answer is None else trec_support(answer, every, hard) for answer in answers]
        for place, measure in enumerate(("precision", "recall")):
            undefined = hard and soft  # a soft score decides nothing
            values[f"trec_{measure}{name}"] = [
                None if undefined else 0.0 if pair is None else pair[place].value for pair in pairs
            ]
    return values


def fact_values(answers: AllStatements, soft: bool = False) -> Measured:
    """Return FACT's accuracy of each task, and the numbers of the released code, which pool all tasks.

    fact_paper: of tasks with a judged pair; fact_paper_all: 0 for the other tasks. fact_released: supported out of
    judged pairs of all tasks. fact_effective, fact_citations: supported and judged pairs per task with citations.
    """
    pairs = [(AnswerShare(0.0, 0), False) if answer is None else fact_pairs(answer, soft) for answer in answers]
    shares = [share for share, _ in pairs]
    tasks = [int(cites) for _, cites in pairs]
    values: Values = {
        "fact_paper": [share.value for share in shares],
        "fact_paper_all": [
            None if answer is None else share.value or 0.0 for answer, share in zip(answers, shares, strict=True)
        ],
    }
    effective = [AnswerShare(share.hits, cites) for share, cites in zip(shares, tasks, strict=True)]
    judged = [AnswerShare(share.total, cites) for share, cites in zip(shares, tasks, strict=True)]
    pooled = {"fact_effective": micro(effective, COUNTS), "fact_citations": micro(judged, COUNTS)}
    return values, {"fact_released": micro(shares), **pooled}


def longcite_values(answers: AllStatements, soft: bool = False, most: int = 40) -> Values:
    """Return LongCite's recall, precision and F1 of each answer."""
    pairs = [None if answer is None else longcite_shares(answer, most, soft) for answer in answers]
    return _with_f1("longcite", [(None, None) if pair is None else (pair[0].value, pair[1].value) for pair in pairs])


def rag_eval_values(answers: AllStatements) -> Values:
    """Return open-rag-eval's recall, precision and F1 of each answer."""
    pairs = [None if answer is None else rag_eval_shares(answer) for answer in answers]
    return _with_f1("rag_eval", [(None, None) if pair is None else (pair[1].value, pair[0].value) for pair in pairs])


def _with_f1(name: str, pairs: Sequence[tuple[float | None, float | None]]) -> Values:
    return {
        f"{name}_recall": [recall for recall, _ in pairs],
        f"{name}_precision": [precision for _, precision in pairs],
        f"{name}_f1": [f1(precision, recall) for recall, precision in pairs],
    }


def citation_length(texts: Sequence[Sequence[str]], count: Callable[[str], int]) -> Statistic:
    """Return the mean length of the cited texts of all answers; texts: those of each answer, once for each citation."""
    return micro([AnswerShare(float(sum(map(count, each))), len(each)) for each in texts], COUNTS)


def mean_of_sets(values: Sequence[float | None], sets: Sequence[str], known: Sequence[str] = ()) -> Statistic:
    """Return the mean over data sets of the means of their values; NaN where a set of `known` (default: all) has none.

    values, sets: (n,) of the answers.
    """
    names = list(known or dict.fromkeys(sets))
    there = np.array([value is not None for value in values])[:, None] & np.array(
        [[s == n for n in names] for s in sets]
    )
    filled = np.array([value or 0.0 for value in values])[:, None] * there

    def of(sums: Floats) -> Floats:
        return np.asarray(ratio(sums[: len(names)], sums[len(names) :]).mean(axis=0))

    return Statistic(np.concatenate((filled, there), axis=1), of, there.sum(axis=1).astype(np.float64), SHARES)


def scaled(statistic: Statistic, factor: float) -> Statistic:
    """Return a share times a factor: a mean over topics, divided by another number of topics."""
    ends = SHARES if factor <= 1 else COUNTS
    return replace(statistic, of=lambda sums: statistic.of(sums) * factor, ends=ends)
