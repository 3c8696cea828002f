"""Every choice that the paper and its released code make differently, each by name, and the two as profiles."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from metaeval.citation.marks import MarkStyles
from metaeval.citation.premises import Untitled, Zero
from metaeval.citation.sentences import Leading
from metaeval.errors import UserError, unknown

PLAIN = MarkStyles(lists=False, ranges=False, carets=False)
"""[1] alone is a mark, as the released code has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How a sentence becomes claims, and how verdicts become numbers.

    cleaning: which characters the parser and the metric never see: "released" deletes all but word characters, white
    space, brackets and commas (3.5% becomes 35); "light" keeps decimals, hyphens and apostrophes inside a word, and
    percent and currency signs. spacing: a claim's tokens are joined by spaces ("released": "Anatomy , the"), or stand
    as they were written. strip_words: ASCII punctuation goes from the ends of words, commas too, and a comma that stood
    alone leaves an empty word. longest: sentences of more white-space words are not parsed (None: all are).
    one_root: the parser has to see one sentence. merge_groups: two groups on one word or token become one, else the
    later replaces the earlier. cited_root: a citation on the tree's root goes through the tree like any other, or makes
    one claim of the whole sentence with all its citations. lost_group: a group whose word is no token of the tree
    takes the whole sentence, or is lost (with all others of its sentence, when the word is no token at all).
    rules: the paper's ("positional"), or claims that stand alone ("expanded"). replace_root: where the tree's root is
    the other citation's node, the child towards the claim's own replaces it; the released code hangs that child under
    the root a second time. key: claims are kept by group, or by their text, where the last group wins.
    styles: the marks that are read. leading: what becomes of marks that open a sentence. emptied: a sentence that had
    nothing but such marks is no longer one ("drop"), or stays as an empty, uncited one.
    bound: highest number that is a citation (None: the number of passages). zero: what the number 0 cites.
    out_of_range: a mark that cites no passage is one unsupported mark ("mark fails"), or takes its group out of every
    denominator ("left out"). untitled: what stands for a passage without a title. precision: mean over all marks of an
    answer ("marks"), or over its groups of the mean over a group's marks ("groups"). cvcp: which coefficient of
    variation of citation positions.
    """

    name: str
    cleaning: Literal["released", "light"] = "released"
    spacing: Literal["released", "written"] = "released"
    strip_words: bool = False
    longest: int | None = 50
    one_root: bool = True
    merge_groups: bool = True
    cited_root: Literal["tree", "sentence"] = "tree"
    lost_group: Literal["sentence", "lost"] = "sentence"
    rules: Literal["positional", "expanded"] = "positional"
    replace_root: bool = True
    key: Literal["group", "text"] = "group"
    styles: MarkStyles = field(default_factory=MarkStyles)
    leading: Leading = "move all"
    emptied: Literal["drop", "keep"] = "drop"
    bound: int | None = None
    zero: Zero = "out of range"
    out_of_range: Literal["mark fails", "left out"] = "mark fails"
    untitled: Untitled = "text only"
    precision: Literal["groups", "marks"] = "groups"
    cvcp: Literal["paper", "released"] = "paper"

    def __post_init__(self) -> None:
        for option in ("longest", "bound"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise ValueError(f"{option} is {value}; it is a whole number from 1, or none.")

    @property
    def signature(self) -> str:
        """The name, and every option that differs from the profile of that name."""
        base = PROFILES.get(self.name, PAPER)
        changed = [
            f"{option.name}={getattr(self, option.name)}"
            for option in fields(self)
            if option.name != "name" and getattr(self, option.name) != getattr(base, option.name)
        ]
        return "|".join([self.name, *changed])


PAPER = Profile(name="paper")
"""The paper's definitions; what it leaves open so that its figures come out and no citation is lost."""

RELEASED = Profile(
    name="released",
    strip_words=True,
    one_root=False,
    merge_groups=False,
    cited_root="sentence",
    lost_group="lost",
    replace_root=False,
    key="text",
    styles=PLAIN,
    leading="move first",
    emptied="keep",
    bound=5,
    zero="last passage",
    out_of_range="left out",
    untitled="title line",
    precision="marks",
    cvcp="released",
)
"""ylXuu/ALiiCE, `myparser.py` and `eval.py` at commit 7665642, digit for digit."""

EXPANDED = Profile(name="expanded", cleaning="light", spacing="written", rules="expanded")
"""The paper's profile with claims that stand alone, and with text that an NLI model can read."""

PROFILES = {profile.name: profile for profile in (PAPER, RELEASED, EXPANDED)}


def aliice_profile(name: str = "paper", **changes: Any) -> Profile:
    """A profile with some options changed. Raises `UserError` on an unknown profile, option, or limit."""
    if name not in PROFILES:
        raise unknown("profile", name, PROFILES)
    for option in changes:
        if option not in Profile.__dataclass_fields__ or option == "name":
            raise unknown("option of ALiiCE", option, Profile.__dataclass_fields__.keys() - {"name"})
    try:
        return replace(PROFILES[name], **changes)
    except ValueError as error:
        raise UserError(str(error)) from error
