"""What of a question's documents is shown: their numbers stay, their texts are cut to words, at ends of sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation.model import Passage
from metaeval.citation.sentences import sentence_spans

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as a request shows it; number: its place among the question's documents, from 1."""

    number: int
    title: str
    text: str


def whole_documents(passages: Sequence[Passage]) -> list[Document]:
    """Every document as it is."""
    return [Document(number, one.title, one.text) for number, one in enumerate(passages, start=1)]


def fitted(documents: Sequence[Document], total: int, each: int | None = None) -> list[Document]:
    """Documents cut to a total of words, no one to more than `each`: short ones stay whole, the others end alike.

    Where there are more documents than words, each keeps a word.
    """
    limit = level([_words(one.text) for one in documents], total)
    limit = limit if each is None else min(limit, each)
    return [Document(one.number, one.title, cut(one.text, limit)) for one in documents]


def level(lengths: Sequence[int], total: int) -> int:
    """The greatest limit, from 1, under which the lengths, each cut to it, add up to no more than the total."""
    left, open_ = total, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return max(1, left // open_)
        left, open_ = left - length, open_ - 1
    return max(1, *lengths, total) if lengths else max(1, total)


def cut(text: str, words: int) -> str:
    """The beginning of a text: as many whole sentences as have no more than so many words, verbatim.

    A first sentence that is longer ends behind its last word that fits.
    """
    if _words(text) <= words:
        return text
    end, so_far = 0, 0
    for span in sentence_spans(text):
        so_far += _words(span.text)
        if so_far > words:
            break
        end = span.end
    if end:
        return text[:end]
    found = list(_WORD.finditer(text))
    return text[: found[words - 1].end()]


def _words(text: str) -> int:
    return len(text.split())
