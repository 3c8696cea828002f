"""Baselines that CiteEval is compared with: values of statements and responses with bounds, and AutoAIS.

A value that a missing verdict leaves open is None, and comes with the least and the most that it can be, and with a
point between them that the values like it suggest.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from metaeval.citation.citeeval.splitting import Split, Statement
from metaeval.citation.citeeval.values import Scenario
from metaeval.citation.measures import f1
from metaeval.citation.model import Answer, Entails
from metaeval.citation.table import Judgement, Question, judge, needed

Baseline = Literal["lqac", "attrscore"]
"""Those that a chat model can judge. AutoAIS is judged by a metric."""

BASELINES: tuple[Baseline, ...] = get_args(Baseline)


@dataclass(frozen=True, slots=True)
class Open:
    """A value in [0, 1], or None with its bounds: undefined if they are None as well, else missing.

    point: the value, or between its bounds what the values like it suggest (see `supposed`); None where nothing does.
    """

    value: float | None
    least: float | None = None
    most: float | None = None
    point: float | None = field(default=None, compare=False)


def known(value: float) -> Open:
    """A value that nothing is missing of."""
    return Open(value, value, value, value)


UNDEFINED = Open(None)


def between(least: float, most: float, point: float | None = None) -> Open:
    """A value of which the bounds are known, and perhaps a point; where they meet, the value is."""
    if least == most:
        return known(least)
    return Open(None, least, most, None if point is None else min(max(point, least), most))


Triple = Mapping[str, Open]
"""Citation precision, recall and F1 of a statement or a response, in [0, 1], by name."""

TRIPLE = ("precision", "recall", "f1")


def triple(precision: Open, recall: Open) -> Triple:
    """The triple of a precision and a recall. F1 rises with both, so that its bounds are those of theirs."""
    if precision.least is None or precision.most is None or recall.least is None or recall.most is None:
        return dict.fromkeys(TRIPLE, UNDEFINED)
    sure = precision.point is not None and recall.point is not None
    both = between(
        f1(precision.least, recall.least) or 0.0,
        f1(precision.most, recall.most) or 0.0,
        (f1(precision.point, recall.point) or 0.0) if sure else None,
    )
    return {"precision": precision, "recall": recall, "f1": both}


def autoais(answers: Sequence[Answer], splits: Sequence[Split], entails: Entails) -> list[list[Triple]]:
    """AutoAIS of each statement of each response, from entailment verdicts that are asked for in three batches.

    Recall: 1 if the cited passages together entail the statement, else 0. Precision: the mean over its citations of
    1 if recall is 1 and the citation is needed (see `premises.needed`), else 0. Both are 0 without a
    citation. A citation of a passage that does not exist supports nothing. Gao et al. 2023 (ALCE); aggregated as
    CiteEval does.
    Raises ValueError if the lengths differ.
    """
    pairs = list(zip(answers, splits, strict=True))
    questions = [
        Question(one.text, answer.passages, tuple(n - 1 for n in one.citations if 1 <= n <= len(answer.passages)))
        for answer, split in pairs
        for one in split.statements
    ]
    judged = iter(judge(questions, entails))
    return [[_triple(one, next(judged)) for one in split.statements] for _, split in pairs]


def response_value(values: Sequence[Open], cited: Sequence[bool], scenario: Scenario = "full") -> Open:
    """The value of a response: the mean over all its statements, or over those with citations.

    Missing if one of them is, undefined without any statement; in the scenario "cited", a response none of whose
    statements cites anything is 0, as CiteEval publishes: what it rests on no baseline knows.
    Raises ValueError if the lengths differ.
    """
    used = [one for one, has in zip(values, cited, strict=True) if has or scenario == "full"]
    if not used:
        return known(0.0) if values else UNDEFINED
    return mean(used)


def response_triple(
    triples: Sequence[Triple], cited: Sequence[bool] | None = None, scenario: Scenario = "full"
) -> Triple:
    """Precision, recall and F1 of a response: each the mean of its statements' own; see `response_value`.

    cited: which of the statements have citations; needed for the scenario "cited" alone.
    Raises ValueError if the lengths differ.
    """
    has = [True] * len(triples) if cited is None else cited
    if cited is None and scenario == "cited":
        raise ValueError("in the scenario 'cited' it must be known which statements have citations")
    return {name: response_value([one[name] for one in triples], has, scenario) for name in TRIPLE}


def mean(values: Sequence[Open]) -> Open:
    """The mean of values none of which is undefined; missing if one of them is. Undefined without any."""
    least = [one.least for one in values if one.least is not None]
    most = [one.most for one in values if one.most is not None]
    if not values or len(least) < len(values) or len(most) < len(values):
        return UNDEFINED
    # Each known value is both of its bounds, so that the same sum is divided by the same number.
    points = [one.point for one in values if one.point is not None]
    point = sum(points) / len(points) if len(points) == len(values) else None
    return between(sum(least) / len(least), sum(most) / len(most), point)


def supposed(values: Sequence[Sequence[Open]], kinds: Sequence[Sequence[Hashable]]) -> list[list[Open]]:
    """The values with a point for those without one: the mean of the points of its kind, within the value's bounds.

    values: of the statements, or citations, of each response; kinds: of each of them. Where nothing is known of a kind,
    its values stay without a point. Raises ValueError if the lengths differ.
    """
    points: dict[Hashable, list[float]] = {}
    pairs = [list(zip(own, of, strict=True)) for own, of in zip(values, kinds, strict=True)]
    for one, kind in (pair for own in pairs for pair in own):
        if one.point is not None:
            points.setdefault(kind, []).append(one.point)
    middle = {kind: sum(own) / len(own) for kind, own in points.items()}

    def with_point(one: Open, kind: Hashable) -> Open:
        if one.point is not None or one.least is None or one.most is None:
            return one
        return between(one.least, one.most, middle.get(kind))

    return [[with_point(*pair) for pair in own] for own in pairs]


def _triple(statement: Statement, judgement: Judgement) -> Triple:
    if judgement.joint is None:
        return triple(known(0.0), known(0.0))
    share = len(judgement.alone) / len(statement.citations)
    if judgement.joint.entailed is None:
        return triple(between(0.0, share), between(0.0, 1.0))
    if not judgement.joint.entailed:
        return triple(known(0.0), known(0.0))
    hits = [needed(alone, rest) for alone, rest in zip(judgement.alone, judgement.rest, strict=True)]
    hits = [True] if len(hits) == 1 else hits
    # A citation of a passage that does not exist is no hit.
    nowhere = [known(0.0)] * (len(statement.citations) - len(hits))
    return triple(
        mean([*(between(0.0, 1.0) if hit is None else known(float(hit)) for hit in hits), *nowhere]), known(1.0)
    )
