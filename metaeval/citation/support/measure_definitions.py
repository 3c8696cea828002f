"""The measures of a set of answers under each published definition, from the levels of every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.citation.measures import AnswerShare, Statistic, micro
from metaeval.citation.support.measures import Statements, fact_pairs, trec_support
from metaeval.stats.influence import COUNTS

# The statements of every answer; None for a topic that a system has not answered.
AllStatements = Sequence[Statements | None]

# By measure, its values of the answers in order, whose mean is the measure; None where undefined.
Values = dict[str, list[float | None]]

_TREC: Mapping[str, tuple[bool, bool]] = {"": (False, False), "_all": (True, False), "_hard": (False, True)}


def trec_values(answers: AllStatements, soft: bool = False) -> Values:
    """Return TREC RAG's precision and recall of each answer: trec_precision and trec_recall, by first citations.

    With the ending _all by all citations, with _hard by full support alone (None if levels are `soft`). The other
    values are never missing: 0 for an answer that is missing.
    """
    values: Values = {}
    for name, (every, hard) in _TREC.items():
        pairs = [(0.0, 0.0) if answer is None else trec_support(answer, every, hard) for answer in answers]
        for measure, of_answers in zip(("precision", "recall"), zip(*pairs, strict=True), strict=True):
            # A soft score decides nothing, so that no support is hard.
            values[f"trec_{measure}{name}"] = [None if hard and soft else value for value in of_answers]
    return values


def fact_values(answers: AllStatements, soft: bool = False) -> tuple[Values, dict[str, Statistic]]:
    """Return FACT's accuracy of each task, and the numbers of the released code, which pool all tasks.

    Values: fact_paper is None, fact_paper_all 0, for a task without a judged pair; both are None for a missing answer.
    Statistics: fact_released is supported out of judged pairs of all tasks; fact_effective and fact_citations are
    supported and judged pairs per task that has a pair.
    """
    pairs = [(AnswerShare(0.0, 0), False) if answer is None else fact_pairs(answer, soft) for answer in answers]
    shares = [share for share, _ in pairs]
    tasks = [int(cites) for _, cites in pairs]
    both = zip(answers, shares, strict=True)
    values: Values = {
        "fact_paper": [share.value for share in shares],
        "fact_paper_all": [None if answer is None else share.value or 0.0 for answer, share in both],
    }
    effective = [AnswerShare(share.hits, cites) for share, cites in zip(shares, tasks, strict=True)]
    judged = [AnswerShare(share.total, cites) for share, cites in zip(shares, tasks, strict=True)]
    pooled = {"fact_effective": micro(effective, COUNTS), "fact_citations": micro(judged, COUNTS)}
    return values, {"fact_released": micro(shares), **pooled}
