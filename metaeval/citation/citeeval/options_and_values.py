"""CiteEval's profiles, and its values, in [0, 1], of statements, and of responses in both scenarios.

Values are columns (`Units`) with their bounds where verdicts are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from metaeval.citation.citeeval.citation_edits import PUBLISHED, Coefficients, Edit, edit_distance, edit_problems
from metaeval.stats.arrays import Bools, Floats, Ints, ratio

# What a statement without citations is worth: 0 or nothing by what it rests on (by context), always 0 (fails), what the
# judge's own rating and edits of it say (rated), or nothing, and the judge does not see it (left out).
UncitedStatements = Literal["by context", "fails", "rated", "left out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteEvalOptions:
    """What the paper leaves open or the released code decides: the defaults are the profile "paper".

    styles: citation marks that are read: all styles ([1, 2], [1-3], [^1], 【1】, ¹), or plain [1] alone. highest: the
    highest number that is read as a citation (None: the number of passages). no_answer: where a response that says that
    it found no answer becomes one statement: where this is a lone sentence without a citation, or anywhere. leading:
    marks that open a sentence and go to the sentence before: those that open one within a line, or as in the released
    code, those behind punctuation and at the start of a line too, and citations in the order of a set. merge_below:
    length in characters below which a sentence joins the one before, if it carries a citation or ends a line that is
    not the last (0: none does).

    missing_context: context of a statement that the judge left out. missing_rating, missing_edits: rating and edits of
    a cited statement that the judge left out: missing, or full marks and none needed. bad_edits: edit distance of a
    statement with an impossible edit (it deletes what is not cited, adds what is, or adds a passage that does not
    exist): unscored, or scored as it stands. index_shift: count the response's citations one too high in the edit
    distance, as the released code does. nothing_rated: value of a response none of whose statements needs a rating.
    stops: let an empty line end the run, as it ends the released code's. tags: read replies in tags strictly, or by the
    released code's patterns. otherwise: label of a reply to AttrScore that gives none of the three labels. uncited:
    that of the judge (see `judge.Asking`).
    """

    styles: Literal["all", "plain"] = "all"
    highest: int | None = None
    no_answer: Literal["lone sentence", "anywhere"] = "lone sentence"
    leading: Literal["in line", "released"] = "in line"
    merge_below: int = 0
    missing_context: Literal["missing", "retrieval"] = "missing"
    missing_rating: Literal["missing", "full marks"] = "missing"
    missing_edits: Literal["missing", "none"] = "missing"
    bad_edits: Literal["unscored", "as it stands"] = "unscored"
    index_shift: bool = False
    nothing_rated: Literal["undefined", "full marks"] = "undefined"
    stops: bool = False
    tags: Literal["strict", "released"] = "strict"
    otherwise: Literal["missing", "attributable"] = "missing"
    uncited: UncitedStatements = "by context"


# The definition of the paper, with all styles of marks; missing verdicts stay missing.
PAPER = CiteEvalOptions()

# amazon-science/CiteEval at commit 88f567d, reproduced from its outputs on stored inputs.
RELEASED = CiteEvalOptions(
    styles="plain",
    highest=10,
    no_answer="anywhere",
    leading="released",
    merge_below=20,
    missing_context="retrieval",
    missing_rating="full marks",
    missing_edits="none",
    bad_edits="as it stands",
    index_shift=True,
    nothing_rated="full marks",
    stops=True,
    tags="released",
    otherwise="attributable",
)

PROFILES: Mapping[str, CiteEvalOptions] = {"paper": PAPER, "released": RELEASED}

# The four contexts, under the numbers that the official prompt gives them.
#
# query: the user's question. retrieval: the passages. response: the response itself. model: the model's own knowledge.
CONTEXTS: Mapping[int, str] = {1: "query", 2: "retrieval", 3: "response", 4: "model"}

RETRIEVAL = 2
STARS = (1, 2, 3, 4, 5)

# All statements (full), or only those with citations (cited).
CitedScenario = Literal["full", "cited"]

SCENARIOS: tuple[CitedScenario, ...] = ("full", "cited")


class Units(NamedTuple):
    """Values of statements or responses, with the worst and the best that they can be, (n,) each.

    All three are NaN for a unit that is left out of means. Where a verdict is missing, the value of a statement is NaN
    and worst is not; best is NaN too where the statement is 0 or left out of the mean.
    """

    value: Floats
    worst: Floats
    best: Floats

    @property
    def missing(self) -> Bools:
        """Whether a statement lacks a verdict."""
        return np.isnan(self.value) & ~np.isnan(self.worst)


UnitEnds = tuple[float, float, float]  # a statement's value, worst and best

# A statement that needs no citation and has none is left out of the mean.
NEEDS_NONE: UnitEnds = (np.nan, np.nan, np.nan)

LACKS: UnitEnds = (0.0, 0.0, 0.0)
MISSING: UnitEnds = (np.nan, 0.0, 1.0)
# A statement without citations of which it is not known whether it needs one.
UNDECIDED: UnitEnds = (np.nan, 0.0, np.nan)


def context_of(judged: int | None, options: CiteEvalOptions = PAPER) -> int | None:
    """Return the context of a statement: the judged one, or, where that is None, the option's (None: missing)."""
    filled = options.missing_context == "retrieval" and options.uncited == "by context"
    return RETRIEVAL if judged is None and filled else judged


def by_rating(
    citations: Sequence[int], context: int | None, stars: int | None, options: CiteEvalOptions = PAPER
) -> UnitEnds:
    """Return IterCoE: the judge's rating (stars, 1 to 5) as (stars - 1) / 4; of an uncited statement, see `uncited`."""
    if not citations and options.uncited != "rated":
        return uncited(context, options)
    if stars is None:
        return (1.0, 1.0, 1.0) if options.missing_rating == "full marks" else MISSING
    return ((stars - 1) / 4,) * 3


def by_edits(
    citations: Sequence[int],
    context: int | None,
    edits: Sequence[Edit] | None,
    options: CiteEvalOptions = PAPER,
    passages: Collection[int] | None = None,
    coefficients: Coefficients = PUBLISHED,
) -> UnitEnds:
    """Return EditDist: the edit distance of a statement's citations; of an uncited statement, see `uncited`.

    edits: None where the judge gave none, empty where it would change nothing. passages: numbers of the passages (None:
    not known, and additions of any passage are allowed).
    """
    if not citations and options.uncited != "rated":
        return uncited(context, options)
    if edits is None and options.missing_edits == "none":
        return (1.0, 1.0, 1.0)
    if edits is None or (options.bad_edits == "unscored" and edit_problems(citations, edits, passages)):
        # Between the ends of what the coefficients can give and 1, the value without edits.
        worths = [worth + coefficients.intercept for worth in coefficients.action.values()]
        return np.nan, min(1.0, *worths), max(1.0, *worths)
    return (edit_distance(citations, edits, coefficients, options.index_shift),) * 3


def uncited(context: int | None, options: CiteEvalOptions = PAPER) -> UnitEnds:
    """Return the value of a statement without citations: 0 if it rests on the passages, none if on something else.

    Where contexts are not asked for, as the option `uncited` says.
    """
    unknown = {"fails": LACKS, "left out": NEEDS_NONE}.get(options.uncited, UNDECIDED)
    return {None: unknown, RETRIEVAL: LACKS}.get(context_of(context, options), NEEDS_NONE)


def in_scenario(units: Units, cited: Bools, scenario: CitedScenario) -> Units:
    """Return the units, in the scenario "cited" with those of statements without citations left out."""
    return units if scenario == "full" else Units(*(np.where(cited, column, np.nan) for column in units))


def response_values(
    units: Units, cited: Bools, response: Ints, n: int, scenario: CitedScenario = "full", rules: CiteEvalOptions = PAPER
) -> tuple[Units, Ints, Ints]:
    """Return the values of n responses, and how many of their statements have a value, and lack a verdict.

    units, cited, response: of each statement its value, whether it has citations, and its response. A response is the
    mean over its statements that have a value. If all of them need no rating, it is undefined or gets full marks, as
    the rules say. In the scenario "cited", a response without citations is 0 if one of its statements needs a
    citation (or is rated), and missing if the judge's verdict on that is missing.
    """

    def total(of: Floats | Bools) -> Floats:
        return np.bincount(response, np.nan_to_num(of), n).astype(np.float64)

    used = in_scenario(units, cited, scenario)
    known, missing = total(~np.isnan(used.value)), total(used.missing)
    worst, best = mean_ends(used, response, n)
    nothing = 1.0 if rules.nothing_rated == "full marks" else np.nan
    # None of the statements, if they all lack the verdict whether they need a citation, may need one.
    best = np.where((known == 0) & (total(~np.isnan(used.best)) == 0), nothing, best)
    # In a response of which nothing counts, uncited statements decide.
    lacks, undecided = total(~cited & ~np.isnan(units.best)) > 0, total(~cited & units.missing)
    empty = known + missing == 0
    value = np.where(empty & lacks, 0.0, np.where(empty & (undecided == 0), nothing, ratio(total(used.value), known)))
    worst = np.where(empty, np.where(lacks | (undecided > 0), 0.0, nothing), worst)
    best = np.where(empty, np.where(lacks, 0.0, nothing), best)
    missing = np.where(empty & ~lacks, undecided, missing)
    return Units(value, worst, best), known.astype(np.int64), missing.astype(np.int64)


def mean_ends(units: Units, of: Ints, n: int) -> tuple[Floats, Floats]:
    """Return the lowest and the highest possible mean of each of n sets of units; NaN for a set without units."""
    sums: Floats = np.stack([np.bincount(of, column, n) for column in moments_of_ends(units).T])
    return lowest(sums), highest(sums)


def moments_of_ends(units: Units) -> Floats:
    """Return what `lowest` and `highest` take sums of, (n, 4): worst, best, whether it counts, whether it may count."""
    sure = ~np.isnan(units.best)
    perhaps = ~np.isnan(units.worst) & ~sure
    return np.stack([np.where(sure, column, 0.0) for column in units[1:]] + [sure, perhaps], axis=1)


def lowest(sums: Floats) -> Floats:
    """Return the lowest possible mean from sums of `moments_of_ends`, (4, R): zeros that may count do if they lower."""
    return np.fmin(ratio(sums[0], sums[2]), ratio(sums[0], sums[2] + sums[3]))


def highest(sums: Floats) -> Floats:
    """Return the highest possible mean from sums of `moments_of_ends`, (4, R)."""
    return np.fmax(ratio(sums[1], sums[2]), ratio(sums[1], sums[2] + sums[3]))
