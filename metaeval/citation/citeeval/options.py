"""What CiteEval leaves open or its released code decides in passing: each a named option, two profiles as presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from metaeval.citation.marks import MarkStyles
from metaeval.errors import UserError, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteEvalOptions:
    """How a response is cut into statements, and how a judge's words become numbers; the defaults are "paper".

    Splitting:
    styles: the marks that are read.
    highest: the largest number that cites; None: the number of passages.
    no_answer: a response that says that it found no answer becomes one statement that says so: where it is a "lone
        sentence" without a citation, where such words stand "anywhere" in it, or "never".
    merge_below: a sentence of fewer characters joins the one before if it carries a citation or ends a line that is
        not the last; 0: none does.

    Judging:
    missing_context: a statement whose context the judge left out is "missing", or counts as resting on "retrieval".
    missing_rating: a cited statement without a rating is "missing", or gets "full marks".
    missing_edits: a cited statement without edits, not even an empty list, is "missing", or needs "none".
    bad_edits: a statement with an edit that cannot be (it deletes what is not cited, adds what is, or adds a passage
        that is not there) is "unscored" by edit distance, or scored "as it stands".
    index_shift: the released edit distance counts the citations of the response one too high, so that the judge's
        deletions miss them and its additions meet them.
    weight: the share of the rating in CiteEval-Auto; the rest is the edit distance's.

    Responses:
    nothing_rated: a response none of whose statements needs a rating is "undefined", or gets "full marks".
    none_cited: in the scenario of cited statements alone, a response without one is 0 "if required" (when one of its
        statements needed a citation; missing where the judge's word on that is), or "always".
    stops: an empty line within a response (after one of two line breaks is taken away) and a reason that does not
        exist end the run, as they end the released code's.
    """

    styles: MarkStyles = field(default_factory=MarkStyles)
    highest: int | None = None
    no_answer: Literal["never", "lone sentence", "anywhere"] = "lone sentence"
    merge_below: int = 0
    missing_context: Literal["missing", "retrieval"] = "missing"
    missing_rating: Literal["missing", "full marks"] = "missing"
    missing_edits: Literal["missing", "none"] = "missing"
    bad_edits: Literal["unscored", "as it stands"] = "unscored"
    index_shift: bool = False
    weight: float = 0.5
    nothing_rated: Literal["undefined", "full marks"] = "undefined"
    none_cited: Literal["if required", "always"] = "if required"
    stops: bool = False


PAPER = CiteEvalOptions()
"""The definition of the paper, with marks read properly and nothing that is missing turned into a number."""

RELEASED = CiteEvalOptions(
    styles=MarkStyles(lists=False, ranges=False, carets=False, corners=False),
    highest=10,
    no_answer="anywhere",
    merge_below=20,
    missing_context="retrieval",
    missing_rating="full marks",
    missing_edits="none",
    bad_edits="as it stands",
    index_shift=True,
    nothing_rated="full marks",
    none_cited="always",
    stops=True,
)
"""amazon-science/CiteEval at commit 88f567d, as far as its outputs on stored inputs tell."""

PROFILES: Mapping[str, CiteEvalOptions] = {"paper": PAPER, "released": RELEASED}


def citeeval_options(profile: str = "paper", **changes: Any) -> CiteEvalOptions:
    """A profile with some options changed. Raises `UserError` on an unknown profile or option, or a bad number."""
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    for name in changes:
        if name not in CiteEvalOptions.__dataclass_fields__:
            raise unknown("option of CiteEval", name, CiteEvalOptions.__dataclass_fields__)
    options = replace(PROFILES[profile], **changes)
    if options.highest is not None and options.highest < 1:
        raise UserError(f"highest is {options.highest}; allowed: a whole number from 1, or none.")
    if options.merge_below < 0:
        raise UserError(f"merge_below is {options.merge_below}; allowed: a whole number from 0.")
    if not 0 <= options.weight <= 1:
        raise UserError(f"weight is {options.weight}; allowed: a number from 0 to 1.")
    return options
