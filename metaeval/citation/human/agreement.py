"""Agreement of measures with human ratings, and among annotators.

CiteEval's released procedure: annotators are first reduced to one judgement, a statement without a rating takes its
response's, and correlations are computed over all statements and over all responses. Resampling draws groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure, ResponseValues
from metaeval.citation.citeeval.options_and_values import RETRIEVAL, CitedScenario, in_scenario
from metaeval.citation.data_model import Answer, group_of
from metaeval.citation.human.context_attribution import Confusion, confusion
from metaeval.citation.human.rated_statements import ANNOTATORS, HumanSet, HumanStatement, Level, rating_of
from metaeval.citation.human.rating_files import match_judgements
from metaeval.citation.measures import group_codes, interval_by, interval_of, means, replicates
from metaeval.errors import UserError
from metaeval.stats.agreement import Distance, alpha_by_groups, krippendorff_alpha, rank_agreement
from metaeval.stats.arrays import Bools, Floats, Ints, codes_of
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import SIGNED
from metaeval.stats.intervals import DEFAULT, Resampling
from metaeval.stats.resampling import bootstrap, replicate

StatementColumn = Sequence[float | None]
"""The values of a response's statements, in order; None where a statement has no value."""

CorrelationName = Literal["pearson", "spearman", "kendall"]


def comparable_statements(
    values: StatementColumn, missing: Sequence[bool], cited: Sequence[bool], scenario: CitedScenario = "full"
) -> tuple[list[bool], bool]:
    """Return which statements of a response can be compared with people's ratings, and whether the response can.

    values, missing, cited: of each statement; missing: whether its value is missing because of a judge; cited: whether
    it has a citation. A response can be compared if no value that counts in the scenario is missing and, where none
    counts, none that decides its rating (see `response_rating`). A statement without a value takes its response's, and
    can be compared only if the response can. Raises ValueError if the lengths differ.
    """
    counted = [has_citation or scenario == "full" for has_citation in cited]
    whole = not any(gone and counts for gone, counts in zip(missing, counted, strict=True))
    whole = whole and (not any(missing) or any(value is not None for value in values))
    kept = zip(in_scenario(values, cited, scenario, None), missing, strict=True)
    return [whole or (value is not None and not gone) for value, gone in kept], whole


def response_rating(values: StatementColumn, cited: Sequence[bool], scenario: CitedScenario = "full") -> float:
    """Return a response's rating by the released rule: the mean of its statements' values, 1 without any.

    In the scenario "cited", values of statements without a citation are masked first. If nothing is left, the rating
    is 0 where a value was masked, and 1 where no statement had one (none of them needs a citation).
    Raises ValueError if the lengths differ.
    """
    known = [value for value in in_scenario(values, cited, scenario, None) if value is not None]
    if known:
        return sum(known) / len(known)
    return 0.0 if any(value is not None for value in values) else 1.0


def both_levels(
    values: Sequence[StatementColumn], cited: Sequence[Sequence[bool]], scenario: CitedScenario = "full"
) -> tuple[Floats, Floats]:
    """Return the values of all statements, (n,), and of all responses, (m,), in order.

    values, cited: of the statements of each response. A statement that has no value, or whose value the scenario masks,
    takes its response's (`response_rating`). Raises ValueError if the lengths differ.
    """
    statements: list[float] = []
    responses: list[float] = []
    for column, has_citation in zip(values, cited, strict=True):
        rating = response_rating(column, has_citation, scenario)
        responses.append(rating)
        statements.extend(
            rating if value is None else value for value in in_scenario(column, has_citation, scenario, None)
        )
    return np.array(statements, dtype=np.float64), np.array(responses, dtype=np.float64)


def correlations(
    score: Floats, gold: Floats, group: Ints, resampling: Resampling = DEFAULT
) -> dict[CorrelationName, Estimate]:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b of two columns, (n,) each, with intervals.

    group: (n,) codes of the groups that resampling draws. There are no intervals from a single group.
    """
    n_groups = int(group.max()) + 1 if group.size else 0
    prepared = pearson(score, gold, group, n_groups), rank_correlations(score, gold, group, n_groups)
    rows = np.bincount(group, minlength=n_groups)
    linear, by_rank = (interval_by(partial(replicate, pairs), rows, resampling, SIGNED) for pairs in prepared)
    return dict(zip(get_args(CorrelationName), [*linear, *by_rank], strict=True))


def filled_ratings(statements: Sequence[HumanStatement]) -> tuple[Floats, Floats]:
    """Return the ratings of a response with gaps filled, as CiteEval's released code does for Krippendorff's alpha.

    Returns the ratings of its statements, (statements, annotators), and of the response, (annotators,). An
    annotator's rating of the response is the sum of their ratings over the number of all statements, rated or not,
    and 1 where they rated none; it fills the gaps.
    """
    ratings = np.array([judgement.ratings for judgement in statements], dtype=np.float64)
    ratings = ratings.reshape(len(statements), ANNOTATORS)
    is_rated = ~np.isnan(ratings)
    response = np.where(is_rated.any(axis=0), np.nansum(ratings, axis=0) / max(len(statements), 1), 1.0)
    return np.where(is_rated, ratings, response), response


People = Mapping[str, Sequence[HumanStatement]]
"""The human judgements by sample; the samples' names are the ids of the answers."""


@dataclass(frozen=True, slots=True)
class RatingAgreement:
    """Correlations over all statements and over all responses, with the numbers of those compared and left out."""

    statements: Mapping[CorrelationName, Estimate]
    responses: Mapping[CorrelationName, Estimate]
    n_statements: int
    n_responses: int
    statements_left_out: int
    responses_left_out: int


def agreement(
    answers: Sequence[Answer],
    results: Sequence[ResponseValues],
    people: People,
    measure: CiteEvalMeasure = "auto",
    scenario: CitedScenario = "full",
    resampling: Resampling = DEFAULT,
) -> RatingAgreement:
    """Correlate a measure of CiteEval with human ratings; intervals draw groups of answers.

    A statement that needs no rating takes its response's, on either side, as published. Left out is a response with a
    value that is missing because of the judge, together with its statements that have no value.
    Raises `UserError` if an answer has no human judgements, or annotators judged other statements or citations.
    """
    ours = [[statement.values[measure] for statement in result.statements] for result in results]
    return agreement_of(
        answers,
        [[value.value for value in values] for values in ours],
        [[value.state == "missing" for value in values] for values in ours],
        [[bool(statement.statement.citations) for statement in result.statements] for result in results],
        {result.answer: _human(result, people) for result in results},
        scenario,
        resampling,
        masks=True,
    )


def agreement_of(
    answers: Sequence[Answer],
    ours: Sequence[StatementColumn],
    missing: Sequence[Sequence[bool]],
    cited: Sequence[Sequence[bool]],
    people: People,
    scenario: CitedScenario,
    resampling: Resampling,
    masks: bool = False,
) -> RatingAgreement:
    """Correlate any values of the rated statements with human ratings.

    ours (the values), missing (because of a judge), cited (has a citation): for each answer, of its statements in
    order. In the scenario "cited" the ratings of uncited statements are masked. masks: mask their values too; the
    released code masks CiteEval's values, but no baseline's. Raises ValueError if the lengths differ.
    """
    side: CitedScenario = scenario if masks else "full"
    theirs = [[rating_of(judgement.ratings) for judgement in people[answer.id]] for answer in answers]
    group, _ = group_codes(answers)
    score, response_score = both_levels(ours, cited, side)
    gold, response_gold = both_levels(theirs, cited, scenario)
    comparable = [comparable_statements(*columns, side) for columns in zip(ours, missing, cited, strict=True)]
    kept: Bools = np.array([keep for statements, _ in comparable for keep in statements], dtype=np.bool_)
    whole: Bools = np.array([response for _, response in comparable], dtype=np.bool_)
    of_statement = np.repeat(group, [len(column) for column in cited])
    return RatingAgreement(
        statements=correlations(score[kept], gold[kept], of_statement[kept], resampling),
        responses=correlations(response_score[whole], response_gold[whole], group[whole], resampling),
        n_statements=int(kept.sum()),
        n_responses=int(whole.sum()),
        statements_left_out=int((~kept).sum()),
        responses_left_out=int((~whole).sum()),
    )


def confusion_of(results: Sequence[ResponseValues], people: People, forced: bool, binary: bool) -> Confusion:
    """Return the confusion matrix of the judge's contexts and the annotators'; see `context_attribution.confusion`."""
    statements = [statement for result in results for statement in result.statements]
    return confusion(
        [value.context for value in statements],
        [judgement.contexts for result in results for judgement in _human(result, people)],
        [bool(value.statement.citations) for value in statements],
        forced,
        binary,
    )


def _human(result: ResponseValues, people: People) -> Sequence[HumanStatement]:
    judgements = people.get(result.answer)
    if judgements is None:
        raise UserError(
            f"The human judgements have no sample {result.answer!r}, which is the id of a response: give the "
            "judgements of these responses."
        )
    return match_judgements(result.answer, [value.statement for value in result.statements], judgements)


@dataclass(frozen=True, slots=True)
class SystemCorrelations:
    """A measure's correlations with human ratings within one system.

    rows: number of the system's rows with a value, which are correlated. of: number of all its rows.
    """

    system: str
    measure: str
    rows: int
    of: int
    correlations: Mapping[CorrelationName, Estimate]


@dataclass(frozen=True, slots=True)
class SystemMeans:
    """Mean human ratings of the systems (people), in the order of `Level.systems`; None without a row.

    measures: by name, the mean values of the systems over rows with a value, and Kendall's tau-b of these means with
    the mean ratings of the same rows.
    """

    people: Sequence[float | None]
    measures: Mapping[str, tuple[Sequence[float | None], Estimate]]


def within_systems(level: Level, resampling: Resampling) -> list[SystemCorrelations]:
    """Return the correlations for each system and measure, system by system; a system of one group has no intervals."""
    table = []
    for system in level.systems:
        rows = [(number, row) for number, row in enumerate(level.ratings.rows) if row.system == system]
        for measure, values in level.values.items():
            pairs = [(row, value) for number, row in rows if (value := values[number].value) is not None]
            gold = np.array([row.gold for row, _ in pairs], dtype=np.float64)
            score = np.array([value for _, value in pairs], dtype=np.float64)
            within = correlations(score, gold, codes_of([row.group for row, _ in pairs]), resampling)
            table.append(SystemCorrelations(system, measure, len(pairs), len(rows), within))
    return table


def over_systems(level: Level, resampling: Resampling) -> SystemMeans:
    """Return means of systems, and Kendall's tau-b of each measure's with the ratings'; no interval from one group."""
    rows = level.ratings.rows
    group, n_groups = codes_of([row.group for row in rows]), len({row.group for row in rows})
    draws = bootstrap(n_groups, resampling.n if n_groups > 1 else 0, resampling.seed)
    system_rows = [np.flatnonzero([row.system == system for row in rows]) for system in level.systems]

    def mean_values(values: Sequence[float | None]) -> Floats:
        """Return the means of the systems under each weighting, (systems, R)."""
        system_means = [replicates(means(values), numbers, group, draws) for numbers in system_rows]
        return np.array(system_means, dtype=np.float64).reshape(len(system_rows), draws.n)

    measures = {}
    for measure, column in level.values.items():
        pairs = list(zip(column, rows, strict=True))
        ours = mean_values([value.value for value in column])
        theirs = mean_values([None if value.value is None else row.gold for value, row in pairs])
        measures[measure] = _first(ours), interval_of(rank_agreement(ours, theirs)[0], resampling.level)
    return SystemMeans(_first(mean_values([row.gold for row in rows])), measures)


def alphas(human: HumanSet, resampling: Resampling) -> dict[str, tuple[Estimate, int]]:
    """Return Krippendorff's alphas among the annotators by name, each with its number of units.

    Units are statements, or responses where the name says so; counted are those that two or more annotators judged (all
    where gaps are filled). Empty with one annotator. Alphas from a single group have no interval, and neither have
    those of CiteBench's ratings with their gaps filled as CiteEval publishes them.
    """
    if human.annotators < 2:
        return {}
    group_by_id = {rated.answer.id: group_of(rated.answer) for rated in human.answers}
    statements = [(rated.answer.id, statement.ratings) for rated in human.answers for statement in rated.statements]
    padded = [[*ratings, *[None] * (human.annotators - len(ratings))] for _, ratings in statements]
    ratings = np.array(padded, dtype=np.float64).reshape(len(padded), human.annotators)
    groups = [group_by_id[answer] for answer, _ in statements]
    table = {"ratings, interval": _alpha(ratings, "interval", groups, resampling)}
    if human.people:
        judgements = [judgement for column in human.people.values() for judgement in column]
        groups = [group_by_id[answer] for answer, column in human.people.items() for _ in column]
        filled = [filled_ratings(column) for column in human.people.values()]
        units = {
            "ratings": np.concatenate([ratings for ratings, _ in filled]),
            "ratings of responses": np.stack([response for _, response in filled]),
        }
        for name, column in units.items():
            alpha = Estimate(_known(krippendorff_alpha(column, "interval")))
            table[f"{name}, interval, gaps filled as published"] = alpha, len(column)
        contexts = np.array([judgement.contexts for judgement in judgements], dtype=np.float64)
        contexts = contexts.reshape(len(judgements), ANNOTATORS)
        needs_citation = np.where(np.isnan(contexts), np.nan, contexts == RETRIEVAL)
        table["contexts, nominal"] = _alpha(contexts, "nominal", groups, resampling)
        table["needs a citation, nominal"] = _alpha(needs_citation, "nominal", groups, resampling)
    return table


def _alpha(
    judgements: Floats, distance: Distance, groups: Sequence[str], resampling: Resampling
) -> tuple[Estimate, int]:
    """Return Krippendorff's alpha of judgements, (units, annotators), and the number of units that two or more judged.

    groups: of each unit.
    """
    group, n_groups = codes_of(groups), len(set(groups))
    prepared = alpha_by_groups(judgements, group, n_groups, distance)
    pairable = (~np.isnan(judgements)).sum(axis=1) >= 2
    rows = np.bincount(group[pairable], minlength=n_groups)
    return interval_by(partial(replicate, prepared), rows, resampling, SIGNED)[0], int(pairable.sum())


def _first(values: Floats) -> list[float | None]:
    return [_known(value) for value in values[:, 0].tolist()]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
