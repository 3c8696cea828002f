"""From what a judge said of each statement to values from 0 to 1: what is rated, what cannot be, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.attribution import context_of, needs_citation
from metaeval.citation.citeeval.editdist import PUBLISHED, Coefficients, edit_distance
from metaeval.citation.citeeval.editing import Edit, edit_problems
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions

STARS = (1, 2, 3, 4, 5)

State = Literal["rated", "lacks a citation", "needs none", "missing"]


@dataclass(frozen=True, slots=True)
class Value:
    """The value of one statement, in [0, 1]; None if it needs no citation and has none, or if it is missing.

    state: "rated" for a statement with citations, "lacks a citation" for one that gets 0 for that, "needs none" for
    one that is left out of the mean, "missing" where the judge's word is.
    least, most: what a missing value can be; a least without a most: that one, or left out of the mean.
    """

    value: float | None
    state: State
    least: float | None = None
    most: float | None = None


def rated(value: float) -> Value:
    """A value that is known."""
    return Value(value, "rated", value, value)


NEEDS_NONE = Value(None, "needs none")
LACKS = Value(0.0, "lacks a citation", 0.0, 0.0)
MISSING = Value(None, "missing", 0.0, 1.0)
UNDECIDED = Value(None, "missing", 0.0, None)  # uncited, and whether it needs a citation is missing


def unit_rating(stars: int) -> float:
    """A rating from 1 to 5, brought to [0, 1]. Raises ValueError on any other."""
    if stars not in STARS:
        raise ValueError(f"rating is {stars}; allowed: {', '.join(map(str, STARS))}")
    return (stars - 1) / 4


def by_rating(
    citations: Sequence[int], context: int | None, stars: int | None, options: CiteEvalOptions = PAPER
) -> Value:
    """IterCoE: the judge's own rating of a statement's citations, given after it edited them."""
    if not citations:
        return _uncited(context, options)
    if stars is None:
        return rated(1.0) if options.missing_rating == "full marks" else MISSING
    return rated(unit_rating(stars))


def by_edits(
    citations: Sequence[int],
    context: int | None,
    edits: Sequence[Edit] | None,
    options: CiteEvalOptions = PAPER,
    passages: int | None = None,
    coefficients: Coefficients = PUBLISHED,
) -> Value:
    """EditDist: the worth of a statement's citations by the edits that the judge made.

    edits: None where the judge gave none, an empty sequence where it would change nothing. passages: how many there
    are; None: not known, and no addition is held to be invented.
    """
    if not citations:
        return _uncited(context, options)
    if edits is None:
        return rated(1.0) if options.missing_edits == "none" else _open(coefficients)
    numbers = None if passages is None else range(1, passages + 1)
    if options.bad_edits == "unscored" and edit_problems(citations, edits, numbers):
        return _open(coefficients)
    return rated(edit_distance(citations, edits, coefficients, options.index_shift))


def both(rating: Value, edits: Value, weight: float = 0.5) -> Value:
    """CiteEval-Auto of a statement: the weighted mean of its rating and its edit distance; missing if either is."""
    if rating.state != "rated" and rating.state != "missing":
        return rating
    if rating.value is not None and edits.value is not None:
        return rated(weight * rating.value + (1 - weight) * edits.value)
    return Value(None, "missing", _mixed(rating.least, edits.least, weight), _mixed(rating.most, edits.most, weight))


def _uncited(context: int | None, options: CiteEvalOptions) -> Value:
    needed = needs_citation(context_of(context, options))
    if needed is None:
        return UNDECIDED
    return LACKS if needed else NEEDS_NONE


def _open(coefficients: Coefficients) -> Value:
    """A missing edit distance: what it can be depends on the coefficients, and is 1 without an edit."""
    worths = [worth + coefficients.intercept for worth in coefficients.action.values()]
    return Value(None, "missing", min(1.0, *worths), max(1.0, *worths))


def _mixed(one: float | None, other: float | None, weight: float) -> float | None:
    return None if one is None or other is None else weight * one + (1 - weight) * other
