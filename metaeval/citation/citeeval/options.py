"""What CiteEval leaves open or its released code decides in passing, as options: two profiles are presets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

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
    none_cited: Literal["if required", "always"] = by_profile("if required", released="always")
    """When a response without a cited statement is 0 in the scenario of cited statements: if a citation is
    required, or always."""
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
