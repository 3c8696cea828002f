"""Agreement of measures with human ratings, and among annotators.

CiteEval's released procedure: annotators are first reduced to one judgement, a statement without a rating takes its
response's, and correlations are computed over all statements and over all responses. Resampling draws groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure, Rated
from metaeval.citation.citeeval.options_and_values import CONTEXTS, RETRIEVAL, CitedScenario, context_of
from metaeval.citation.data_model import Answer, group_of
from metaeval.citation.human.rated_statements import ANNOTATORS, DIGITS, HumanSet, HumanStatement, known, rating_of
from metaeval.citation.human.rating_files import match_judgements
from metaeval.citation.measures import group_codes
from metaeval.stats.agreement import Distance, alpha_by_groups, krippendorff_alpha
from metaeval.stats.arrays import Bools, Floats, Ints, codes_of, ratio
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import SIGNED
from metaeval.stats.intervals import DEFAULT, Resampling, intervals
from metaeval.stats.resampling import replicate

CorrelationName = Literal["pearson", "spearman", "kendall"]


def comparable(
    values: Floats, missing: Bools, cited: Bools, response: Ints, n: int, scenario: CitedScenario = "full"
) -> tuple[Bools, Bools]:
    """Return which statements, and which of n responses, can be compared with people's ratings.

    values, missing, cited, response: of each statement its value, whether it is missing because of a judge, whether it
    has a citation, and its response. A response can be compared if no value that counts in the scenario is missing and,
    where none counts, none that decides its rating (see `both_levels`). A statement without a value takes its
    response's, and can be compared only if the response can.
    """
    counted, known = cited | (scenario == "full"), ~np.isnan(values)
    lost, lacking, valued = (np.bincount(response, of, n) > 0 for of in (missing & counted, missing, known))
    whole: Bools = ~lost & (~lacking | valued)
    return whole[response] | (counted & known & ~missing), whole


def both_levels(
    values: Floats, cited: Bools, response: Ints, n: int, scenario: CitedScenario = "full", emptied: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the values of all statements and of all n responses by the released rule. The others: see `comparable`.

    A response's is the mean over its statements, 1 without any value. In the scenario "cited", values of statements
    without a citation are masked first; if nothing is left, the response is `emptied` where a value was masked. A
    statement that has no value, or whose value is masked, takes its response's.
    """
    kept = np.where(cited | (scenario == "full"), values, np.nan)
    total, counts = (np.bincount(response, of, n) for of in (np.nan_to_num(kept), ~np.isnan(kept)))
    masked = np.bincount(response, ~np.isnan(values), n) > 0
    responses = np.where(counts > 0, ratio(total, counts), np.where(masked, emptied, 1.0))
    # Equal means tie, in whatever order their numbers were added.
    return np.where(np.isnan(kept), responses[response], kept).round(DIGITS), responses.round(DIGITS)


def correlations(
    score: Floats, gold: Floats, group: Ints, resampling: Resampling = DEFAULT
) -> dict[CorrelationName, Estimate]:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b of two columns, (n,) each, with intervals.

    group: (n,) codes of the groups that resampling draws. There are no intervals from a single group.
    """
    n_groups = int(group.max(initial=0)) + 1
    prepared = pearson(score, gold, group, n_groups), rank_correlations(score, gold, group, n_groups)
    rows = np.bincount(group, minlength=n_groups)
    linear, by_rank = (intervals(partial(replicate, pairs), rows, resampling, SIGNED) for pairs in prepared)
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


# The human judgements by sample; the samples' names are the ids of the answers.
People = Mapping[str, Sequence[HumanStatement]]


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
    rated: Rated,
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
    units, judgements = rated.values[measure], judgements_of(rated, people)
    columns = units.value, units.missing, rated.cited
    return agreement_of(rated.responses, *columns, judgements, scenario, resampling, masks=True)


def agreement_of(
    answers: Sequence[Answer],
    values: Floats,
    missing: Bools,
    cited: Bools,
    people: People,
    scenario: CitedScenario,
    resampling: Resampling,
    masks: bool = False,
    emptied: float = 0.0,
) -> RatingAgreement:
    """Correlate any values of the rated statements with human ratings.

    values, missing, cited: of all statements, in order; see `comparable`. people: the judgements of each answer's
    statements. In the scenario "cited" the ratings of uncited statements are masked. masks: mask their values too; the
    released code masks CiteEval's values, but no baseline's. emptied: people's rating of a response that this leaves
    empty. Raises ValueError if the lengths differ.
    """
    side: CitedScenario = scenario if masks else "full"
    means = [rating_of(each.ratings) for answer in answers for each in people[answer.id]]
    ratings = np.array(means, dtype=np.float64)
    response = np.repeat(np.arange(len(answers)), [len(people[answer.id]) for answer in answers])
    group, _ = group_codes(answers)
    score, response_score = both_levels(values, cited, response, len(answers), side)
    gold, response_gold = both_levels(ratings, cited, response, len(answers), scenario, emptied)
    kept, whole = comparable(values, missing, cited, response, len(answers), side)
    return RatingAgreement(
        statements=correlations(score[kept], gold[kept], group[response][kept], resampling),
        responses=correlations(response_score[whole], response_gold[whole], group[whole], resampling),
        n_statements=int(kept.sum()),
        n_responses=int(whole.sum()),
        statements_left_out=int((~kept).sum()),
        responses_left_out=int((~whole).sum()),
    )


def judgements_of(rated: Rated, people: People) -> People:
    """Return the judgements of each response's statements, by response; `UserError` for a response without any."""
    return {
        response.id: match_judgements(response.id, split.statements, people)
        for response, split in zip(rated.responses, rated.splits, strict=True)
    }


# The judge's context of a statement, those that annotators give it (keys of `CONTEXTS`), and whether it cites.
Contexts = tuple[str | None, Sequence[int | None], bool]


def contexts_of(rated: Rated, people: People) -> list[Contexts]:
    """Return the contexts of all statements of the judged responses, in order."""
    judgements, contexts = judgements_of(rated, people), list[Contexts]()
    for response, split, judged in zip(rated.responses, rated.splits, rated.judged, strict=True):
        for statement, judgement in zip(split.statements, judgements[response.id], strict=True):
            context = context_of(judged.contexts.get(statement.number), rated.options)
            label = None if context is None else CONTEXTS[context]
            contexts.append((label, judgement.contexts, bool(statement.citations)))
    return contexts


def context_counts(contexts: Sequence[Contexts], forced: bool, binary: bool) -> tuple[list[str], Ints, int]:
    """Return the classes of contexts, counts of statements, (annotators' class, judge's class), and those left out.

    The annotators' class is that of more than half of those who named one; left out are statements without such a
    majority, or without the judge's context. forced: on the judge's side, a statement with citations counts as
    "retrieval", as published. binary: the classes are "retrieval" and "other" instead of the four contexts.
    """
    classes = [CONTEXTS[RETRIEVAL], "other"] if binary else [*CONTEXTS.values()]
    counts, left_out = np.zeros((len(classes), len(classes)), dtype=np.int64), 0
    for judged, human, cites in contexts:
        label = CONTEXTS[RETRIEVAL] if forced and cites else judged
        named = [CONTEXTS[number] for number in human if number is not None]
        times = Counter(name if name in classes else "other" for name in named)
        gold = next((name for name, number in times.items() if 2 * number > len(named)), None)
        if gold is None or label is None:
            left_out += 1
        else:
            counts[classes.index(gold), classes.index(label if label in classes else "other")] += 1
    return classes, counts, left_out


def class_scores(counts: Ints) -> dict[str, Floats]:
    """Return "precision", "recall" and "f1" of each class of a confusion matrix, (K,) each; NaN where undefined."""
    hits = np.diag(counts)
    precision, recall = (ratio(hits, counts.sum(axis=axis)) for axis in (0, 1))
    f1 = np.where(precision + recall == 0, 0.0, ratio(2 * precision * recall, precision + recall))
    return {"precision": precision, "recall": recall, "f1": f1}


def macro_f1(counts: Ints) -> float:
    """Return the mean F1 over the classes that occur (NaN without any); 0 for a class that only one side uses."""
    used = counts.sum(axis=0) + counts.sum(axis=1) > 0
    return float(np.nan_to_num(class_scores(counts)["f1"][used]).mean()) if used.any() else np.nan


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
        for at, name in enumerate(("ratings", "ratings of responses")):
            units = np.vstack([each[at] for each in filled])
            alpha = Estimate(known(krippendorff_alpha(units, "interval")))
            table[f"{name}, interval, gaps filled as published"] = alpha, len(units)
        contexts = np.array([judgement.contexts for judgement in judgements], dtype=np.float64)
        contexts = contexts.reshape(len(judgements), ANNOTATORS)
        needs_citation = np.where(np.isnan(contexts), np.nan, contexts == RETRIEVAL)
        table["contexts, nominal"] = _alpha(contexts, "nominal", groups, resampling)
        table["needs a citation, nominal"] = _alpha(needs_citation, "nominal", groups, resampling)
    return table


def _alpha(values: Floats, distance: Distance, groups: Sequence[str], resampling: Resampling) -> tuple[Estimate, int]:
    """Return Krippendorff's alpha of judgements, (units, annotators), and the number of units that two or more judged.

    groups: of each unit.
    """
    group, n_groups = codes_of(groups), len(set(groups))
    prepared = alpha_by_groups(values, group, n_groups, distance)
    pairable = (~np.isnan(values)).sum(axis=1) >= 2
    rows = np.bincount(group[pairable], minlength=n_groups)
    return intervals(partial(replicate, prepared), rows, resampling, SIGNED)[0], int(pairable.sum())
