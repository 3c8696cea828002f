"""The sentences of an answer and its reference without marks, and where groups and a fact's segment stand in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.model import Answer, Mark
from metaeval.citation.scifi.model import DEFAULTS, Placed, ScifiOptions, Segment, Sentence
from metaeval.citation.sentences import (
    Reading,
    added,
    cited_spans,
    find_marks,
    joined,
    move_leading,
    part,
    span,
    split,
    stripped,
    unread,
    whole,
)
from metaeval.corpus.sentences import RULES, SentenceSplitter


def read_sentences(
    answer: Answer, options: ScifiOptions = DEFAULTS, splitter: SentenceSplitter = RULES
) -> tuple[Sentence, ...]:
    """The sentences of an answer, in order, numbered from 1.

    A sentence without a letter is none ("1.", "--"), unless it holds a number and a citation. Marks that the styles
    cannot read stay in the text.
    """
    moved = move_leading(split(whole(answer.text), splitter), options.leading, options.styles)
    found: list[Sentence] = []
    for reading in moved:
        clean, groups = _cleaned(stripped(reading), options, answer.first)
        if has_letter(clean.text) or (groups and any(character.isalnum() for character in clean.text)):
            where = span(reading)
            found.append(Sentence(len(found) + 1, clean.text, where.start, where.end, groups))
    return tuple(found)


def unread_marks(answer: Answer, sentences: Sequence[Sentence]) -> list[Mark]:
    """The marks of the answer that belong to no group: of forms that the styles do not read, or in no sentence."""
    read = [mark for sentence in sentences for group in sentence.groups for mark in group.marks]
    return unread(find_marks(answer.text, first=answer.first), read)


def without_marks(text: str, options: ScifiOptions) -> str:
    """A text without the citation groups that the styles read, and the white space before each."""
    clean, _ = _cleaned(whole(text), options, first=1)
    return clean.text


def has_letter(text: str) -> bool:
    """Whether a text can state anything: a fact needs a letter."""
    return any(character.isalpha() for character in text)


def _cleaned(reading: Reading, options: ScifiOptions, first: int) -> tuple[Reading, tuple[Placed, ...]]:
    """The reading without its groups and the white space before each, and the groups at their places."""
    clean, end = Reading("", ()), 0
    placed: list[Placed] = []
    for group in cited_spans(reading.text, options.styles, first):
        before = len(reading.text[: group.start].rstrip())
        clean = _continued(clean, part(reading, end, max(end, before)), bool(placed))
        marks = tuple(Mark(reading.at[mark.start], reading.at[mark.end - 1] + 1, mark.number) for mark in group.marks)
        placed.append(Placed(len(clean.text), marks))
        end = group.end
    return _continued(clean, part(reading, end, len(reading.text)), bool(placed)), tuple(placed)


def _continued(clean: Reading, rest: Reading, behind_mark: bool) -> Reading:
    """What stands behind a mark, put behind what stands before it; two words that it parted stay two."""
    if not clean.text:
        return part(rest, len(rest.text) - len(rest.text.lstrip()), len(rest.text))
    parted = behind_mark and clean.text[-1].isalnum() and rest.text[:1].isalnum()
    return joined(clean, added(" "), rest) if parted else joined(clean, rest)


def given_facts(answer: Answer) -> tuple[str, ...] | None:
    """The reference's own `claims`, as they are; None where there are none."""
    claims = answer.reference.get("claims")
    if not isinstance(claims, list | tuple) or not all(isinstance(claim, str) for claim in claims):
        return None
    return tuple(claim for claim in claims if has_letter(claim)) or None


def reference_sentences(
    answer: Answer, options: ScifiOptions = DEFAULTS, splitter: SentenceSplitter = RULES
) -> tuple[str, ...] | None:
    """The sentences of the reference's `answer`, without marks; None where there is no such text."""
    text = answer.reference.get("answer")
    if not isinstance(text, str) or not text.strip():
        return None
    read = read_sentences(Answer(answer.id, text, (), first=answer.first), options, splitter)
    return tuple(sentence.text for sentence in read if has_letter(sentence.text)) or None


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


def find_segment(sentence: str, said: str, options: ScifiOptions = DEFAULTS) -> Segment | None:
    """Where in a sentence stands what was said: verbatim, else but for case, else the likest words (`likest_run`).

    Of several places the option `twice` takes the first or the last; but one where no word is cut comes before one
    where some is ("art" in "started by art"). Where nothing is found: the whole sentence, or None, as the option
    `unmapped` says.
    """
    last = options.twice == "last"
    said = said.strip()
    if said:
        pattern = r"\s+".join(map(re.escape, said.split()))
        if found := _place(re.escape(said), sentence, last, True) or _place(pattern, sentence, last, False):
            return found
        if options.likeness < 1 and (run := likest_run(sentence, said, options.likeness, last)):
            return Segment(*run, "fuzzy")
    return Segment(0, len(sentence), "sentence") if options.unmapped == "sentence" else None


def _place(pattern: str, sentence: str, last: bool, verbatim: bool) -> Segment | None:
    flags = re.NOFLAG if verbatim else re.IGNORECASE
    for one in (rf"(?<!\w){pattern}(?!\w)", pattern):
        # Looked ahead, so that a place may begin within another one.
        if matches := list(re.finditer(f"(?=({one}))", sentence, flags)):
            return Segment(*matches[-1 if last else 0].span(1), "verbatim" if verbatim else "case folded")
    return None
