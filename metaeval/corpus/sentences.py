"""A sentence splitter that needs no data: one pass of rules over the places where a sentence may end."""

from __future__ import annotations

import re

SPLITTER = "rules-1"
"""Name and version of the rules, for signatures. A change that can move a boundary raises the number."""

# Where a sentence may end: closing punctuation, any closing quotes or brackets, then white space and something that
# can open a sentence. A line break always ends one.
_BOUNDARY = re.compile(
    r"""(?P<end>[.!?…]+[\"'”’)\]]*)(?P<space>[ \t]+)(?=[\"'“‘(\[]*[A-ZÀ-ÖØ-Þ0-9])|(?P<line>\s*\n\s*)""", re.VERBOSE
)
_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof sr jr st mt ft gen col lt sgt capt rev hon gov sen rep pres vs etc inc ltd co corp dept univ
    est approx no nos vol fig figs eq sec ch pp ed eds al cf e.g i.e a.m p.m ph.d u.s u.k u.n d.c
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun""".split()
)
# Abbreviations that may also close a sentence: they keep it open only before a number ("Fig. 3", "Jan. 5", "No. 7").
_BEFORE_NUMBER = frozenset(
    "no nos vol fig figs eq sec ch pp ed p.m a.m est approx mar may sun sat mon etc co inc".split()
)
_LAST_WORD = re.compile(r"[\w.]*\w$")


def split_sentences(text: str) -> tuple[str, ...]:
    """Split text into sentences, stripped, in order; empty text gives an empty tuple.

    A full stop does not end a sentence after a known abbreviation, a single initial ("J. Smith") or a dotted
    acronym ("U.S. Navy"); a line break always does.
    """
    sentences: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if match["line"] is None and match["end"] == "." and _stays_open(text, start, match):
            continue
        end = match.end("end") if match["line"] is None else match.start()
        sentences.append(text[start:end].strip())
        start = match.end()
    sentences.append(text[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


def _stays_open(text: str, start: int, match: re.Match[str]) -> bool:
    word = _LAST_WORD.search(text, start, match.start("end"))
    if word is None:
        return False
    token = word[0].lower()
    follows_number = text[match.end()].isdigit()
    if token in _BEFORE_NUMBER:
        return follows_number
    is_initial = len(token) == 1 and word[0].isupper() and token != "i"
    return token in _ABBREVIATIONS or is_initial or re.fullmatch(r"(?:[a-z]\.)+[a-z]", token) is not None
