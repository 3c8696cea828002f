"""The measures of a set of answers under each published definition, from the levels of every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from metaeval.citation.measures import AnswerShare, Statistic, f1, micro
from metaeval.citation.support.measures import Statements, fact_pairs, longcite_shares, rag_eval_shares, trec_support
from metaeval.stats.arrays import Floats, ratio
from metaeval.stats.influence import COUNTS, SHARES

AllStatements = Sequence[Statements | None]
"""The statements of every answer; None for a topic that a system has not answered."""

Values = dict[str, list[float | None]]
"""By measure, its values of the answers in order, whose mean is the measure; None where undefined."""

SupportValues = tuple[Values, dict[str, Statistic]]
"""Values of each answer, and the statistics of all answers that are not means of such values; each by measure."""

_TREC: Mapping[str, tuple[bool, bool]] = {"": (False, False), "_all": (True, False), "_hard": (False, True)}


def trec_values(answers: AllStatements, soft: bool = False) -> Values:
    """Return TREC RAG's precision and recall of each answer: trec_precision and trec_recall, by first citations.

    With the ending _all by all citations, with _hard by full support alone (None if levels are `soft`). The other
    values are never missing: 0 for an answer that is missing.
    """
    values: Values = {}
    for name, (every, hard) in _TREC.items():
        pairs = _pairs(answers, partial(trec_support, every=every, hard=hard))
        for measure, of_answers in zip(("precision", "recall"), zip(*pairs, strict=True), strict=True):
            # A soft score decides nothing, so that no support is hard.
            values[f"trec_{measure}{name}"] = [None if hard and soft else value or 0.0 for value in of_answers]
    return values


def fact_values(answers: AllStatements, soft: bool = False) -> SupportValues:
    """Return FACT's accuracy of each task, and the numbers of the released code, which pool all tasks.

    Values: fact_paper is None, fact_paper_all 0, for a task without a judged pair; both are None for a missing answer.
    Statistics: fact_released is supported out of judged pairs of all tasks; fact_effective and fact_citations are
    supported and judged pairs per task that has a pair.
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
    """Return LongCite's recall, precision and F1 of each answer. most: see `longcite_shares`."""
    return _with_f1("longcite", _pairs(answers, partial(longcite_shares, most=most, soft=soft)))


def rag_eval_values(answers: AllStatements) -> Values:
    """Return open-rag-eval's recall, precision and F1 of each answer."""
    return _with_f1("rag_eval", [pair[::-1] for pair in _pairs(answers, rag_eval_shares)])


AnswerPair = tuple[float | None, float | None]
"""Two values of one answer, in the order in which their measures are named; None where undefined."""


def _pairs(answers: AllStatements, shares: Callable[[Statements], tuple[AnswerShare, AnswerShare]]) -> list[AnswerPair]:
    none = AnswerShare(0.0, 0)
    both = ((none, none) if answer is None else shares(answer) for answer in answers)
    return [(first.value, other.value) for first, other in both]


def _with_f1(name: str, pairs: Sequence[AnswerPair]) -> Values:
    return {
        f"{name}_recall": [recall for recall, _ in pairs],
        f"{name}_precision": [precision for _, precision in pairs],
        f"{name}_f1": [f1(precision, recall) for recall, precision in pairs],
    }


def citation_length(texts: Sequence[Sequence[str]], count: Callable[[str], int]) -> Statistic:
    """Return the mean length (by `count`) of cited texts. texts: of each answer, one text for each citation."""
    return micro([AnswerShare(float(sum(map(count, each))), len(each)) for each in texts], COUNTS)


def mean_of_sets(values: Sequence[float | None], sets: Sequence[str], known: Sequence[str] = ()) -> Statistic:
    """Return the mean over data sets of the means of their values; NaN where one of the sets has no value.

    values, sets: (n,) of the answers; None: left out. known: the sets that are averaged (default: all in `sets`).
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
