"""ALiiCE's options and profiles: every choice on which the paper and its released code differ is a named option."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from metaeval.citation.citation_table import Untitled, Zero
from metaeval.citation.marks_and_sentences import Leading
from metaeval.citation.profiles import by_profile, changed_profile, check_limits, differing, profile_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Options for extracting claims from sentences and for turning verdicts into scores."""

    name: str
    """Name of the profile."""
    strip_words: bool = by_profile(False, released=True)
    """Strip ASCII punctuation from the ends of words, commas too; a comma that stood alone leaves an empty word."""
    one_root: bool = by_profile(True, released=False)
    """Parse only what the parser sees as one sentence."""
    merge_groups: bool = by_profile(True, released=False)
    """Merge two citation groups on one word or token; else the later replaces the earlier."""
    hangs_on: Literal["offset", "word"] = by_profile("offset", released="word")
    """Token that a citation hangs on: the last of the word before it by character offsets, punctuation left out
    (offset), or the nearest that holds the word or is held by it, which can be a comma (word)."""
    cited_root: Literal["tree", "sentence"] = by_profile("tree", released="sentence")
    """A citation on the tree's root goes through the tree like any other, or makes one claim of the whole sentence
    with all its citations."""
    lost_group: Literal["sentence", "lost"] = by_profile("sentence", released="lost")
    """Claim of a group whose word is not in the tree: the whole sentence, or it is lost (with all other groups of
    its sentence, if the word matches no token)."""
    rules: Literal["positional", "algorithm"] = by_profile("positional", printed="algorithm")
    """How claims are cut: by the rules behind the paper's figures (positional), or by its Algorithm 1 and section 3.2
    to the letter (algorithm)."""
    replace_root: bool = by_profile(True, released=False)
    """Where the tree's root is the other citation's node, let the child towards the claim's own replace it; the
    released code hangs that child under the root a second time."""
    key: Literal["group", "text"] = by_profile("group", released="text")
    """Keep claims by group, or by their text, where the last group wins."""
    styles: Literal["all", "plain"] = by_profile("all", released="plain")
    """Citation marks that are read: all styles ([1, 2], [1-3], [^1], 【1】), or plain [1] alone."""
    leading: Leading = by_profile("move all", released="move first")
    """What becomes of marks that open a sentence: they stay, or the first or all of them move to the sentence
    before."""
    emptied: Literal["drop", "keep"] = by_profile("drop", released="keep")
    """Drop a sentence that had nothing but such marks, or keep it as an empty, uncited one."""
    bound: int | None = by_profile(None, released=5)
    """Highest number that is read as a citation (none: the number of passages)."""
    zero: Zero = by_profile("out of range", released="last passage")
    """What the number 0 cites."""
    out_of_range: Literal["mark fails", "left out"] = by_profile("mark fails", released="left out")
    """A mark that cites no passage is one unsupported mark (mark fails), or takes its group out of every
    denominator (left out)."""
    untitled: Untitled = by_profile("text only", released="title line")
    """Text of a passage without a title."""
    precision: Literal["groups", "marks"] = by_profile("groups", released="marks")
    """Mean of precision over all marks of an answer (marks), or over its groups of the mean over a group's marks
    (groups)."""
    cvcp: Literal["paper", "released", "all sentences"] = by_profile(
        "paper", released="released", printed="all sentences"
    )
    """Coefficient of variation of citation positions: mean over an answer's cited sentences (paper), over all its n
    sentences, those without a citation as 0 (all sentences; Equation 4 to the letter), or as the code computes it."""
    rouge: Literal["Lsum", "L"] = by_profile("Lsum", printed="L")
    """ROUGE that is the correctness of answers without short answers, in the paper's tables: the code's ROUGE-Lsum, or
    ROUGE-L, which the paper names."""

    def __post_init__(self) -> None:
        check_limits(self, "bound")

    @property
    def signature(self) -> str:
        """Return "NAME|OPTION=VALUE|...", of each option that differs from the profile with the name."""
        base = replace(PROFILES.get(self.name, PAPER), name=self.name)
        return "|".join([self.name, *differing(self, base)])


PAPER = Profile(name="paper")
"""The paper's definitions; what the paper leaves open is chosen to match its figures and to lose no citation."""

RELEASED = profile_of(Profile, "released", name="released")
"""ylXuu/ALiiCE, `myparser.py` and `eval.py` at commit 7665642, digit for digit."""

PRINTED = profile_of(Profile, "printed", name="printed")
"""The paper's profile with what its text prints where its figures or its code differ."""

PROFILES = {profile.name: profile for profile in (PAPER, RELEASED, PRINTED)}


def aliice_profile(name: str = "paper", /, **changes: Any) -> Profile:
    """Return a profile with some options changed; `UserError` on an unknown profile or option, or a limit below 1."""
    return changed_profile(PROFILES, name, changes, "ALiiCE")
