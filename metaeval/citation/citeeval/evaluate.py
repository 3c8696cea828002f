"""CiteEval from responses to numbers: each statement, each response in both scenarios, and their means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.chat.opening import Ask
from metaeval.citation.citeeval.aggregate import ResponseValue, Scenario, mean_bounds, response_value
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.attribution import CONTEXTS, context_of
from metaeval.citation.citeeval.editdist import PUBLISHED, Coefficients
from metaeval.citation.citeeval.editing import Edit, edit_problems
from metaeval.citation.citeeval.judge import Judged, judge_responses
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions
from metaeval.citation.citeeval.rating import Value, both, by_edits, by_rating
from metaeval.citation.citeeval.splitting import Split, Statement, split_response
from metaeval.citation.measures import Estimate, estimate, group_codes, means
from metaeval.citation.model import Answer, Mark
from metaeval.citation.sentences import RULES, SentenceSplitter

Measure = Literal["rating", "edits", "auto"]
"""IterCoE, EditDist and their mean, CiteEval-Auto."""

MEASURES: tuple[Measure, ...] = ("rating", "edits", "auto")
SCENARIOS: tuple[Scenario, ...] = ("full", "cited")


@dataclass(frozen=True, slots=True)
class StatementValues:
    """A statement, what the judge said of it, and its values.

    context: in words, as the values were made with it; None: missing. edits, stars: None where the judge gave none.
    """

    statement: Statement
    context: str | None
    edits: tuple[Edit, ...] | None
    stars: int | None
    values: Mapping[Measure, Value]


@dataclass(frozen=True, slots=True)
class ResponseValues:
    """A response: its statements, its value by measure and scenario, and what became of the two questions about it.

    unread: its marks that belong to no statement.
    """

    answer: str
    statements: tuple[StatementValues, ...]
    values: Mapping[tuple[Measure, Scenario], ResponseValue]
    judged: Judged
    no_answer: bool
    passages: int
    unread: tuple[Mark, ...] = ()


def evaluate(
    answers: Sequence[Answer],
    ask: Ask,
    asking: Asking,
    options: CiteEvalOptions = PAPER,
    splitter: SentenceSplitter = RULES,
    coefficients: Coefficients = PUBLISHED,
) -> list[ResponseValues]:
    """Split, ask, read and rate: one result per answer, in order."""
    splits = [split_response(answer, options, splitter) for answer in answers]
    return evaluate_splits(answers, splits, ask, asking, options, coefficients)


def evaluate_splits(
    answers: Sequence[Answer],
    splits: Sequence[Split],
    ask: Ask,
    asking: Asking,
    options: CiteEvalOptions = PAPER,
    coefficients: Coefficients = PUBLISHED,
) -> list[ResponseValues]:
    """The same for answers whose statements are given, such as published ones."""
    judged = judge_responses(answers, splits, ask, asking, options)
    return [
        values_of(answer, split, own, options, coefficients)
        for answer, split, own in zip(answers, splits, judged, strict=True)
    ]


def values_of(
    answer: Answer,
    split: Split,
    judged: Judged,
    options: CiteEvalOptions = PAPER,
    coefficients: Coefficients = PUBLISHED,
) -> ResponseValues:
    """The values of one response, from what the judge said of it."""
    statements = tuple(_statement(answer, one, judged, options, coefficients) for one in split.statements)
    cited = [bool(one.citations) for one in split.statements]
    values = {
        (measure, scenario): response_value([one.values[measure] for one in statements], cited, scenario, options)
        for measure in MEASURES
        for scenario in SCENARIOS
    }
    return ResponseValues(answer.id, statements, values, judged, split.no_answer, len(answer.passages), split.unread)


def estimates(
    answers: Sequence[Answer],
    results: Sequence[ResponseValues],
    scenario: Scenario = "full",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[Measure, Estimate]:
    """The mean of each measure over the responses that have it, the others counted; intervals draw groups."""
    group, n_groups = group_codes(answers)
    return {
        measure: estimate(
            means([one.values[measure, scenario].value for one in results]), group, n_groups, resamples, seed, level
        )
        for measure in MEASURES
    }


def bounds(
    results: Sequence[ResponseValues], measure: Measure, scenario: Scenario = "full"
) -> tuple[float | None, float | None]:
    """The least and the most that the mean over responses could be, were nothing missing; None: undefined.

    The mean of what was judged can lie outside: it is over other responses, or over fewer of their statements.
    """
    values = [one.values[measure, scenario] for one in results]
    return mean_bounds([(value.least, value.most) for value in values if value.least is not None])


def counts(results: Sequence[ResponseValues]) -> dict[str, int]:
    """What was asked and came of it, over all responses: questions by state, and problems inside the replies.

    The problems of edits (see `edit_problems`) are among them; for marks that cite nothing see `unread_marks`.
    """
    found: Counter[str] = Counter()
    for result in results:
        found.update({f"questions: {state}": count for state, count in result.judged.states.items()})
        found.update({f"problems: {name}": count for name, count in result.judged.problems.items()})
        found["responses without an answer"] += result.no_answer
        for one in result.statements:
            passages = range(1, result.passages + 1)
            if one.statement.citations and one.edits is not None:
                found.update(
                    f"edits: {problem}" for problem in edit_problems(one.statement.citations, one.edits, passages)
                )
            found["statements missing a value"] += one.values["auto"].state == "missing"
    return dict(sorted((+found).items()))


def _statement(
    answer: Answer, statement: Statement, judged: Judged, options: CiteEvalOptions, coefficients: Coefficients
) -> StatementValues:
    context = context_of(judged.contexts.get(statement.number), options)
    edits, stars = judged.edits.get(statement.number), judged.stars.get(statement.number)
    rating = by_rating(statement.citations, context, stars, options)
    distance = by_edits(statement.citations, context, edits, options, len(answer.passages), coefficients)
    return StatementValues(
        statement,
        None if context is None else CONTEXTS[context],
        edits,
        stars,
        {"rating": rating, "edits": distance, "auto": both(rating, distance, options.weight)},
    )
