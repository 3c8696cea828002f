"""Words for the levels of support: one vocabulary for every file and for Python, and the words of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.core.cells import number_in, text_of
from metaeval.core.errors import UserError, shown
from metaeval.corpus.model import SupportLevel

# Levels by word, as `plain_word` returns it.
WORDS: Mapping[str, SupportLevel] = {
    word: level
    for level, words in {
        SupportLevel.FULL: "full fully fullysupported fullysupports supported supports fullsupport completesupport "
        "complete entailed entailment yes true correct y attributable fullyattributable pass passed grounded "
        "fullygrounded faithful consistent accurate factual",
        SupportLevel.PARTIAL: "partial partially partiallysupported partiallysupports partialsupport partly "
        "partlysupported partlysupports incomplete some somesupport partiallyattributable partiallygrounded "
        "partiallyfaithful",
        SupportLevel.NONE: "none no notsupported doesnotsupport unsupported nosupport notatall contradicted "
        "contradiction contradictory refuted refutes irrelevant false wrong incorrect n notattributable unattributable "
        "fail failed hallucinated hallucination ungrounded notgrounded unfaithful notfaithful inconsistent inaccurate "
        "nonfactual notfactual",
    }.items()
    for word in words.split()
}

# Words that say full support, or only that there is some: of a metric that says no more, the verdict is 1.
EITHER = frozenset("yes true correct y pass passed grounded faithful consistent accurate factual".split())

# Advice on words of a user's own, as a clause.
NAME_WORDS = 'or say what a word means: --map full=WORD,WORD (in Python: columns={"full": "WORD,WORD"})'


def plain_word(value: Any) -> str:
    """Return what is compared of a word: its letters, digits and question marks, without case; of a number, its value.

    A question mark is a doubt, so that "full?" is not a level. A text of other signs alone is compared whole.
    """
    text = text_of(value)
    try:
        return str(number_in(text))
    except ValueError:
        return "".join(letter for letter in text.casefold() if letter.isalnum() or letter == "?") or text


def own_words(chosen: Mapping[str, str]) -> dict[str, SupportLevel]:
    """Return the level of each word that a user gives a level, as `plain_word` returns it.

    chosen: words by role full, partial and none, with commas. Raises `UserError` for a word with two levels.
    """
    levels: dict[str, SupportLevel] = {}
    for level in SupportLevel:
        for text in filter(None, map(str.strip, (chosen.get(level.label) or "").split(","))):
            if levels.setdefault(plain_word(text), level) != level:
                raise UserError(f"{shown(text)} is given for two levels (full, partial, none): give it for one.")
    return levels
