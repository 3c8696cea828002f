"""Fit coefficients of the edit distance to another judge or other data, and evaluate them by cross-validation."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.citation.citeeval import citation_edits
from metaeval.citation.citeeval.evaluate_responses import Rated
from metaeval.citation.citeeval.options_and_values import PAPER, CiteEvalOptions
from metaeval.citation.human.rated_statements import DIGITS, HumanAnswer, HumanStatement
from metaeval.citation.measures import means, replicates
from metaeval.core.errors import UserError, count
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import COUNTS, SIGNED
from metaeval.stats.intervals import Resampling, intervals
from metaeval.stats.resampling import Draws, replicate

FOLDS = 5


@dataclass(frozen=True, slots=True)
class EditedStatement:
    """A statement with citations, the judge's or an annotator's edits of them, and its human rating in [0, 1]."""

    answer: str
    group: int
    citations: tuple[int, ...]
    edits: tuple[citation_edits.Edit, ...]
    rating: float

    def distance(self, coefficients: citation_edits.Coefficients, options: CiteEvalOptions) -> float:
        """Return the statement's edit distance with these coefficients."""
        return citation_edits.edit_distance(self.citations, self.edits, coefficients, options.index_shift)

    def actions(self, options: CiteEvalOptions) -> tuple[str, ...]:
        """Return the action that the edits take on each citation of the statement and each added one."""
        return citation_edits.actions(self.citations, self.edits, options.index_shift)


@dataclass(frozen=True, eq=False)
class Refit:
    """Coefficients fitted on n statements, and edit distances of these statements.

    left_out: counts of other statements with citations, by reason. refitted: (n,) edit distances by coefficients fitted
    on the folds that do not hold the statement's group; published: (n,) by the released coefficients. used: number of
    statements in which each action occurs, by action.
    """

    coefficients: citation_edits.Coefficients
    statements: Sequence[EditedStatement]
    left_out: Mapping[str, int]
    refitted: Floats
    published: Floats
    used: Mapping[str, int]

    @property
    def group(self) -> Ints:
        """(n,) codes of the groups."""
        return np.array([statement.group for statement in self.statements], dtype=np.int64)


def edited_statements(
    people: Sequence[HumanAnswer], rated: Rated, group: Ints
) -> tuple[list[EditedStatement], Counter[str]]:
    """Return the statements with citations that people rated and the judge edited, and counts of others by reason.

    people, group (codes): of each answer. A statement takes the rating of the annotated statement that holds
    most of its characters. Raises ValueError if the lengths differ.
    """
    edited: list[EditedStatement] = []
    left_out: Counter[str] = Counter()
    options = rated.options
    for human, split, judged, code in zip(people, rated.splits, rated.judged, group.tolist(), strict=True):
        numbers = human.answer.with_text
        for statement in split.statements:
            citations, edits = statement.citations, judged.edits.get(statement.number)
            if not citations:
                continue
            here = statement.start, statement.end
            held = max(human.statements, key=lambda each: each.shared(*here), default=None)
            rating = held.rating if held is not None and held.shared(*here) > 0 else None
            if edits is None:
                left_out["not edited by the judge"] += 1
            elif options.bad_edits == "unscored" and citation_edits.edit_problems(citations, edits, numbers):
                left_out["edits that cannot be"] += 1
            elif rating is None:
                left_out["not rated by people"] += 1
            else:
                edited.append(EditedStatement(human.answer.id, code, citations, edits, rating))
    return edited, +left_out


def human_edited(
    people: Sequence[HumanAnswer], judged: Mapping[str, Sequence[HumanStatement]], group: Ints
) -> tuple[list[EditedStatement], Counter[str]]:
    """Return people's own edits as statements for `fit`, one for each annotator, and counts of what is left out.

    judged: CiteBench's judgements, by answer id. Uncited statements are not counted. An annotator's edits are lists
    under delete-misleading to add-credibility, of which the released loader reads the lengths alone: the citations that
    are not deleted are kept. Edits go with the same annotator's rating, which is our reading. Raises `UserError` for
    another entry.
    """
    edited: list[EditedStatement] = []
    left_out: Counter[str] = Counter()
    for human, code in zip(people, group.tolist(), strict=True):
        for statement in judged.get(human.answer.id, ()):
            citations = tuple(range(1, len({*statement.citations}) + 1))
            for entry, rating in zip(statement.edits, statement.ratings, strict=False) if citations else ():
                edits = synthetic_edits(entry, len(citations), f"{human.answer.id!r}, statement {statement.id!r}")
                if edits is None:
                    left_out["not edited by people"] += 1
                elif sum(edit.action == "delete" for edit in edits) > len(citations):
                    left_out["edits that cannot be"] += 1
                elif rating is None:
                    left_out["not rated by people"] += 1
                else:
                    edited.append(EditedStatement(human.answer.id, code, citations, edits, rating))
            left_out["not edited by people"] += 0 if statement.edits or not citations else len(statement.ratings)
    return edited, +left_out


def synthetic_edits(entry: Any, cited: int, where: str) -> tuple[citation_edits.Edit, ...] | None:
    """Return an annotator's edits, on citations numbered in order: deleted ones from 1, added ones from cited + 1.

    entry: the edits in the file; one that is not an object gives None. cited: number of citations. where: for
    errors.
    """
    if not isinstance(entry, Mapping):
        return None
    next_number = {"delete": itertools.count(1), "add": itertools.count(cited + 1)}
    edits: list[citation_edits.Edit] = []
    for action, reasons in citation_edits.REASONS.items():
        for reason, name in enumerate(reasons, start=1):
            numbers = entry.get(f"{action}-{name}") or []
            if not isinstance(numbers, list):
                raise UserError(f"Response {where}: the edits {action}-{name} of the judgements are no list: give one.")
            edits += [citation_edits.Edit(action, reason, next(next_number[action])) for _ in numbers]
    return tuple(edits)


def fit(
    statements: Sequence[EditedStatement], left_out: Mapping[str, int], options: CiteEvalOptions = PAPER, seed: int = 0
) -> Refit:
    """Return coefficients fitted on all statements, evaluated by cross-validation over folds of groups.

    left_out: counts of other statements, by reason. Raises `UserError` where there are fewer than two groups, or
    all ratings are equal.
    """
    groups, codes = np.unique([statement.group for statement in statements], return_inverse=True)
    taken, rating = [each.actions(options) for each in statements], [each.rating for each in statements]
    if len(groups) < 2 or len({*rating}) < 2:
        size = f"{count(len(statements), 'statement')} with citations, edits and a rating in"
        advice = "give answers to two questions or more, with ratings that differ"
        raise UserError(f"Coefficients cannot be fitted to {size} {count(len(groups), 'group')}: {advice}.")

    def fitted(places: Ints) -> citation_edits.Coefficients:
        return citation_edits.refit([taken[place] for place in places], [rating[place] for place in places])

    n_folds = min(FOLDS, len(groups))
    fold_of_group = np.empty(len(groups), dtype=np.int64)
    fold_of_group[np.random.default_rng(seed).permutation(len(groups))] = np.arange(len(groups)) % n_folds
    folds = fold_of_group[codes]
    held_out = np.empty(len(statements))
    for fold in range(n_folds):
        trained = fitted(np.flatnonzero(folds != fold))
        for place in np.flatnonzero(folds == fold).tolist():
            held_out[place] = statements[place].distance(trained, options)
    published = [statement.distance(citation_edits.PUBLISHED, options) for statement in statements]
    return Refit(
        coefficients=fitted(np.arange(len(statements))),
        statements=statements,
        left_out=left_out,
        # Distances that are equal on paper tie, whichever fold they are from.
        refitted=held_out.round(DIGITS),
        published=np.array(published).round(DIGITS),
        used={name: sum(name in names for names in taken) for name in citation_edits.ACTIONS},
    )


def agreement(refit: Refit, resampling: Resampling) -> dict[str, dict[str, Estimate]]:
    """Return how the edit distances by the published and by the refitted coefficients agree with human ratings.

    Keys are "published", "refit" and "difference" (refit less published, on the same resamples of groups), and within
    each "pearson", "spearman", "kendall" and "error" (mean absolute error).
    """
    groups, codes = np.unique(refit.group, return_inverse=True)
    group = codes.astype(np.int64)
    rows = np.bincount(group, minlength=groups.size)
    rating = np.array([statement.rating for statement in refit.statements], dtype=np.float64)

    def both(draws: Draws) -> Floats:
        return np.stack([_measured(worth, rating, group, draws) for worth in (refit.published, refit.refitted)])

    # The last measure is an error, not a correlation.
    correlations = intervals(lambda draws: np.concatenate(both(draws)[:, :3]), rows, resampling, SIGNED)
    errors = intervals(lambda draws: both(draws)[:, 3], rows, resampling, COUNTS)
    change = intervals(lambda draws: np.diff(both(draws)[:, :3], axis=0)[0], rows, resampling, (-2.0, 2.0))
    change += intervals(lambda draws: np.diff(both(draws)[:, 3], axis=0)[0], rows, resampling)
    names = ("pearson", "spearman", "kendall", "error")
    published, refitted = [*correlations[:3], errors[0]], [*correlations[3:], errors[1]]
    rows_of = {"published": published, "refit": refitted, "difference": change}
    return {row: dict(zip(names, values, strict=True)) for row, values in rows_of.items()}


def _measured(worth: Floats, rating: Floats, group: Ints, draws: Draws) -> Floats:
    """Return Pearson, Spearman, Kendall and mean absolute error under each weighting of the groups, (4, R).

    worth: edit distances. rating: human ratings. Both (n,).
    """
    linear = replicate(pearson(worth, rating, group, draws.n_groups), draws)
    by_rank = replicate(rank_correlations(worth, rating, group, draws.n_groups), draws)
    error = replicates(means(np.abs(worth - rating).tolist(), COUNTS), np.arange(worth.size), group, draws)
    return np.stack((linear, *by_rank, error))
