"""CiteEval's options and profiles, and its values, in [0, 1], of statements, and of responses in both scenarios.

Values have bounds where verdicts are missing. Options are what the paper leaves open or the released code decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from metaeval.citation.citeeval.citation_edits import PUBLISHED, Coefficients, Edit, edit_distance, edit_problems
from metaeval.citation.profiles import by_profile, changed_profile, profile_of
from metaeval.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteEvalOptions:
    """Options for splitting responses into statements and turning a judge's replies into values.

    The defaults are the profile "paper".
    """

    styles: Literal["all", "plain"] = by_profile("all", released="plain")
    """Citation marks that are read: all styles ([1, 2], [1-3], [^1], 【1】), or plain [1] alone."""
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
    nothing_rated: Literal["undefined", "full marks"] = by_profile("undefined", released="full marks")
    """Value of a response none of whose statements needs a rating: undefined, or full marks."""
    stops: bool = by_profile(False, released=True)
    """Let an empty line, and a reason that does not exist, end the run, as they end the released code's."""


Otherwise = Literal["missing", "attributable"]
"""A label that is none of the three: missing, or taken for Attributable, as the released code does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOptions:
    """Options for asking and reading CiteEval's baselines; the defaults are the profile "paper"."""

    otherwise: Otherwise = by_profile("missing", released="attributable")
    """Label of a reply to AttrScore that gives none of the three labels: missing, or attributable."""
    baseline_max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Most tokens in a reply to a baseline's question, reasoning included."""


PAPER = CiteEvalOptions()
"""The definition of the paper, with all styles of marks; missing verdicts stay missing."""

RELEASED = profile_of(CiteEvalOptions, "released")
"""amazon-science/CiteEval at commit 88f567d, reproduced from its outputs on stored inputs."""

PROFILES: Mapping[str, CiteEvalOptions] = {"paper": PAPER, "released": RELEASED}


def citeeval_options(profile: str = "paper", **changes: Any) -> CiteEvalOptions:
    """Return a profile with some options changed. Raises `UserError` for an unknown name or a number out of range."""
    options = changed_profile(PROFILES, profile, changes, "CiteEval")
    if options.highest is not None and options.highest < 1:
        raise UserError(
            f"highest (largest number read as a citation) is {options.highest}; allowed: from 1, or none (all)."
        )
    if options.merge_below < 0:
        raise UserError(f"merge_below is {options.merge_below}; allowed: a whole number from 0.")
    return options


def changed_options(profile: str, options: CiteEvalOptions) -> str:
    """Return "NAME=VALUE,..." of the options that differ from the profile, or "as the profile", for a signature."""
    preset = asdict(PROFILES[profile])
    changed = [f"{name}={value}" for name, value in asdict(options).items() if value != preset[name]]
    return ",".join(changed) or "as the profile"


def baseline_options(profile: str = "paper", **changes: Any) -> BaselineOptions:
    """Return the baselines' options of a profile, with some changed. Raises `UserError` for an unknown name."""
    presets = {name: profile_of(BaselineOptions, name) for name in PROFILES}
    return changed_profile(presets, profile, changes, "CiteEval's baselines")


CONTEXTS: Mapping[int, str] = {1: "query", 2: "retrieval", 3: "response", 4: "model"}
"""The four contexts, under the numbers that the official prompt gives them.

query: the user's question. retrieval: the passages. response: the response itself. model: the model's own knowledge.
"""

RETRIEVAL = 2


def context_of(judged: int | None, options: CiteEvalOptions = PAPER) -> int | None:
    """Return the context of a statement: the judged one, or, where that is None, the option's (None: missing)."""
    return RETRIEVAL if judged is None and options.missing_context == "retrieval" else judged


STARS = (1, 2, 3, 4, 5)

StatementState = Literal["rated", "lacks a citation", "needs none", "missing"]


@dataclass(frozen=True, slots=True)
class StatementValue:
    """The value of one statement, in [0, 1]; None if it needs no citation and has none, or if its verdict is missing.

    state: "rated" for a statement with citations; "lacks a citation" for one that gets 0 for lacking it; "needs none"
    for one that is left out of the mean; "missing" where the judge's verdict is missing. least, most: lowest and
    highest possible value; where only most is None, the statement has the value least or is left out of the mean.
    """

    value: float | None
    state: StatementState
    least: float | None = None
    most: float | None = None


def rated(value: float) -> StatementValue:
    """Return a known value of a statement with citations."""
    return StatementValue(value, "rated", value, value)


NEEDS_NONE = StatementValue(None, "needs none")
LACKS = StatementValue(0.0, "lacks a citation", 0.0, 0.0)
MISSING = StatementValue(None, "missing", 0.0, 1.0)
UNDECIDED = StatementValue(None, "missing", 0.0, None)  # uncited, and whether it needs a citation is missing


def unit_rating(stars: int) -> float:
    """Return a rating from 1 to 5 on the scale from 0 (for 1) to 1 (for 5). Raises ValueError for another number."""
    if stars not in STARS:
        raise ValueError(f"rating is {stars}; allowed: {', '.join(map(str, STARS))}")
    return (stars - 1) / 4


def by_rating(
    citations: Sequence[int], context: int | None, stars: int | None, options: CiteEvalOptions = PAPER
) -> StatementValue:
    """Return IterCoE: the judge's rating (stars) of a statement's citations; without any, its value by its context."""
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
) -> StatementValue:
    """Return EditDist: the edit distance of a statement's citations; without any, its value by its context.

    edits: None where the judge gave none, empty where it would change nothing. passages: the number of passages (None:
    not known, and additions of any passage are allowed).
    """
    if not citations:
        return _uncited(context, options)
    if edits is None:
        return rated(1.0) if options.missing_edits == "none" else _missing_distance(coefficients)
    numbers = None if passages is None else range(1, passages + 1)
    if options.bad_edits == "unscored" and edit_problems(citations, edits, numbers):
        return _missing_distance(coefficients)
    return rated(edit_distance(citations, edits, coefficients, options.index_shift))


def both(rating: StatementValue, edits: StatementValue) -> StatementValue:
    """Return CiteEval-Auto: the mean of a statement's rating and edit distance; missing if either is.

    A statement without citations has the value of its rating.
    """
    if rating.state != "rated" and rating.state != "missing":
        return rating
    if rating.value is not None and edits.value is not None:
        return rated(0.5 * rating.value + 0.5 * edits.value)
    least, most = _mixed(rating.least, edits.least), _mixed(rating.most, edits.most)
    return StatementValue(None, "missing", least, most)


def _uncited(context: int | None, options: CiteEvalOptions) -> StatementValue:
    """Return the value of a statement without citations: 0 if it rests on the passages, none if on something else."""
    return {None: UNDECIDED, RETRIEVAL: LACKS}.get(context_of(context, options), NEEDS_NONE)


def _missing_distance(coefficients: Coefficients) -> StatementValue:
    """Return a missing edit distance with the bounds that the coefficients and 1 (its value without edits) give."""
    worths = [worth + coefficients.intercept for worth in coefficients.action.values()]
    return StatementValue(None, "missing", min(1.0, *worths), max(1.0, *worths))


def _mixed(rating: float | None, edits: float | None) -> float | None:
    return None if rating is None or edits is None else 0.5 * rating + 0.5 * edits


CitedScenario = Literal["full", "cited"]
"""All statements (full), or only those with citations (cited)."""


ValueBounds = tuple[float, float | None]
"""(lowest, highest) possible value; a highest of None: the value is the lowest, or is left out of the mean."""


@dataclass(frozen=True, slots=True)
class ResponseValue:
    """The mean over the statements of a response that have a value; None: undefined, or all verdicts are missing.

    rated: number of statements with a value. missing: number of statements without a verdict. least, most: lowest and
    highest possible value; where only most is None, the value is least, or undefined.
    """

    value: float | None
    rated: int
    missing: int
    least: float | None
    most: float | None


def in_scenario(values: Sequence[T], cited: Sequence[bool], scenario: CitedScenario, mask: T) -> list[T]:
    """Return the values, in the scenario "cited" with `mask` in place of those of statements without citations.

    cited: whether each statement has citations. Raises ValueError if the lengths differ.
    """
    pairs = zip(values, cited, strict=True)
    return [value if has_citation or scenario == "full" else mask for value, has_citation in pairs]


def response_value(
    values: Sequence[StatementValue],
    cited: Sequence[bool],
    scenario: CitedScenario = "full",
    options: CiteEvalOptions = PAPER,
) -> ResponseValue:
    """Return the value of a response: the mean over its statements that have one.

    values, cited: of each statement, its value and whether it has citations. A response whose statements all need no
    rating is undefined or gets full marks, as the options say. In the scenario "cited", a response without citations
    is 0 if one of its statements needs a citation, and missing if the judge's verdict on that is missing.
    """
    used = in_scenario(values, cited, scenario, NEEDS_NONE)
    known = [value.value for value in used if value.value is not None]
    missing = [value for value in used if value.state == "missing"]
    if not known and not missing:
        return _nothing_rated(values, options)
    sure: list[ValueBounds] = [(value, value) for value in known]
    open_: list[ValueBounds] = [(value.least, value.most) for value in missing if value.least is not None]
    least, most = mean_bounds([*sure, *open_])
    if not known and all(value.most is None for value in missing):
        most = _full_marks(options)  # for the case that none of them needs a citation
    return ResponseValue(sum(known) / len(known) if known else None, len(known), len(missing), least, most)


def mean_bounds(ends: Sequence[ValueBounds]) -> tuple[float | None, float | None]:
    """Return (lowest, highest) possible mean of values, from the bounds of each (`ends`); (None, None) without values.

    Values that may be left out are included where they lower the lowest or raise the highest mean.
    """
    sure = [(least, most) for least, most in ends if most is not None]
    perhaps = [least for least, most in ends if most is None]
    least = _lowest([least for least, _ in sure], perhaps)
    most = _lowest([-most for _, most in sure], [-value for value in perhaps])
    return least, None if most is None else 0.0 - most  # -most could be -0.0


def _nothing_rated(values: Sequence[StatementValue], options: CiteEvalOptions) -> ResponseValue:
    """Return the value of a response none of whose statements counts in the scenario. values: in the scenario full."""
    # A masked statement that lacks a citation counts as 0 in the full scenario.
    if any(value.state == "lacks a citation" for value in values):
        return ResponseValue(0.0, 0, 0, 0.0, 0.0)
    nothing = _full_marks(options)
    if undecided := sum(value.state == "missing" for value in values):
        return ResponseValue(None, 0, undecided, 0.0, nothing)
    return ResponseValue(nothing, 0, 0, nothing, nothing)


def _full_marks(options: CiteEvalOptions) -> float | None:
    """Return the value of a response without statements to rate: 1, or None (undefined), as the options say."""
    return 1.0 if options.nothing_rated == "full marks" else None


def _lowest(sure: Sequence[float], perhaps: Sequence[float]) -> float | None:
    """Return the lowest mean over all of `sure` and any subset of `perhaps`; None without values."""
    total, number = sum(sure), len(sure)
    for value in sorted(perhaps):
        if not number or value * number < total:
            total, number = total + value, number + 1
    return total / number if number else None
