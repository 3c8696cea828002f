"""The published measures of graded support, each a pure function of the levels of one answer.

A level weighs 1 (full support), 0.5 (partial) or 0 (none); a soft judge's is any share between them. None: no
judgement. Each function returns the hits and totals of one answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from metaeval.citation.measures import AnswerShare

Level = float | None
"""Weight of a level from 0 to 1; None where there is no judgement."""


@dataclass(frozen=True, slots=True)
class StatementLevels:
    """Levels of one statement of an answer (a sentence, a part, a fact).

    levels: of each citation, in the order of the text. sources: what each citation cites, equal for the same source.
    joint: level of all cited sources together. relevant: relevance (1 or 0) of each citation, where it was judged apart
    from the level. needed: whether a statement without a citation needs one. text: of the statement (empty ones
    differ).
    """

    levels: tuple[Level, ...] = ()
    sources: tuple[Hashable, ...] = ()
    joint: Level = None
    relevant: tuple[Level, ...] | None = None
    needed: bool | None = True
    text: str = ""

    def filled(self, level: float) -> StatementLevels:
        """Return the statement with this level, 0 or 1, in place of each missing judgement."""
        return replace(
            self,
            levels=_filled(self.levels, level),
            joint=level if self.joint is None else self.joint,
            relevant=self.relevant and _filled(self.relevant, level),
            needed=not level if self.needed is None else self.needed,
        )

    def relevance(self, soft: bool = False) -> tuple[Level, ...]:
        """Return `relevant` or, without it, whether each citation supports the statement at least in part, 1 or 0.

        None: not judged. soft: levels take the place of 1 and 0.
        """
        if self.relevant is not None:
            return self.relevant
        return self.levels if soft else tuple(None if level is None else float(level > 0) for level in self.levels)


Statements = Sequence[StatementLevels]
"""The statements of one answer, in order."""


def trec_support(answer: Statements, every: bool = False, hard: bool = False) -> tuple[AnswerShare, AnswerShare]:
    """Return TREC RAG's weighted precision and recall, by each sentence's first citation, or by all if `every`.

    A sentence's value is the mean level of its judged citations; hard: only full support counts. Precision divides by
    the sentences with a value, recall also by those without a citation. A sentence whose first citation (if `every`,
    all of whose citations) is not judged is in neither. Without a denominator the value is 0, never missing.

    Upadhyay et al. 2025 (arXiv 2504.15205); castorini/RAGDoll 1f06719.
    """
    values, uncited = [], 0
    for statement in answer:
        known = _known(statement.levels if every else statement.levels[:1])
        uncited += not statement.levels
        if known:
            values.append(fmean(float(level == 1) for level in known) if hard else fmean(known))
    return _or_zero(sum(values), len(values)), _or_zero(sum(values), len(values) + uncited)


def fact_pairs(answer: Statements, soft: bool = False) -> tuple[AnswerShare, bool]:
    """Return FACT's share of supported pairs among the judged ones, and whether the answer has any pair.

    A pair is a statement and a source; of equal pairs the first counts. Partial support counts as support, unless the
    levels are `soft`, which are summed as they are.

    Du et al. 2025 (DeepResearch Bench, arXiv 2506.11763); Ayanami0730/deep_research_bench 214741e.
    """
    pairs: dict[tuple[Hashable, Hashable], Level] = {}
    for number, statement in enumerate(answer):
        for source, level in zip(statement.sources, statement.relevance(soft), strict=True):
            pairs.setdefault((statement.text or number, source), level)
    known = _known(pairs.values())
    return AnswerShare(sum(known), len(known)), bool(pairs)


def longcite_shares(answer: Statements, most: int = 40, soft: bool = False) -> tuple[AnswerShare, AnswerShare]:
    """Return LongCite's citation recall over statements and precision over citations, of the first `most` statements.

    Recall: the level of a statement's citations together; without a citation 1 if it needs none, else 0. Precision: 1
    for a citation that is relevant, else 0 (see `StatementLevels.relevance`). What is not judged is left out. Without a
    denominator the value is 0; most=0 reads all statements.

    Zhang et al. 2024 (arXiv 2409.02897); THUDM/LongCite d7d772e.
    """
    read = answer[: most or None]
    recall = _known(
        statement.joint if statement.levels else None if statement.needed is None else float(not statement.needed)
        for statement in read
    )
    relevant = _known(level for statement in read for level in statement.relevance(soft))
    return _or_zero(sum(recall), len(recall)), _or_zero(sum(relevant), len(relevant))


def rag_eval_shares(answer: Statements) -> tuple[AnswerShare, AnswerShare]:
    """Return open-rag-eval's weighted precision over cited sources, and recall over the parts of the answer.

    Precision: the mean over distinct sources of the mean level of their citations. Recall: the mean over parts of the
    mean level of their citations, 0 for a part that cites nothing; a part without any judgement is left out. Without a
    denominator the value is 0. vectara/open-rag-eval dfc4175.
    """
    by_source: dict[Hashable, list[float]] = {}
    parts = []
    for statement in answer:
        known = _known(statement.levels)
        for source, level in zip(statement.sources, statement.levels, strict=True):
            if level is not None:
                by_source.setdefault(source, []).append(level)
        if known or not statement.levels:
            parts.append(fmean(known) if known else 0.0)
    precision = [fmean(levels) for levels in by_source.values()]
    return _or_zero(sum(precision), len(precision)), _or_zero(sum(parts), len(parts))


def _known(levels: Iterable[Level]) -> list[float]:
    return [level for level in levels if level is not None]


def _filled(levels: Sequence[Level], level: float) -> tuple[Level, ...]:
    return tuple(level if known is None else known for known in levels)


def _or_zero(hits: float, total: int) -> AnswerShare:
    return AnswerShare(hits, total) if total else AnswerShare(0.0, 1)
