"""ALiiCE's profiles: the choices on which the paper and its released code differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from metaeval.citation.citation_table import Profile, Uncited, find_profile
from metaeval.citation.marks_and_sentences import Leading

# What the coefficient of variation of citation positions is of (`AliiceProfile.cvcp`).
Positions = Literal["marks", "groups", "offsets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AliiceProfile(Profile):
    """The rules by which claims are cut out of sentences; the defaults are the profile "paper".

    strip_words: strip ASCII punctuation from the ends of words, commas too; a comma that stood alone leaves an empty
    word. one_root: parse only what the parser sees as one sentence. merge_groups: merge two citation groups on one word
    or token; else the later replaces the earlier. hangs_on: the token of a citation: the last of the word before it by
    character offsets, punctuation left out (offset), or the nearest that holds the word or is held by it, which can be
    a comma (word). cited_root: a citation on the tree's root goes through the tree like any other, or makes one claim
    of the whole sentence with all its citations. lost_group: the claim of a group whose word is not in the tree: the
    whole sentence, or it is lost (with all other groups of its sentence, if the word matches no token). replace_root:
    where the tree's root is the other citation's node, let the child towards the claim's own replace it; the released
    code hangs that child under the root a second time. key: keep claims by group, or by their text, where the last
    group wins. emptied: drop a sentence that had nothing but marks that were moved, or keep it as an empty, uncited
    one. cvcp: whose positions the coefficient of variation of citation positions is of. Among a sentence's words and
    punctuation, as a mean over an answer's cited sentences: of every mark, as the paper counts them, or of every group
    of marks; or, as the code has it, of the characters at which all marks of all answers stand.
    """

    strip_words: bool = False
    one_root: bool = True
    merge_groups: bool = True
    hangs_on: Literal["offset", "word"] = "offset"
    cited_root: Literal["tree", "sentence"] = "tree"
    lost_group: Literal["sentence", "lost"] = "sentence"
    replace_root: bool = True
    key: Literal["group", "text"] = "group"
    emptied: Literal["drop", "keep"] = "drop"
    cvcp: Positions = "marks"
    leading: Leading = "move all"
    uncited: Uncited = "left out"
    by_group: bool = True


# The paper's definitions; what the paper leaves open is chosen to match its figures and to lose no citation.
PAPER = AliiceProfile()

# ylXuu/ALiiCE, `myparser.py` and `eval.py` at commit 7665642, digit for digit.
RELEASED = AliiceProfile(
    name="released",
    strip_words=True,
    one_root=False,
    merge_groups=False,
    hangs_on="word",
    cited_root="sentence",
    lost_group="lost",
    replace_root=False,
    key="text",
    styles="plain",
    leading="move first",
    emptied="keep",
    bound=5,
    zero="last passage",
    out_of_range="left out",
    untitled="title line",
    by_group=False,
    cvcp="offsets",
)

PROFILES: Mapping[str, AliiceProfile] = {"paper": PAPER, "released": RELEASED}

aliice_profile = partial(find_profile, PROFILES)
