"""Whether texts look like another language than English, for which everything here is made and tested.

A text is taken for English until it says otherwise: in letters of another script, or in the function words of another
language. Texts of names and numbers say nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import islice

ENOUGH = 20
"""Foreign function words that have to be there before they are believed."""

_MOST = 500
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    """the of and to is was for that with by as are from at were which it has have had be this not their its been also
    but who he she they his her after when than into can more other during between about these would there""".split()
)
# Function words of Danish, Dutch, French, German, Italian, Norwegian, Polish, Portuguese, Spanish and Swedish that are
# no English words, and that no names are made with (la, van).
_OTHERS = frozenset(
    """der und ist nicht auf mit dem sich ein eine einer wurde auch wird für zu alle sind
    les est une pas qui sur au aux sont avec cette dans ont
    las y una por se que más su fue
    il che della nel dei sono è gli alla anche
    um uma não em foi mais são ao
    het een op zijn niet voor aan werd ook naar worden
    och att som är av för på inte med till det ett har
    og af er ikke til blev ble
    na nie jest się jako przez oraz został od""".split()
)


def language_note(texts: Iterable[str]) -> str:
    """A sentence for texts that look like another language than English, empty for others.

    The first 500 are read. It takes most letters in another script than Latin, or more function words of other
    European languages than of English.
    """
    words = [word for text in islice(texts, _MOST) for word in _WORD.findall(text.casefold())]
    letters = "".join(words)
    other = {char for char in set(letters) if not unicodedata.name(char, "LATIN").startswith("LATIN")}
    if 2 * sum(char in other for char in letters) > len(letters):
        return _NOTE.format("most of their letters are not Latin")
    others = sum(word in _OTHERS for word in words)
    if others >= ENOUGH and others > sum(word in _ENGLISH for word in words):
        return _NOTE.format("their function words are those of another language")
    return ""


_NOTE = (
    "the texts do not look English ({}): metrics, controls and sentence splitting are made for English, and tested on "
    "English alone"
)
