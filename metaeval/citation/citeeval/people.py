"""CiteEval's values held against people's: which statements and responses can be compared, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.citeeval.aggregate import Scenario
from metaeval.citation.citeeval.attribution import CONTEXTS, RETRIEVAL
from metaeval.citation.citeeval.bench import ANNOTATORS, HumanStatement
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
    statement_columns,
)
from metaeval.citation.measures import group_codes
from metaeval.citation.model import Answer
from metaeval.errors import UserError
from metaeval.stats.columns import Bools
from metaeval.stats.krippendorff import krippendorff_alpha

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

    A statement that needs no rating takes its response's, on each side by itself, as published. One whose value is
    missing because of the judge is left out, and so is a response all of whose values are.
    Raises `UserError` if an answer has no human judgements, or another number of statements than they have.
    """
    for result in results:
        _human(result, people)
    ours = [[one.values[measure] for one in result.statements] for result in results]
    return agreement_of(
        answers,
        [[one.value for one in own] for own in ours],
        [[one.state == "missing" for one in own] for own in ours],
        [[bool(one.statement.citations) for one in result.statements] for result in results],
        people,
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

    missing: whether a statement's value is, because of a judge. cited: whether it has a citation.
    Raises ValueError if the lengths differ.
    """
    theirs = [[human_rating(one.ratings) for one in people[answer.id]] for answer in answers]
    group, _ = group_codes(answers)
    score, gold, response = statement_columns(ours, theirs, cited, scenario)
    kept: Bools = ~np.array([value for own in missing for value in own], dtype=np.bool_)
    whole = np.array([response_rating(own, has, scenario) for own, has in zip(ours, cited, strict=True)])
    people_whole = np.array([response_rating(own, has, scenario) for own, has in zip(theirs, cited, strict=True)])
    known: Bools = np.array([_known(own, gone) for own, gone in zip(ours, missing, strict=True)], dtype=np.bool_)
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
    if len(own) != len(result.statements):
        raise UserError(
            f"Sample {result.answer!r} has {len(result.statements)} statements here and {len(own)} in the human "
            "judgements: give the file of statements that people judged, or cut the responses as it was."
        )
    return own


def _known(values: Sequence[float | None], missing: Sequence[bool]) -> bool:
    """Whether a response has a value: by a statement that has one, or because none needs one."""
    return any(value is not None for value in values) or not any(missing)
