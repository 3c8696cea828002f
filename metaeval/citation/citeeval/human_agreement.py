"""CiteEval's values held against people's: which statements and responses can be compared, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.citeeval.aggregate import Scenario
from metaeval.citation.citeeval.attribution import CONTEXTS, RETRIEVAL
from metaeval.citation.citeeval.bench import ANNOTATORS, HumanStatement, judged_as
from metaeval.citation.citeeval.evaluate import Measure, ResponseValues
from metaeval.citation.citeeval.metaevaluation import (
    Correlation,
    Name,
    Values,
    agreement_ratings,
    context_agreement,
    correlations,
    human_needs_citation,
    human_rating,
    response_rating,
    settled,
    statement_columns,
)
from metaeval.citation.measures import group_codes
from metaeval.citation.model import Answer
from metaeval.errors import UserError
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.stats.arrays import Bools

People = Mapping[str, Sequence[HumanStatement]]
"""The human judgements by sample; the samples' names are the ids of the answers."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Correlations over all statements, and over responses; how many of each, and how many a missing value left out."""

    statements: Mapping[Name, Correlation]
    responses: Mapping[Name, Correlation]
    n_statements: int
    n_responses: int
    statements_left_out: int
    responses_left_out: int


def agreement(
    answers: Sequence[Answer],
    results: Sequence[ResponseValues],
    people: People,
    measure: Measure = "auto",
    scenario: Scenario = "full",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Agreement:
    """How far a measure agrees with people's ratings; intervals draw groups of answers.

    A statement that needs no rating takes its response's, on each side by itself, as published. A response with a
    value that is missing because of the judge is left out, with each of its statements that has none of its own.
    Raises `UserError` if an answer has no human judgements, or its statements or citations are not those judged.
    """
    own_people = {result.answer: _human(result, people) for result in results}
    ours = [[one.values[measure] for one in result.statements] for result in results]
    return agreement_of(
        answers,
        [[one.value for one in own] for own in ours],
        [[one.state == "missing" for one in own] for own in ours],
        [[bool(one.statement.citations) for one in result.statements] for result in results],
        own_people,
        scenario,
        resamples,
        seed,
        level,
    )


def agreement_of(
    answers: Sequence[Answer],
    ours: Sequence[Values],
    missing: Sequence[Sequence[bool]],
    cited: Sequence[Sequence[bool]],
    people: People,
    scenario: Scenario = "full",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Agreement:
    """The same for any values of the statements that people judged, of each answer in order.

    missing: whether a statement's value is, because of a judge. cited: whether it has a citation. In the scenario
    "cited" the others are masked first, and it does not matter whether their values are missing.
    Raises ValueError if the lengths differ.
    """
    theirs = [[human_rating(one.ratings) for one in people[answer.id]] for answer in answers]
    group, _ = group_codes(answers)
    score, gold, response = statement_columns(ours, theirs, cited, scenario)
    found = [settled(*one, scenario) for one in zip(ours, missing, cited, strict=True)]
    kept: Bools = np.array([one for own, _ in found for one in own], dtype=np.bool_)
    known: Bools = np.array([whole for _, whole in found], dtype=np.bool_)
    whole = np.array([response_rating(own, has, scenario) for own, has in zip(ours, cited, strict=True)])
    people_whole = np.array([response_rating(own, has, scenario) for own, has in zip(theirs, cited, strict=True)])
    return Agreement(
        statements=correlations(score[kept], gold[kept], group[response][kept], resamples, seed, level),
        responses=correlations(whole[known], people_whole[known], group[known], resamples, seed, level),
        n_statements=int(kept.sum()),
        n_responses=int(known.sum()),
        statements_left_out=int((~kept).sum()),
        responses_left_out=int((~known).sum()),
    )


def agreement_on_contexts(
    results: Sequence[ResponseValues], people: People, forced: bool = True
) -> dict[str, float | None]:
    """Precision, recall and F1 of the judge's "needs a citation"; see `context_agreement`."""
    judged: list[bool | None] = []
    human: list[bool | None] = []
    cited: list[bool] = []
    for result in results:
        for one, own in zip(result.statements, _human(result, people), strict=True):
            judged.append(None if one.context is None else one.context == CONTEXTS[RETRIEVAL])
            human.append(human_needs_citation(own.contexts))
            cited.append(bool(one.statement.citations))
    return context_agreement(judged, human, cited, forced)


def annotator_agreement(people: People) -> dict[str, float]:
    """Krippendorff's alpha among the annotators; NaN: undefined.

    contexts: the four, nominal. needs citation: retrieval or not. ratings: interval, gaps filled with the annotator's
    mean of the response, as published; ratings as given: gaps left.
    """
    every = [one for own in people.values() for one in own]
    contexts = np.array([one.contexts for one in every], dtype=np.float64).reshape(len(every), ANNOTATORS)
    needs = np.where(np.isnan(contexts), np.nan, contexts == RETRIEVAL)
    given = np.array([one.ratings for one in every], dtype=np.float64).reshape(len(every), ANNOTATORS)
    filled = [agreement_ratings(own) for own in people.values() if own]
    return {
        "contexts": krippendorff_alpha(contexts, "nominal"),
        "needs citation": krippendorff_alpha(needs, "nominal"),
        "ratings": krippendorff_alpha(np.concatenate([np.empty((0, ANNOTATORS)), *filled]), "interval"),
        "ratings as given": krippendorff_alpha(given, "interval"),
    }


def _human(result: ResponseValues, people: People) -> Sequence[HumanStatement]:
    own = people.get(result.answer)
    if own is None:
        raise UserError(f"The human judgements hold no sample {result.answer!r}: give those of the same responses.")
    return judged_as(result.answer, [one.statement for one in result.statements], own)
