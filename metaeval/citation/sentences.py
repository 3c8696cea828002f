"""From an answer to its sentences, with every character's place in the answer kept.

Nothing here happens by itself: each step of a published pipeline is a function or an option with a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.marks import MarkStyles, cited_spans, find_marks
from metaeval.citation.model import Mark, Span
from metaeval.corpus.sentences import SPLITTER, split_sentences
from metaeval.errors import unknown

_ADDED = -1


@dataclass(frozen=True, slots=True)
class Reading:
    """Text, and the offset of each of its characters in the answer, (len(text),); -1: not the answer's own."""

    text: str
    at: tuple[int, ...]


def whole(text: str) -> Reading:
    """An answer's text as it stands."""
    return Reading(text, tuple(range(len(text))))


def added(text: str) -> Reading:
    """Text that is not in the answer, such as the question before a list item."""
    return Reading(text, (_ADDED,) * len(text))


def part(reading: Reading, start: int, end: int) -> Reading:
    """The characters from start to end."""
    return Reading(reading.text[start:end], reading.at[start:end])


def stripped(reading: Reading) -> Reading:
    """Without white space at either end."""
    start = len(reading.text) - len(reading.text.lstrip())
    return part(reading, start, max(start, len(reading.text.rstrip())))


def joined(*readings: Reading) -> Reading:
    """One after the other, with nothing between."""
    return Reading(
        "".join(reading.text for reading in readings),
        tuple(offset for reading in readings for offset in reading.at),
    )


def without(reading: Reading, pieces: Iterable[tuple[int, int]]) -> Reading:
    """Without the stretches (start, end), which may overlap."""
    gone = bytearray(len(reading.text))
    for start, end in pieces:
        gone[start:end] = b"\1" * (end - start)
    kept = [index for index, dropped in enumerate(gone) if not dropped]
    return Reading("".join(reading.text[index] for index in kept), tuple(reading.at[index] for index in kept))


def span(reading: Reading, otherwise: int = 0) -> Span:
    """Where the reading stands in the answer, from its first own character to its last; `otherwise` if it has none."""
    own = [offset for offset in reading.at if offset != _ADDED]
    return Span(min(own), max(own) + 1, reading.text) if own else Span(otherwise, otherwise, reading.text)


def marks_in(reading: Reading, styles: MarkStyles | None = None, first: int = 1) -> list[Mark]:
    """The marks of the reading, with their offsets in the answer; marks in added text are left out."""
    marks: list[Mark] = []
    for mark in find_marks(reading.text, styles, first):
        start, last = reading.at[mark.start], reading.at[mark.end - 1]
        if start != _ADDED:
            marks.append(Mark(start, max(start, last) + 1, mark.number))
    return marks


def without_marks(reading: Reading, styles: MarkStyles | None = None, first: int = 1) -> Reading:
    """The reading without the marks that are read and the white space before each."""
    marks = [mark for mark in find_marks(reading.text, styles, first) if mark.number is not None]
    return without(reading, [(len(reading.text[: mark.start].rstrip()), mark.end) for mark in marks])


Leading = Literal["keep", "move first", "move all"]
"""What becomes of marks that open a sentence: kept there, or the first one (ALiiCE) or the whole group moved back."""

_WISHES: tuple[Literal["auto", "nltk", "rules"], ...] = ("auto", "nltk", "rules")

END_OF_TURN = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class SentenceSplitter:
    """A splitter and its name, which every result states; `split` gives the sentences in order, verbatim."""

    name: str
    split: Callable[[str], Sequence[str]]


RULES = SentenceSplitter(SPLITTER, split_sentences)
"""The project's rules: no data needed."""


def find_sentence_splitter(wish: str = "auto") -> SentenceSplitter:
    """NLTK's punkt or the rules; `auto` is punkt where its data are here.

    Raises `UserError` for another name than auto, nltk and rules, and where punkt is asked for and cannot be.
    """
    from metaeval.scoring.backends.sentences import find_splitter

    for known in _WISHES:
        if wish == known:
            found = find_splitter(known)
            return SentenceSplitter(found.name, found.split)
    raise unknown("splitter", wish, _WISHES)


def prepare(text: str, lines: Literal["first", "all"] = "all") -> Reading:
    """What is left to read: "all" strips the text; "first" also ends it at the first line break (ALCE).

    Both delete the end-of-turn token that some generators leave.
    """
    reading = stripped(whole(text))
    if lines == "first":
        reading = part(reading, 0, len(reading.text.split("\n")[0]))
    return without(reading, [match.span() for match in re.finditer(re.escape(END_OF_TURN), reading.text)])


def split(reading: Reading, splitter: SentenceSplitter = RULES) -> list[Reading]:
    """The sentences of a reading. Raises ValueError if the splitter returns a sentence that the text does not hold."""
    sentences: list[Reading] = []
    end = 0
    for sentence in splitter.split(reading.text):
        start = reading.text.find(sentence, end)
        if start < 0:
            raise ValueError(f"splitter {splitter.name} changed the text of sentence {sentence[:40]!r}")
        end = start + len(sentence)
        sentences.append(part(reading, start, end))
    return sentences


def sentence_spans(text: str, splitter: SentenceSplitter = RULES) -> list[Span]:
    """The sentences of a text with their offsets."""
    return [span(sentence) for sentence in split(whole(text), splitter)]


def move_leading(
    sentences: Sequence[Reading], leading: Leading = "keep", styles: MarkStyles | None = None
) -> list[Reading]:
    """Give marks that open a sentence to the sentence before, to which they belong when written after the full stop.

    "move first" is the released ALiiCE rule: of a sentence that opens with a bracket, the first plain mark is cut out
    and appended without a space, even if it does not open the sentence; marks behind it stay. "move all" moves the
    whole group that opens the sentence. A sentence that is emptied stays in the list.
    """
    moved: list[Reading] = []
    for sentence in sentences:
        found = _leading(sentence, leading, styles) if moved else None
        if found is None:
            moved.append(sentence)
        else:
            moved[-1] = joined(moved[-1], part(sentence, *found))
            moved.append(without(sentence, [found]))
    return moved


def _leading(sentence: Reading, leading: Leading, styles: MarkStyles | None) -> tuple[int, int] | None:
    """Where the marks to move stand in the sentence."""
    if leading == "move first" and sentence.text.startswith("["):
        match = re.search(r"\[\d+\]", sentence.text)
        return match.span() if match else None
    if leading == "move all":
        groups = cited_spans(sentence.text, styles)
        if groups and not sentence.text[: groups[0].start].strip():
            return groups[0].start, groups[0].end
    return None
