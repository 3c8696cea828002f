"""How far values of statements and responses agree with people's: CiteEval's own procedure, with its rules named.

Annotators are first reduced to one judgement; what has no rating takes its response's; correlations are over all
statements together, and over responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metaeval.citation.citeeval.aggregate import Scenario
from metaeval.citation.citeeval.attribution import RETRIEVAL
from metaeval.citation.citeeval.bench import ANNOTATORS, HumanStatement
from metaeval.citation.measures import f1
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.resampling import bootstrap, percentile_interval, replicate

Values = Sequence[float | None]
"""The values of a response's statements, in order; None where one has none."""

Name = Literal["pearson", "spearman", "kendall"]


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation and its percentile interval over resampled responses; None: undefined."""

    value: float | None
    low: float | None
    high: float | None


def human_rating(ratings: Values) -> float | None:
    """The mean of the annotators' ratings that are there; None when two or more are not."""
    known = [rating for rating in ratings if rating is not None]
    return None if len(ratings) - len(known) >= 2 or not known else sum(known) / len(known)


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

    A response can where no value that counts in the scenario is missing; a statement without a value of its own, which
    would take its response's, only together with it. Raises ValueError if the lengths differ.
    """
    counted = [has or scenario == "full" for has in cited]
    whole = not any(gone and counts for gone, counts in zip(missing, counted, strict=True))
    own = [value is not None for value in masked(values, cited, scenario)]
    return [whole or (has and not gone) for has, gone in zip(own, missing, strict=True)], whole


def response_rating(values: Values, cited: Sequence[bool], scenario: Scenario = "full") -> float:
    """A response's rating, by the rule for both sides: the mean of what is there, else 1.

    In the scenario "cited", statements without a citation are masked first; a response that this leaves with nothing
    is then 0. Raises ValueError if the lengths differ.
    """
    known = [value for value in masked(values, cited, scenario) if value is not None]
    if known:
        return sum(known) / len(known)
    return 0.0 if scenario == "cited" and not all(cited) else 1.0


def statement_columns(
    one: Sequence[Values], other: Sequence[Values], cited: Sequence[Sequence[bool]], scenario: Scenario = "full"
) -> tuple[Floats, Floats, Ints]:
    """All statements of all responses, (n,) each: one side, the other, and the number of the response.

    A statement without a value takes its response's rating, on each side by itself.
    Raises ValueError if the lengths differ.
    """
    columns: tuple[list[float], list[float], list[int]] = ([], [], [])
    for number, (first, second, has) in enumerate(zip(one, other, cited, strict=True)):
        for side, values in zip(columns[:2], (first, second), strict=True):
            whole = response_rating(values, has, scenario)
            side.extend(whole if value is None else value for value in masked(values, has, scenario))
        columns[2].extend([number] * len(has))
    return np.array(columns[0]), np.array(columns[1]), np.array(columns[2], dtype=np.int64)


def correlations(
    score: Floats, gold: Floats, group: Ints, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> dict[Name, Correlation]:
    """Pearson, Spearman and Kendall tau-b of two columns, (n,) each; group: (n,) codes of what resampling draws.

    No intervals from one group: resampling only repeats it.
    """
    n_groups = int(group.max()) + 1 if group.size else 0
    draws = bootstrap(n_groups, resamples if np.unique(group).size > 1 else 0, seed)
    linear = replicate(pearson(score, gold, group, n_groups), draws)
    by_rank = replicate(rank_correlations(score, gold, group, n_groups), draws)
    return {
        "pearson": _correlation(linear, level),
        "spearman": _correlation(by_rank[0], level),
        "kendall": _correlation(by_rank[1], level),
    }


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


def agreement_ratings(statements: Sequence[HumanStatement]) -> Floats:
    """Ratings of a response's statements, (statements, annotators), ready for Krippendorff's alpha.

    A missing rating takes the mean of the annotator's others in the response, and is NaN where there are none.
    """
    if not statements:
        return np.empty((0, ANNOTATORS))
    ratings = np.array([one.ratings for one in statements], dtype=np.float64)
    there = ~np.isnan(ratings)
    total = np.where(there, ratings, 0.0).sum(axis=0)
    own = np.divide(total, there.sum(axis=0), out=np.full(ratings.shape[1], np.nan), where=there.any(axis=0))
    return np.where(there, ratings, own[None, :])


def _correlation(values: Floats, level: float) -> Correlation:
    interval = percentile_interval(values[1:], level) if values.size > 1 and not np.isnan(values[0]) else None
    low, high = interval or (None, None)
    return Correlation(None if np.isnan(values[0]) else float(values[0]), low, high)
