"""Agreement with people's ratings: CiteEval's own procedure, its rules named; within and over systems; of annotators.

CiteEval's: annotators are first reduced to one judgement; what has no rating takes its response's; correlations are
over all statements together, and over responses. Resamples draw groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from metaeval.citation.citeeval.evaluate import Measure, ResponseValues
from metaeval.citation.citeeval.values import CONTEXTS, RETRIEVAL, Scenario
from metaeval.citation.human.model import ANNOTATORS, HumanSet, HumanStatement, Level, rating_of
from metaeval.citation.human.readers import judged_as
from metaeval.citation.measures import Interval, f1, group_codes, interval_by, interval_of, means, replicates
from metaeval.citation.model import Answer, group_of
from metaeval.errors import UserError
from metaeval.stats.agreement import Distance, alpha_by_groups, krippendorff_alpha, rank_agreement
from metaeval.stats.arrays import Bools, Floats, Ints, codes_of
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.influence import SIGNED
from metaeval.stats.intervals import DEFAULT, Resampling
from metaeval.stats.resampling import bootstrap, replicate

Values = Sequence[float | None]
"""The values of a response's statements, in order; None where one has none."""

Name = Literal["pearson", "spearman", "kendall"]


def human_needs_citation(contexts: Sequence[int | None]) -> bool | None:
    """Whether most annotators hold that a statement rests on the passages; None without any, or in a draw."""
    votes = [context == RETRIEVAL for context in contexts if context is not None]
    return None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)


def masked(values: Values, cited: Sequence[bool], scenario: Scenario) -> list[float | None]:
    """The values that count in a scenario: in "cited", none of a statement without a citation.

    Raises ValueError if the lengths differ.
    """
    pairs = zip(values, cited, strict=True)
    return [value if has or scenario == "full" else None for value, has in pairs]


def settled(
    values: Values, missing: Sequence[bool], cited: Sequence[bool], scenario: Scenario = "full"
) -> tuple[list[bool], bool]:
    """Which statements of a response can be compared, and whether the response can; missing: because of a judge.

    A response can where no value that counts in the scenario is missing, nor, without any, one that decides what the
    response is worth (see `response_rating`); a statement without a value of its own, which would take its response's,
    only together with it. Raises ValueError if the lengths differ.
    """
    counted = [has or scenario == "full" for has in cited]
    whole = not any(gone and counts for gone, counts in zip(missing, counted, strict=True))
    whole = whole and (not any(missing) or any(value is not None for value in values))
    own = [value is not None for value in masked(values, cited, scenario)]
    return [whole or (has and not gone) for has, gone in zip(own, missing, strict=True)], whole


def response_rating(values: Values, cited: Sequence[bool], scenario: Scenario = "full") -> float:
    """A response's rating, by the released rule for people and for CiteEval: the mean of what is there, else 1.

    In the scenario "cited", statements without a citation are masked first. A response that this leaves with nothing
    is 0 if a value was masked; if its statements had none (they need no citation), it is 1 there too.
    Raises ValueError if the lengths differ.
    """
    known = [value for value in masked(values, cited, scenario) if value is not None]
    if known:
        return sum(known) / len(known)
    return 0.0 if any(value is not None for value in values) else 1.0


def both_levels(
    values: Sequence[Values], cited: Sequence[Sequence[bool]], scenario: Scenario = "full"
) -> tuple[Floats, Floats]:
    """What one side gives all statements, (n,), and all responses, (m,); a statement without a value takes its
    response's rating. Raises ValueError if the lengths differ.
    """
    statements: list[float] = []
    responses: list[float] = []
    for own, has in zip(values, cited, strict=True):
        responses.append(response_rating(own, has, scenario))
        statements.extend(responses[-1] if value is None else value for value in masked(own, has, scenario))
    return np.array(statements, dtype=np.float64), np.array(responses, dtype=np.float64)


def correlations(score: Floats, gold: Floats, group: Ints, resampling: Resampling = DEFAULT) -> dict[Name, Interval]:
    """Pearson, Spearman and Kendall tau-b of two columns, (n,) each; group: (n,) codes of what resampling draws.

    No intervals from one group: resampling only repeats it.
    """
    n_groups = int(group.max()) + 1 if group.size else 0
    both = pearson(score, gold, group, n_groups), rank_correlations(score, gold, group, n_groups)
    rows = np.bincount(group, minlength=n_groups)
    found = [one for each in both for one in interval_by(partial(replicate, each), rows, resampling, SIGNED)]
    return dict(zip(get_args(Name), found, strict=True))


def context_agreement(
    judged: Sequence[bool | None], human: Sequence[bool | None], cited: Sequence[bool], forced: bool = True
) -> dict[str, float | None]:
    """Precision, recall and F1 of "needs a citation" against people; statements without a judgement are left out.

    forced: a statement with citations counts as needing one on the judge's side, as published; it raises the figures.
    Raises ValueError if the lengths differ.
    """
    pairs = [
        (True if forced and has else said, gold)
        for said, gold, has in zip(judged, human, cited, strict=True)
        if gold is not None and (said is not None or (forced and has))
    ]
    hits = sum(said is True and gold for said, gold in pairs)
    said_so, are_so = sum(said is True for said, _ in pairs), sum(gold for _, gold in pairs)
    precision = hits / said_so if said_so else None
    recall = hits / are_so if are_so else None
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall), "statements": float(len(pairs))}


def filled_ratings(statements: Sequence[HumanStatement]) -> tuple[Floats, Floats]:
    """A response's ratings without gaps: of its statements, (statements, annotators), and its own, (annotators,).

    As CiteEval's released code makes them for Krippendorff's alpha: an annotator's rating of the response is the sum of
    the ratings that they gave over the number of all statements, rated or not, and 1 where they gave none; a missing
    rating of a statement takes it.
    """
    ratings = np.array([one.ratings for one in statements], dtype=np.float64).reshape(len(statements), ANNOTATORS)
    there = ~np.isnan(ratings)
    response = np.where(there.any(axis=0), np.nansum(ratings, axis=0) / max(len(statements), 1), 1.0)
    return np.where(there, ratings, response), response


People = Mapping[str, Sequence[HumanStatement]]
"""The human judgements by sample; the samples' names are the ids of the answers."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Correlations over all statements, and over responses; how many of each, and how many a missing value left out."""

    statements: Mapping[Name, Interval]
    responses: Mapping[Name, Interval]
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
    resampling: Resampling = DEFAULT,
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
        resampling,
        masks=True,
    )


def agreement_of(
    answers: Sequence[Answer],
    ours: Sequence[Values],
    missing: Sequence[Sequence[bool]],
    cited: Sequence[Sequence[bool]],
    people: People,
    scenario: Scenario,
    resampling: Resampling,
    masks: bool = False,
) -> Agreement:
    """The same for any values of the statements that people judged, of each answer in order.

    missing: whether a statement's value is, because of a judge. cited: whether it has a citation; in the scenario
    "cited", people's ratings of the others are masked. masks: whether the values are too; the released code does so
    with CiteEval's, and leaves its baselines' (AutoAIS, LQAC, AttrScore) as they are. Raises ValueError if the lengths
    differ.
    """
    side: Scenario = scenario if masks else "full"
    theirs = [[rating_of(one.ratings) for one in people[answer.id]] for answer in answers]
    group, _ = group_codes(answers)
    (score, whole), (gold, people_whole) = both_levels(ours, cited, side), both_levels(theirs, cited, scenario)
    found = [settled(*one, side) for one in zip(ours, missing, cited, strict=True)]
    kept: Bools = np.array([one for own, _ in found for one in own], dtype=np.bool_)
    known: Bools = np.array([whole for _, whole in found], dtype=np.bool_)
    of_statement = np.repeat(group, [len(has) for has in cited])
    return Agreement(
        statements=correlations(score[kept], gold[kept], of_statement[kept], resampling),
        responses=correlations(whole[known], people_whole[known], group[known], resampling),
        n_statements=int(kept.sum()),
        n_responses=int(known.sum()),
        statements_left_out=int((~kept).sum()),
        responses_left_out=int((~known).sum()),
    )


def agreement_on_contexts(
    results: Sequence[ResponseValues], people: People, forced: bool = True
) -> dict[str, float | None]:
    """Precision, recall and F1 of the judge's "needs a citation"; see `context_agreement`."""
    pairs = [pair for one in results for pair in zip(one.statements, _human(one, people), strict=True)]
    return context_agreement(
        [None if one.context is None else one.context == CONTEXTS[RETRIEVAL] for one, _ in pairs],
        [human_needs_citation(own.contexts) for _, own in pairs],
        [bool(one.statement.citations) for one, _ in pairs],
        forced,
    )


def _annotated(people: People) -> dict[str, tuple[Floats, Distance]]:
    """What the annotators said of all statements, (statements, annotators) each, and the distance of Krippendorff's.

    contexts: the four. needs citation: retrieval or not. ratings, responses: see `filled_ratings`; the last are of
    responses, (responses, annotators).
    """
    every = [one for own in people.values() for one in own]
    contexts = np.array([one.contexts for one in every], dtype=np.float64).reshape(len(every), ANNOTATORS)
    filled = [filled_ratings(own) for own in people.values()]
    return {
        "contexts": (contexts, "nominal"),
        "needs citation": (np.where(np.isnan(contexts), np.nan, contexts == RETRIEVAL), "nominal"),
        "ratings": (np.concatenate([statements for statements, _ in filled]), "interval"),
        "responses": (np.stack([response for _, response in filled]), "interval"),
    }


def _human(result: ResponseValues, people: People) -> Sequence[HumanStatement]:
    own = people.get(result.answer)
    if own is None:
        raise UserError(f"The human judgements hold no sample {result.answer!r}: give those of the same responses.")
    return judged_as(result.answer, [one.statement for one in result.statements], own)


@dataclass(frozen=True, slots=True)
class Within:
    """A measure's correlations with people within one system, over those of its rows that have a value."""

    system: str
    measure: str
    rows: int
    of: int
    found: Mapping[Name, Interval]


@dataclass(frozen=True, slots=True)
class Systems:
    """Mean ratings of the systems, over all rows of each. measures: their mean values, and tau-b of these with the
    mean ratings over the rows that have both.
    """

    people: Sequence[float | None]
    measures: Mapping[str, tuple[Sequence[float | None], Interval]]


def within_systems(level: Level, resampling: Resampling) -> list[Within]:
    """Correlations within each system, by system and then measure. A system of one group has no intervals."""
    found = []
    for system in level.systems:
        rows = [(number, row) for number, row in enumerate(level.ratings.rows) if row.system == system]
        for measure, values in level.values.items():
            pairs = [(row, value) for number, row in rows if (value := values[number].value) is not None]
            gold = np.array([row.gold for row, _ in pairs], dtype=np.float64)
            score = np.array([value for _, value in pairs], dtype=np.float64)
            group = codes_of([row.group for row, _ in pairs])
            found.append(Within(system, measure, len(pairs), len(rows), correlations(score, gold, group, resampling)))
    return found


def over_systems(level: Level, resampling: Resampling) -> Systems:
    """How far the systems' ranking by each measure is people's; no intervals from one group."""
    rows = level.ratings.rows
    group, n_groups = codes_of([row.group for row in rows]), len({row.group for row in rows})
    draws = bootstrap(n_groups, resampling.n if n_groups > 1 else 0, resampling.seed)
    own = [np.flatnonzero([row.system == system for row in rows]) for system in level.systems]

    def mean_values(values: Sequence[float | None]) -> Floats:
        """Means of the systems under each weighting, (systems, R)."""
        found = [replicates(means(values), few, group, draws) for few in own]
        return np.array(found, dtype=np.float64).reshape(len(own), draws.n)

    measures = {}
    for measure, said in level.values.items():
        values = [one.value for one in said]
        ours = mean_values(values)
        theirs = mean_values([None if value is None else row.gold for value, row in zip(values, rows, strict=True)])
        measures[measure] = _first(ours), interval_of(rank_agreement(ours, theirs)[0], resampling.level)
    return Systems(_first(mean_values([row.gold for row in rows])), measures)


def alphas(human: HumanSet, resampling: Resampling) -> dict[str, tuple[Interval, int]]:
    """Krippendorff's alpha among the annotators with its interval, and of how many units two or more judged.

    The units are statements, or responses where the name says so. Empty with one annotator. No interval from a single
    group, nor of CiteBench's ratings with their gaps filled, as CiteEval publishes them.
    """
    if human.annotators < 2:
        return {}
    of = {own.answer.id: group_of(own.answer) for own in human.answers}
    ratings = [(own.answer.id, one.ratings) for own in human.answers for one in own.statements]
    wide = [[*own, *[None] * (human.annotators - len(own))] for _, own in ratings]
    rated = np.array(wide, dtype=np.float64).reshape(len(wide), human.annotators)
    found = {"ratings, interval": _alpha((rated, "interval"), [of[answer] for answer, _ in ratings], resampling)}
    if human.people:
        said, groups = _annotated(human.people), [of[answer] for answer, own in human.people.items() for _ in own]
        for name, what in (("ratings", "ratings"), ("responses", "ratings of responses")):
            alpha = Interval(_known(krippendorff_alpha(*said[name])))
            found[f"{what}, interval, gaps filled as published"] = alpha, len(said[name][0])
        found["contexts, nominal"] = _alpha(said["contexts"], groups, resampling)
        found["needs a citation, nominal"] = _alpha(said["needs citation"], groups, resampling)
    return found


def _alpha(said: tuple[Floats, Distance], groups: Sequence[str], resampling: Resampling) -> tuple[Interval, int]:
    """Alpha of what annotators said of each statement, whose group is given; and of how many two or more said it."""
    ratings, distance = said
    group, n_groups = codes_of(groups), len(set(groups))
    prepared = alpha_by_groups(ratings, group, n_groups, distance)
    pairable = (~np.isnan(ratings)).sum(axis=1) >= 2
    rows = np.bincount(group[pairable], minlength=n_groups)
    return interval_by(partial(replicate, prepared), rows, resampling, SIGNED)[0], int(pairable.sum())


def _first(values: Floats) -> list[float | None]:
    return [_known(value) for value in values[:, 0].tolist()]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
