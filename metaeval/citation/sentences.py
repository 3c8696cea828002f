"""From an answer to its sentences, with offsets kept: what is cut away first, how it is split, what moves.

Nothing here happens by itself: each step of a published pipeline is a function or an option with a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from metaeval.citation.marks import MarkStyles, cited_spans
from metaeval.citation.model import Span
from metaeval.citation.reading import Reading, joined, part, span, stripped, whole, without
from metaeval.corpus.sentences import SPLITTER, split_sentences
from metaeval.errors import unknown

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
