"""Coefficients of the edit distance for another judge or other data, and how well they do on statements held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.citation.citeeval import editing
from metaeval.citation.citeeval.evaluate import ResponseValues
from metaeval.citation.citeeval.values import PAPER, CiteEvalOptions
from metaeval.citation.human.model import HumanAnswer, SpanValue, Valued, align
from metaeval.citation.measures import Interval, interval_by, means, replicates
from metaeval.errors import UserError
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.correlations import pearson, rank_correlations
from metaeval.stats.influence import COUNTS, SIGNED
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import Draws, replicate

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Edited:
    """A statement with citations, what the judge would do about them, and what people say of it, in [0, 1]."""

    answer: str
    group: int
    citations: tuple[int, ...]
    edits: tuple[editing.Edit, ...]
    rating: float


@dataclass(frozen=True, eq=False)
class Refit:
    """New coefficients, and how they were come by.

    statements: those they are fitted on; left_out: the others with citations, by reason. refitted: (n,) what each
    statement is worth by coefficients that its group had no part in; published: (n,) by the released ones; rating,
    group: (n,). used: statements in which each action occurs.
    """

    coefficients: editing.Coefficients
    statements: Sequence[Edited]
    left_out: Mapping[str, int]
    refitted: Floats
    published: Floats
    used: Mapping[str, int]

    @property
    def rating(self) -> Floats:
        """What people say, (n,)."""
        return np.array([one.rating for one in self.statements], dtype=np.float64)

    @property
    def group(self) -> Ints:
        """(n,) codes of the groups."""
        return np.array([one.group for one in self.statements], dtype=np.int64)


def edited_statements(
    people: Sequence[HumanAnswer], results: Sequence[ResponseValues], group: Ints, options: CiteEvalOptions = PAPER
) -> tuple[list[Edited], Counter[str]]:
    """The statements with citations that people rated and the judge edited, and why the others are left out.

    group: (n,) codes of the answers. A statement of ours takes the rating of the one of theirs that holds most of its
    characters. Raises ValueError if the lengths differ.
    """
    found: list[Edited] = []
    left_out: Counter[str] = Counter()
    for human, result, code in zip(people, results, group.tolist(), strict=True):
        numbers = range(1, result.passages + 1)
        for one in result.statements:
            citations = one.statement.citations
            if not citations:
                continue
            own = SpanValue(one.statement.start, one.statement.end, Valued(1.0))
            pairs = zip(human.statements, align(human.statements, [own]).values, strict=True)
            rating = next((rated.rating for rated, said in pairs if said.value is not None), None)
            if one.edits is None:
                left_out["not edited by the judge"] += 1
            elif options.bad_edits == "unscored" and editing.edit_problems(citations, one.edits, numbers):
                left_out["edits that cannot be"] += 1
            elif rating is None:
                left_out["not rated by people"] += 1
            elif not editing.actions(citations, one.edits, options.index_shift):
                left_out["no citation left or kept"] += 1
            else:
                found.append(Edited(result.answer, code, citations, one.edits, rating))
    return found, +left_out


def fit(
    statements: Sequence[Edited], left_out: Mapping[str, int], options: CiteEvalOptions = PAPER, seed: int = 0
) -> Refit:
    """Fit on all statements, and on all folds of groups but one in turn.

    Raises `UserError` where there are fewer than two groups, or all ratings are equal.
    """
    groups = sorted({one.group for one in statements})
    if len(groups) < 2 or len({one.rating for one in statements}) < 2:
        raise UserError(
            f"{len(statements):,} statements with citations, edits and a rating in {len(groups):,} groups cannot teach "
            "coefficients: give answers to two questions or more, with ratings that differ."
        )
    order = np.random.default_rng(seed).permutation(len(groups))
    fold = {groups[place]: number % min(FOLDS, len(groups)) for number, place in enumerate(order.tolist())}
    folds = [fold[one.group] for one in statements]
    held_out = np.empty(len(statements))
    for number in range(min(FOLDS, len(groups))):
        own = [place for place, other in enumerate(folds) if other == number]
        taught = _fitted([one for one, other in zip(statements, folds, strict=True) if other != number], options)
        held_out[own] = [_worth(statements[place], taught, options) for place in own]
    taken = [set(editing.actions(one.citations, one.edits, options.index_shift)) for one in statements]
    return Refit(
        coefficients=_fitted(statements, options),
        statements=statements,
        left_out=left_out,
        refitted=held_out,
        published=np.array([_worth(one, editing.PUBLISHED, options) for one in statements]),
        used={name: sum(name in own for own in taken) for name in editing.ACTIONS},
    )


def _fitted(statements: Sequence[Edited], options: CiteEvalOptions) -> editing.Coefficients:
    taken = [editing.actions(one.citations, one.edits, options.index_shift) for one in statements]
    return editing.refit(taken, [one.rating for one in statements])


def _worth(one: Edited, coefficients: editing.Coefficients, options: CiteEvalOptions) -> float:
    return editing.edit_distance(one.citations, one.edits, coefficients, options.index_shift)


def agreement(found: Refit, resampling: Resampling) -> dict[str, dict[str, Interval]]:
    """Correlations with people's ratings and mean absolute error of both kinds of worth, and of their difference.

    The rows are "published", "refit" and "difference"; a difference is of the same resamples of groups on both sides.
    """
    groups, codes = np.unique(found.group, return_inverse=True)
    group = codes.astype(np.int64)
    rows = np.bincount(group, minlength=groups.size)

    def both(draws: Draws) -> Floats:
        return np.stack([_measured(worth, found.rating, group, draws) for worth in (found.published, found.refitted)])

    def apart(draws: Draws) -> Floats:
        published, refitted = both(draws)
        return np.asarray(refitted - published)

    # The last of the measures is an error and no correlation.
    alike = interval_by(lambda draws: np.concatenate(both(draws)[:, :3]), rows, resampling, SIGNED)
    errors = interval_by(lambda draws: both(draws)[:, 3], rows, resampling, COUNTS)
    change = interval_by(lambda draws: apart(draws)[:3], rows, resampling, (-2.0, 2.0))
    change += interval_by(lambda draws: apart(draws)[3], rows, resampling)
    rows_of = {"published": [*alike[:3], errors[0]], "refit": [*alike[3:], errors[1]], "difference": change}
    names = ("pearson", "spearman", "kendall", "error")
    return {row: dict(zip(names, own, strict=True)) for row, own in rows_of.items()}


def _measured(worth: Floats, rating: Floats, group: Ints, draws: Draws) -> Floats:
    """Pearson, Spearman, Kendall and mean absolute error under each weighting of the groups, (4, R)."""
    linear = replicate(pearson(worth, rating, group, draws.n_groups), draws)
    by_rank = replicate(rank_correlations(worth, rating, group, draws.n_groups), draws)
    error = replicates(means(np.abs(worth - rating).tolist(), COUNTS), np.arange(worth.size), group, draws)
    return np.stack((linear, *by_rank, error))
