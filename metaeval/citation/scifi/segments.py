"""The stretch of a sentence that was said to state a fact, found again in the sentence."""

from __future__ import annotations

import re

from metaeval.citation.scifi.fuzzy_span import likest_run
from metaeval.citation.scifi.model import Segment
from metaeval.citation.scifi.options import ScifiOptions


def find_segment(sentence: str, said: str, options: ScifiOptions | None = None) -> Segment | None:
    """Where in a sentence stands what was said: verbatim, else but for case, else the likest words (`likest_run`).

    Of several places the option `twice` takes the first or the last; but one where no word is cut comes before one
    where some is ("art" in "started by art"). Where nothing is found: the whole sentence, or None, as the option
    `unmapped` says.
    """
    options = options or ScifiOptions()
    last = options.twice == "last"
    said = said.strip()
    if said:
        pattern = r"\s+".join(map(re.escape, said.split()))
        for found in (
            _place(re.escape(said), sentence, last, verbatim=True),
            _place(pattern, sentence, last, verbatim=False),
            _likest(sentence, said, options.likeness, last) if options.likeness < 1 else None,
        ):
            if found is not None:
                return found
    return Segment(0, len(sentence), "sentence") if options.unmapped == "sentence" else None


def _place(pattern: str, sentence: str, last: bool, verbatim: bool) -> Segment | None:
    flags = re.NOFLAG if verbatim else re.IGNORECASE
    for one in (rf"(?<!\w){pattern}(?!\w)", pattern):
        # Looked ahead, so that a place may begin within another one.
        if matches := list(re.finditer(f"(?=({one}))", sentence, flags)):
            return Segment(*matches[-1 if last else 0].span(1), "verbatim" if verbatim else "case folded")
    return None


def _likest(sentence: str, said: str, likeness: float, last: bool) -> Segment | None:
    found = likest_run(sentence, said, likeness, last)
    return None if found is None else Segment(*found, "fuzzy")
