"""The stretch of a sentence that was said to state a fact, found again in the sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.scifi.model import Segment
from metaeval.citation.scifi.options import ScifiOptions

_Ints = NDArray[np.int64]

_WORD = re.compile(r"\w+(?:[^\w\s]+\w+)*")
_SLACK = 4  # a run may be longer or shorter than the text by a quarter of its words
_WORK = 600_000
"""What is spent on comparing, in characters of a run times characters of the text: about ten milliseconds."""


def likest_run(sentence: str, text: str, likeness: float, last: bool = False) -> tuple[int, int] | None:
    """Offsets of the run of about as many words whose characters are likest to the text's, from `likeness` on.

    Likeness is difflib's ratio without regard to case; of equally like runs the shortest is taken, then the first, or
    the last. Runs that share most words are compared first, and of the others those that could be likest; what would
    go beyond `_WORK` is left out, which sentences of usual length do not come near. None where no run is like enough.
    """
    if len(text) ** 2 > _WORK:
        return None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(text.casefold())  # the one of the two that the matcher prepares once
    best: tuple[float, int, int] | None = None
    found, work = None, _WORK
    for start, end, most in _runs(sentence, text, likeness):
        if best is not None and most < best[0]:
            continue
        work -= (end - start) * len(text)
        if work < 0:
            break
        matcher.set_seq1(sentence[start:end].casefold())
        rank = (matcher.ratio(), start - end, start if last else -start)
        if rank[0] >= likeness and (best is None or rank > best):
            best, found = rank, (start, end)
    return found


def _runs(sentence: str, text: str, likeness: float) -> Iterator[tuple[int, int, float]]:
    """Runs of about as many words as the text has, (start, end, the most that the likeness can be), in the order in
    which they are compared; without those that cannot be like enough, and without the punctuation around them.
    """
    spans = np.array([match.span() for match in _WORD.finditer(sentence)], dtype=np.int64).reshape(-1, 2)
    folded = [character.casefold() for character in sentence]
    letters, words = Counter(text.casefold()), Counter(match[0].casefold() for match in _WORD.finditer(text))
    letters_before = _seen(folded, letters)
    words_before = _seen([[sentence[start:end].casefold()] for start, end in spans], words)
    before = np.concatenate(([0], np.cumsum([len(one) for one in folded], dtype=np.int64)))
    weights = np.array([len(word) for word in words], dtype=np.int64)
    said = len(text.split())
    slack = max(1, said // _SLACK)
    found = []
    for size in range(max(1, said - slack), min(said + slack, len(spans)) + 1):
        starts, ends = spans[: len(spans) - size + 1, 0], spans[size - 1 :, 1]
        both = before[ends] - before[starts] + letters.total()
        most = 2 * _shared(letters_before[ends] - letters_before[starts], letters).sum(axis=1) / both
        shared = 2 * (_shared(words_before[size:] - words_before[:-size], words) @ weights) / both
        found.append(np.stack((starts, ends, most, shared))[:, most >= likeness])
    runs = np.concatenate(found, axis=1) if found else np.empty((4, 0))
    for start, end, most_of_run, _ in runs[:, np.lexsort((runs[1] - runs[0], -runs[2], -runs[3]))].T:
        yield int(start), int(end), float(most_of_run)


def _seen(units: Sequence[Iterable[str]], wanted: Mapping[str, int]) -> _Ints:
    """How often each of the wanted has occurred before every unit, and in the end: (units + 1, wanted)."""
    column = {one: place for place, one in enumerate(wanted)}
    counts = np.zeros((len(units) + 1, len(column)), dtype=np.int64)
    for row, unit in enumerate(units, start=1):
        for one in unit:
            if one in column:
                counts[row, column[one]] += 1
    return counts.cumsum(axis=0)


def _shared(counts: _Ints, wanted: Mapping[str, int]) -> _Ints:
    return np.minimum(counts, np.array(list(wanted.values()), dtype=np.int64))


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
