"""The published measures of graded support, each a pure function of the levels of one answer.

A level weighs 1 (full support), 0.5 (partial) or 0 (none); a soft judge's is any share between them. None: no
judgement. Each function returns the hits and totals of one answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

from metaeval.citation.measures import AnswerShare

# Weight of a level from 0 to 1; None where there is no judgement.
Level = float | None


@dataclass(frozen=True, slots=True)
class StatementLevels:
    """Levels of one statement of an answer (a sentence, a part, a fact).

    levels: of each citation, in the order of the text. sources: what each citation cites, equal for the same source.
    text: of the statement (empty ones differ).
    """

    levels: tuple[Level, ...] = ()
    sources: tuple[Hashable, ...] = ()
    text: str = ""


# The statements of one answer, in order.
Statements = Sequence[StatementLevels]


def trec_support(answer: Statements, every: bool, hard: bool) -> tuple[float, float]:
    """Return TREC RAG's weighted precision and recall, by each sentence's first citation, or by all if `every`.

    A sentence's value is the mean level of its judged citations; hard: only full support counts. Precision divides by
    the sentences with a value, recall also by those without a citation. A sentence whose first citation (if `every`,
    all of whose citations) is not judged is in neither. Without a denominator the value is 0, never missing.

    Upadhyay et al. 2025 (arXiv 2504.15205); castorini/RAGDoll 1f06719.
    """
    values, uncited = [], 0
    for statement in answer:
        levels = statement.levels if every else statement.levels[:1]
        known = [level for level in levels if level is not None]
        uncited += not statement.levels
        if known:
            values.append(fmean(float(level == 1) for level in known) if hard else fmean(known))
    least = len(values)
    return (sum(values) / least if least else 0.0), (sum(values) / (least + uncited) if least + uncited else 0.0)


def fact_pairs(answer: Statements, soft: bool = False) -> tuple[AnswerShare, bool]:
    """Return FACT's share of supported pairs among the judged ones, and whether the answer has any pair.

    A pair is a statement and a source; of equal pairs the first counts. Partial support counts as support, unless the
    levels are `soft`, which are summed as they are.

    Du et al. 2025 (DeepResearch Bench, arXiv 2506.11763); Ayanami0730/deep_research_bench 214741e.
    """
    pairs: dict[tuple[Hashable, Hashable], Level] = {}
    for number, statement in enumerate(answer):
        for source, level in zip(statement.sources, statement.levels, strict=True):
            supported = level if soft or level is None else float(level > 0)
            pairs.setdefault((statement.text or number, source), supported)
    known = [level for level in pairs.values() if level is not None]
    return AnswerShare(sum(known), len(known)), bool(pairs)
