"""A sentence splitter that needs no data: one pass of rules over the places where a sentence may end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SPLITTER = "rules-2"
"""Name and version of the rules, for signatures. A change that can move a boundary raises the number."""

# A reference mark: "[2]", "[1, 2]", "[1-3]", "[^4]", "【5】".
_MARK = r"[\[【]\s*+\^?\d++(?:\s*+[,;–—-]\s*+\^?\d++)*+\s*+[\]】]"

# Where a sentence may end: closing punctuation, any closing quotes, brackets or reference marks, then white space and,
# behind opening quotes, brackets or list marks, the character that opens the next. The wide full stops of scripts
# without spaces need none, and keep the marks that follow. A line break always ends one. Possessive quantifiers keep
# the search linear on runs of dots or spaces.
_BOUNDARY = re.compile(
    rf"""(?<![.!?…])(?P<end>[.!?…]++["'”’»)\]]*+(?:{_MARK})*+)(?P<space>[^\S\n\r\u2028\u2029]++)
        (?=(?:[\[【]\^?(?=\d)|["'“‘«(\[\#*•·–—-])*+[^\S\n\r\u2028\u2029]*+(?P<next>[^\W_]))
        |[。！？]++["'”’»)\]」』）》]*+(?:[^\S\n\r\u2028\u2029]*+{_MARK})*+
        |(?P<line>[\n\r\u2028\u2029])""",
    re.VERBOSE,
)
_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof sr jr st mt ft gen maj col lt sgt capt rev hon gov sen rep pres v vs etc inc ltd co corp bros
    dept univ est approx c ca no nos vol fig figs eq sec ch p pp ed eds al cf e.g i.e a.m p.m ph.d u.s u.k u.n d.c
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun""".split()
)
# Abbreviations that may also close a sentence: they keep it open only before a number ("Fig. 3", "Jan. 5", "No. 7").
_BEFORE_NUMBER = frozenset(
    "c ca no nos vol fig figs eq sec ch p pp ed p.m a.m est approx mar may sun sat mon etc co inc".split()
)
_LAST_WORD = re.compile(r"[\w.]*\w\Z")
_ACRONYM = re.compile(r"(?:[a-z]\.)+[a-z]")
_LONGEST = 24  # characters looked back at for an abbreviation


def split_sentences(text: str) -> tuple[str, ...]:
    """Split text into sentences, stripped, in order; empty text gives an empty tuple.

    A sentence does not open with a small letter. A full stop does not end a sentence after a known abbreviation, a
    single initial ("J. Smith") or a dotted acronym ("U.S. Navy"); a line break and the wide stops 。！？ always do.
    """
    sentences: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if match["end"] is not None and (match["next"].islower() or _stays_open(text, match)):
            continue
        end = match.end() if match["line"] is None else match.start()
        sentences.append(text[start:end].strip())
        start = match.end()
    sentences.append(text[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


def _stays_open(text: str, match: re.Match[str]) -> bool:
    stop = match.start("end")
    word = _LAST_WORD.search(text, max(0, stop - _LONGEST), stop)
    if match["end"] != "." or word is None:
        return False
    token = word[0].lower()
    if len(token) == 1 and word[0].isupper():
        return token != "i"
    if token in _BEFORE_NUMBER:
        return match["next"].isdigit()
    return token in _ABBREVIATIONS or _ACRONYM.fullmatch(token) is not None


@dataclass(frozen=True, slots=True)
class SentenceSplitter:
    """A splitter and its name, which every result states; `split` gives the sentences in order, verbatim."""

    name: str
    split: Callable[[str], Sequence[str]]


RULES = SentenceSplitter(SPLITTER, split_sentences)
"""The project's rules: no data needed."""
