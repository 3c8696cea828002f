"""The stretch of a sentence that was said to state a fact, found again in the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from metaeval.citation.scifi.model import Segment
from metaeval.citation.scifi.options import ScifiOptions

_WORD = re.compile(r"\w+(?:[^\w\s]+\w+)*")
_SLACK = 4  # a window may be longer or shorter than what was said by a quarter of its words


def find_segment(sentence: str, said: str, options: ScifiOptions | None = None) -> Segment | None:
    """Where in a sentence stands what was said: the first place verbatim, else but for case, else the likest words.

    A place where no word is cut comes before one where some is ("art" in "started by art"). By likeness: the run of
    words whose characters are likest, from the option `likeness` on; of equally like ones the shortest, then the first.
    Where nothing is found: the whole sentence, or None, as the option `unmapped` says.
    """
    options = options or ScifiOptions()
    said = said.strip()
    if said:
        pattern = r"\s+".join(map(re.escape, said.split()))
        for found in (
            _first(re.escape(said), sentence, verbatim=True),
            _first(pattern, sentence, verbatim=False),
            _likest(sentence, said, options.likeness) if options.likeness < 1 else None,
        ):
            if found is not None:
                return found
    return Segment(0, len(sentence), "sentence") if options.unmapped == "sentence" else None


def _first(pattern: str, sentence: str, verbatim: bool) -> Segment | None:
    flags = re.NOFLAG if verbatim else re.IGNORECASE
    for one in (rf"(?<!\w){pattern}(?!\w)", pattern):
        if match := re.search(one, sentence, flags):
            return Segment(match.start(), match.end(), "verbatim" if verbatim else "case folded")
    return None


def _likest(sentence: str, said: str, likeness: float) -> Segment | None:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(said.casefold())  # the one of the two that the matcher prepares once
    best: tuple[float, int, int] | None = None
    segment = None
    for start, end in _windows(sentence, len(said.split())):
        matcher.set_seq1(sentence[start:end].casefold())
        least = max(likeness, best[0] if best else 0.0)
        if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
            continue
        ratio = matcher.ratio()
        rank = (ratio, start - end, -start)
        if ratio >= likeness and (best is None or rank > best):
            best, segment = rank, Segment(start, end, "fuzzy")
    return segment


def _windows(sentence: str, words: int) -> Iterator[tuple[int, int]]:
    """Offsets of the runs of about so many words, without the punctuation around them."""
    found = [match.span() for match in _WORD.finditer(sentence)]
    slack = max(1, words // _SLACK)
    for length in range(max(1, words - slack), words + slack + 1):
        for first in range(len(found) - length + 1):
            yield found[first][0], found[first + length - 1][1]
