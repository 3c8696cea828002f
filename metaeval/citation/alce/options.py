"""What ALCE leaves open or its released code decides in passing: each a named option, two profiles as presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from metaeval.citation.premises import Untitled, Zero
from metaeval.citation.profiles import by_profile, changed_profile, profile_of
from metaeval.citation.sentences import UNCLOSED, Leading, MarkStyles
from metaeval.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class AlceOptions:
    """How citation recall and precision are computed; the defaults are the profile "paper"."""

    statements: Literal["sentences", "list items"] = "sentences"
    """Unit of a claim: sentences, or list items of a comma-separated answer (QAMPARI), each read behind its
    question."""
    styles: MarkStyles = by_profile(MarkStyles(), released=UNCLOSED)
    """Citation marks that are read, as NAME: VALUE of the marks' own options."""
    lines: Literal["first", "all"] = by_profile("all", released="first")
    """Read all lines of an answer, or the first only."""
    leading: Leading = "keep"
    """What becomes of marks that open a sentence, as they do after a full stop: they stay, or the first or all of
    them move to the sentence before."""
    cleaning: Literal["marks", "pattern"] = by_profile("marks", released="pattern")
    """How marks leave the claim: marks removes the marks that are read and the white space before them; pattern
    deletes '[digits', ' |' and every closing bracket, as the released code does."""
    zero: Zero = by_profile("out of range", released="last passage")
    """What the number 0 cites."""
    out_of_range: Literal["mark fails", "sentence fails"] = by_profile("mark fails", released="sentence fails")
    """A mark that points at no passage fails alone and counts as an imprecise citation (mark fails), or its whole
    sentence fails and its marks count in no precision (sentence fails)."""
    at_most: int | None = by_profile(None, released=3)
    """Most marks of a sentence that are read (none: all)."""
    repeats: Literal["drop", "keep"] = by_profile("drop", released="keep")
    """Read a number once in a sentence (drop), or each time (keep)."""
    wordless: Literal["skip", "judge"] = by_profile("skip", released="judge")
    """Skip a sentence without words, or judge it as an empty claim."""
    uncited_precision: Literal["undefined", "zero"] = by_profile("undefined", released="zero")
    """Precision of an answer without a citation that counts: undefined, or zero."""
    untitled: Untitled = by_profile("text only", released="title line")
    """Text of a passage without a title."""
    split_on: Literal["text as written", "small letters"] = by_profile("text as written", released="small letters")
    """Text that ROUGE-Lsum splits into sentences: as written, or in small letters."""
    commas: Literal["outside marks", "all"] = by_profile("outside marks", released="all")
    """Commas at which list items end: those outside marks, or all."""


PAPER = AlceOptions()
"""The definition of the paper (Gao et al. 2023, section 4), with marks read properly."""

RELEASED = profile_of(AlceOptions, "released")
"""princeton-nlp/ALCE, `eval.py` at commit 246c476, digit for digit."""

PROFILES: Mapping[str, AlceOptions] = {"paper": PAPER, "released": RELEASED}


def alce_options(profile: str = "paper", **changes: Any) -> AlceOptions:
    """A profile with some options changed. Raises `UserError` on an unknown profile or option, or a limit below 1."""
    options = changed_profile(PROFILES, profile, changes, "ALCE")
    if options.at_most is not None and options.at_most < 1:
        raise UserError(f"at_most is {options.at_most}; allowed: a whole number from 1, or none.")
    return options
