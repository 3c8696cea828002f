"""What CiteEval leaves open or its released code decides in passing, as options: two profiles are presets of them.

And values from 0 to 1 of statements, and of responses in both scenarios, with bounds of what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from metaeval.citation.citeeval.editing import PUBLISHED, Coefficients, Edit, edit_distance, edit_problems
from metaeval.citation.profiles import by_profile, changed_profile, profile_of
from metaeval.citation.sentences import MarkStyles
from metaeval.errors import UserError

PLAIN = MarkStyles(lists=False, ranges=False, carets=False, corners=False)
"""[1] alone is a mark, as the released code has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteEvalOptions:
    """How a response is cut into statements, and how a judge's replies become numbers; the defaults are "paper"."""

    styles: MarkStyles = by_profile(MarkStyles(), released=PLAIN)
    """Citation marks that are read, as NAME: VALUE of the marks' own options."""
    highest: int | None = by_profile(None, released=10)
    """Highest number that is read as a citation (none: the number of passages)."""
    no_answer: Literal["never", "lone sentence", "anywhere"] = by_profile("lone sentence", released="anywhere")
    """Where a response that says that it found no answer becomes one statement: never, where this is a lone
    sentence without a citation, or anywhere."""
    leading: Literal["in line", "released"] = by_profile("in line", released="released")
    """Marks that open a sentence and go to the sentence before: those that open one within a line, or as in the
    released code, those behind punctuation and at the start of a line too, and citations in the order of a set."""
    merge_below: int = by_profile(0, released=20)
    """Length in characters below which a sentence joins the one before, if it carries a citation or ends a line
    that is not the last (0: none does)."""
    missing_context: Literal["missing", "retrieval"] = by_profile("missing", released="retrieval")
    """Context of a statement that the judge left out: missing, or retrieval."""
    missing_rating: Literal["missing", "full marks"] = by_profile("missing", released="full marks")
    """Rating of a cited statement that the judge left out: missing, or full marks."""
    missing_edits: Literal["missing", "none"] = by_profile("missing", released="none")
    """Edits of a cited statement that the judge left out: missing, or none needed."""
    bad_edits: Literal["unscored", "as it stands"] = by_profile("unscored", released="as it stands")
    """Edit distance of a statement with an impossible edit (it deletes what is not cited, adds what is, or adds a
    passage that does not exist): unscored, or scored as it stands."""
    index_shift: bool = by_profile(False, released=True)
    """Count the response's citations one too high in the edit distance, as the released code does."""
    weight: float = 0.5
    """Share of the rating in CiteEval-Auto; the rest is the edit distance's."""
    nothing_rated: Literal["undefined", "full marks"] = by_profile("undefined", released="full marks")
    """Value of a response none of whose statements needs a rating: undefined, or full marks."""
    stops: bool = by_profile(False, released=True)
    """Let an empty line, and a reason that does not exist, end the run, as they end the released code's."""


Otherwise = Literal["missing", "attributable"]
"""A label that is none of the three: missing, or taken for Attributable, as the released code does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOptions:
    """How the baselines are asked for and read; the defaults are of "paper"."""

    otherwise: Otherwise = by_profile("missing", released="attributable")
    """Label of a reply to AttrScore that gives none of the three labels: missing, or attributable."""
    baseline_max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Most tokens in a reply to a baseline's question, reasoning included."""


PAPER = CiteEvalOptions()
"""The definition of the paper, with marks read properly and nothing that is missing turned into a number."""

RELEASED = profile_of(CiteEvalOptions, "released")
"""amazon-science/CiteEval at commit 88f567d, as far as its outputs on stored inputs tell."""

PROFILES: Mapping[str, CiteEvalOptions] = {"paper": PAPER, "released": RELEASED}


def citeeval_options(profile: str = "paper", **changes: Any) -> CiteEvalOptions:
    """A profile with some options changed. Raises `UserError` on an unknown profile or option, or a bad number."""
    options = changed_profile(PROFILES, profile, changes, "CiteEval")
    if options.highest is not None and options.highest < 1:
        raise UserError(f"highest is {options.highest}; allowed: a whole number from 1, or none.")
    if options.merge_below < 0:
        raise UserError(f"merge_below is {options.merge_below}; allowed: a whole number from 0.")
    if not 0 <= options.weight <= 1:
        raise UserError(f"weight is {options.weight}; allowed: a number from 0 to 1.")
    return options


def changed_options(profile: str, options: CiteEvalOptions) -> str:
    """Options of the profile, only where they were changed, for a signature."""
    preset, own = asdict(PROFILES[profile]), asdict(options)
    changed = [f"{name}={value}" for name, value in own.items() if value != preset[name]]
    return ",".join(changed) or "as the profile"


def baseline_options(profile: str = "paper", **changes: Any) -> BaselineOptions:
    """The baselines' options under a profile, with some changed. Raises `UserError` on an unknown profile."""
    presets = {name: profile_of(BaselineOptions, name) for name in PROFILES}
    return changed_profile(presets, profile, changes, "CiteEval's baselines")


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
    pairs = zip(values, cited, strict=True)
    return [value if has or scenario == "full" else NEEDS_NONE for value, has in pairs]


def response_value(
    values: Sequence[Value], cited: Sequence[bool], scenario: Scenario = "full", options: CiteEvalOptions = PAPER
) -> ResponseValue:
    """The value of a response; values, cited: of its statements, in order.

    A response without any statement that has or misses a value is undefined or gets full marks, as the options say;
    in the scenario "cited", one that was left with nothing because its statements have no citations is 0 where one of
    them needed a citation; where the judge's word on that is missing, so is the response's value.
    """
    used = in_scenario(values, cited, scenario)
    known = [value.value for value in used if value.value is not None]
    missing = [value for value in used if value.state == "missing"]
    if not known and not missing:
        return _nothing_rated(values, options)
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


def _nothing_rated(values: Sequence[Value], options: CiteEvalOptions) -> ResponseValue:
    """The value of a response none of whose statements counts in the scenario."""
    # A masked statement that lacks a citation: in the full scenario its 0 counts.
    if any(value.state == "lacks a citation" for value in values):
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
