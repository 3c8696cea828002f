"""How ALiiCE reads a sentence: which marks, which characters go, the words, and the groups that hang on them."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from metaeval.citation.aliice.profile import Profile
from metaeval.citation.reading import Reading, whole, without

MARK = re.compile(r"\[(\d{1,18})\]")
"""The only form that the rules know; what the profile's styles read besides is brought to it beforehand.

No list of passages needs more digits, and Python refuses to read some longer numbers.
"""
_DELETED = {
    "released": re.compile(r"[^\w\s\[\],]"),
    "light": re.compile(r"(?!(?<=\w)['’.‐‑–-](?=\w))[^\w\s\[\],%$€£]"),
}
_PART = re.compile(rf"(?P<mark>{MARK.pattern})|(?P<word>(?:(?!{MARK.pattern})\S)+)")

Found = tuple[int, int, int]
"""A mark of a sentence: start and end offsets in it, and the number."""


@dataclass(frozen=True, slots=True)
class Group:
    """Adjacent marks, white space between them allowed. word: place of the word that they hang on."""

    word: int
    marks: tuple[Found, ...]

    @property
    def citations(self) -> tuple[int, ...]:
        """The numbers, in order."""
        return tuple(number for _, _, number in self.marks)


def has_mark(text: str) -> bool:
    """Whether the text holds a [n]."""
    return MARK.search(text) is not None


def marks_of(reading: Reading) -> tuple[Found, ...]:
    """All marks of a cleaned sentence, with their offsets in the sentence as it was."""
    return tuple(_found(reading, match) for match in MARK.finditer(reading.text))


def cleaned(sentence: str, profile: Profile) -> Reading:
    """The sentence without the characters that the profile's cleaning deletes; the marks stay."""
    return without(whole(sentence), [match.span() for match in _DELETED[profile.cleaning].finditer(sentence)])


def without_marks(sentence: str) -> str:
    """The sentence as ALCE gives it to the NLI model: no marks, and no closing bracket anywhere."""
    return re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", sentence)).replace(" |", "").replace("]", "")


def words_and_groups(clean: Reading, profile: Profile) -> tuple[tuple[str, ...], tuple[Group, ...]]:
    """Split a cleaned sentence into words and citation groups.

    A group hangs on the word before it, at the start of the sentence on the first word (place 0, also where there is
    none). Where two groups hang on one word the profile says what becomes of them.
    """
    words: list[str] = []
    groups: list[Group] = []
    apart = True
    for part in _PART.finditer(clean.text):
        if part["mark"] is None:
            words.append(part["word"].strip(string.punctuation) if profile.strip_words else part["word"])
            apart = True
            continue
        mark = _found(clean, part)
        if apart:
            groups.append(Group(max(len(words) - 1, 0), (mark,)))
        else:
            groups[-1] = Group(groups[-1].word, (*groups[-1].marks, mark))
        apart = False
    return tuple(words), gathered(groups, profile)


def gathered(groups: list[Group], profile: Profile) -> tuple[Group, ...]:
    """One group per place, in order of the places' first groups: of two the profile keeps both, or the later one."""
    at: dict[int, Group] = {}
    for group in groups:
        before = at[group.word].marks if profile.merge_groups and group.word in at else ()
        at[group.word] = Group(group.word, (*before, *group.marks))
    return tuple(at.values())


def _found(reading: Reading, match: re.Match[str]) -> Found:
    return reading.at[match.start()], reading.at[match.end() - 1] + 1, int(match[0][1:-1])
