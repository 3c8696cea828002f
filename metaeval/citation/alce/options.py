"""What ALCE leaves open or its released code decides in passing: each a named option, two profiles as presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from metaeval.citation.marks import UNCLOSED, MarkStyles
from metaeval.citation.premises import Untitled, Zero
from metaeval.citation.sentences import Leading
from metaeval.errors import UserError, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class AlceOptions:
    """How citation recall and precision are computed; the defaults are the profile "paper".

    statements: "sentences", or "list items" for answers that are comma-separated lists (QAMPARI), each item read
        behind its question.
    styles: the marks that are read.
    lines: read all lines, or the "first" only.
    leading: what becomes of marks that open a sentence, as they do after a full stop.
    cleaning: how marks leave the claim: "marks" takes out the marks that are read and the white space before them;
        "pattern" deletes `[digits`, ` |` and every closing bracket, wherever they stand, as the released code does.
    zero: what the number 0 cites.
    out_of_range: a mark that points at no passage fails alone and counts as an imprecise citation ("mark fails"), or
        its whole sentence fails and its marks count in no precision ("sentence fails").
    at_most: how many marks of a sentence are read; None: all.
    repeats: "drop" reads a number once per sentence; "keep" each time.
    wordless: a sentence without words is left out ("skip") or judged as an empty claim ("judge").
    uncited_precision: of an answer without a citation that counts: "undefined", or "zero".
    untitled: what stands for a passage without a title.
    split_on: what ROUGE-Lsum splits into sentences, the "text as written" or the text in "small letters".
    commas: list items end at commas "outside marks" or at "all" commas.
    """

    statements: Literal["sentences", "list items"] = "sentences"
    styles: MarkStyles = field(default_factory=MarkStyles)
    lines: Literal["first", "all"] = "all"
    leading: Leading = "keep"
    cleaning: Literal["marks", "pattern"] = "marks"
    zero: Zero = "out of range"
    out_of_range: Literal["mark fails", "sentence fails"] = "mark fails"
    at_most: int | None = None
    repeats: Literal["drop", "keep"] = "drop"
    wordless: Literal["skip", "judge"] = "skip"
    uncited_precision: Literal["undefined", "zero"] = "undefined"
    untitled: Untitled = "text only"
    split_on: Literal["text as written", "small letters"] = "text as written"
    commas: Literal["outside marks", "all"] = "outside marks"


PAPER = AlceOptions()
"""The definition of the paper (Gao et al. 2023, section 4), with marks read properly."""

RELEASED = AlceOptions(
    styles=UNCLOSED,
    lines="first",
    cleaning="pattern",
    zero="last passage",
    out_of_range="sentence fails",
    at_most=3,
    repeats="keep",
    wordless="judge",
    uncited_precision="zero",
    untitled="title line",
    split_on="small letters",
    commas="all",
)
"""princeton-nlp/ALCE, `eval.py` at commit 246c476, digit for digit."""

PROFILES: Mapping[str, AlceOptions] = {"paper": PAPER, "released": RELEASED}


def alce_options(profile: str = "paper", **changes: Any) -> AlceOptions:
    """A profile with some options changed. Raises `UserError` on an unknown profile or option, or a limit below 1."""
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    for name in changes:
        if name not in AlceOptions.__dataclass_fields__:
            raise unknown("option of ALCE", name, AlceOptions.__dataclass_fields__)
    options = replace(PROFILES[profile], **changes)
    if options.at_most is not None and options.at_most < 1:
        raise UserError(f"at_most is {options.at_most}; allowed: a whole number from 1, or none.")
    return options
