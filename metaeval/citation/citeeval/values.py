"""Values from 0 to 1 of statements, and of responses in both scenarios, with bounds of what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.citeeval.editing import PUBLISHED, Coefficients, Edit, edit_distance, edit_problems
from metaeval.citation.citeeval.options import PAPER, CiteEvalOptions

CONTEXTS: Mapping[int, str] = {1: "query", 2: "retrieval", 3: "response", 4: "model"}
"""The four contexts, under the numbers that the official prompt gives them.

query: the user's own words. retrieval: the passages. response: what the response said before, or says of itself.
model: what the model knows without any of them.
"""

RETRIEVAL = 2


def context_of(judged: int | None, options: CiteEvalOptions = PAPER) -> int | None:
    """The context of a statement, where the judge named it or the options fill it in; None: missing."""
    return RETRIEVAL if judged is None and options.missing_context == "retrieval" else judged


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
    """The value of a statement without citations: it needs one if it rests on the passages."""
    return {None: UNDECIDED, RETRIEVAL: LACKS}.get(context_of(context, options), NEEDS_NONE)


def _open(coefficients: Coefficients) -> Value:
    """A missing edit distance: what it can be depends on the coefficients, and is 1 without an edit."""
    worths = [worth + coefficients.intercept for worth in coefficients.action.values()]
    return Value(None, "missing", min(1.0, *worths), max(1.0, *worths))


def _mixed(one: float | None, other: float | None, weight: float) -> float | None:
    return None if one is None or other is None else weight * one + (1 - weight) * other


Scenario = Literal["full", "cited"]
"""All statements, or those with citations alone."""


Ends = tuple[float, float | None]
"""The least and the most that a value can be; a most of None: it is the least, or is left out of the mean."""


@dataclass(frozen=True, slots=True)
class ResponseValue:
    """The mean over the statements of a response that have a value; None: undefined.

    rated: how many have one. missing: how many the judge left open; least, most: what the value could be with them.
    A least without a most: the value is that one, or there is none.
    """

    value: float | None
    rated: int
    missing: int
    least: float | None
    most: float | None


def in_scenario(values: Sequence[Value], cited: Sequence[bool], scenario: Scenario) -> list[Value]:
    """The values of a response's statements in a scenario; cited: which of them have citations.

    In the scenario "cited" those without a citation are left out of the mean.
    Raises ValueError if the lengths differ.
    """
    if len(values) != len(cited):
        raise ValueError(f"{len(values)} values, but {len(cited)} statements")
    if scenario == "full":
        return list(values)
    return [value if has else NEEDS_NONE for value, has in zip(values, cited, strict=True)]


def response_value(
    values: Sequence[Value], cited: Sequence[bool], scenario: Scenario = "full", options: CiteEvalOptions = PAPER
) -> ResponseValue:
    """The value of a response; values, cited: of its statements, in order.

    A response without any statement that has or misses a value is undefined or gets full marks, as the options say;
    in the scenario "cited", one that was left with nothing because its statements have no citations is 0, always or
    where one of them needed a citation; where the judge's word on that is missing, so is the response's value.
    """
    used = in_scenario(values, cited, scenario)
    known = [value.value for value in used if value.value is not None]
    missing = [value for value in used if value.state == "missing"]
    if not known and not missing:
        return _nothing_rated(values, cited, scenario, options)
    sure: list[Ends] = [(value, value) for value in known]
    open_: list[Ends] = [(one.least, one.most) for one in missing if one.least is not None]
    least, most = mean_bounds([*sure, *open_])
    if not known and all(one.most is None for one in missing):
        most = _full_marks(options)  # none of them may need a citation
    return ResponseValue(sum(known) / len(known) if known else None, len(known), len(missing), least, most)


def mean_bounds(ends: Sequence[Ends]) -> tuple[float | None, float | None]:
    """The least and the most that a mean can be, where it is one, from what each value can be; None without any.

    Values that may be left out take part where they move the mean that way: not every coefficient is above 0.
    """
    sure = [(least, most) for least, most in ends if most is not None]
    perhaps = [least for least, most in ends if most is None]
    least = _lowest([least for least, _ in sure], perhaps)
    most = _lowest([-most for _, most in sure], [-value for value in perhaps])
    return least, None if most is None else 0.0 - most  # and not the minus 0 of -most


def _nothing_rated(
    values: Sequence[Value], cited: Sequence[bool], scenario: Scenario, options: CiteEvalOptions
) -> ResponseValue:
    """The value of a response none of whose statements counts in the scenario."""
    # A masked statement that lacks a citation: in the full scenario its 0 counts.
    required = any(value.state == "lacks a citation" for value in values)
    if required or (scenario == "cited" and options.none_cited == "always" and not all(cited)):
        return ResponseValue(0.0, 0, 0, 0.0, 0.0)
    nothing = _full_marks(options)
    if undecided := sum(value.state == "missing" for value in values):
        return ResponseValue(None, 0, undecided, 0.0, nothing)
    return ResponseValue(nothing, 0, 0, nothing, nothing)


def _full_marks(options: CiteEvalOptions) -> float | None:
    """Value of a response without anything to rate."""
    return 1.0 if options.nothing_rated == "full marks" else None


def _lowest(sure: Sequence[float], perhaps: Sequence[float]) -> float | None:
    """The lowest mean of some values and any of some others; None without any."""
    total, number = sum(sure), len(sure)
    for value in sorted(perhaps):
        if not number or value * number < total:
            total, number = total + value, number + 1
    return total / number if number else None
