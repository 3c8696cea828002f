"""Answers whose records hold sentences, each with its citations."""

from __future__ import annotations

from collections.abc import Iterable

from metaeval.citation.readers.cited_text import CitedSpan
from metaeval.corpus.sentences import RULES

CitedSentence = tuple[str, list[int | None]]
"""The text of a sentence, and the indices of its sources; None for a source that the record does not list."""


def cited_sentences(sentences: Iterable[CitedSentence]) -> tuple[str, list[CitedSpan]]:
    """Return the text of sentences (text, indices of sources), and a claim for each that cites.

    Sentences are separated by a space where a splitter sees the end of a sentence there, else by a line break.
    """
    text, last = "", ""
    spans = []
    pieces: list[str] = []
    length = 0
    for sentence, cited in sentences:
        sentence = sentence.strip()
        if pieces and sentence:
            whole = RULES.split(f"{last} {sentence}")
            pieces.append(" " if len(whole) == len(RULES.split(last)) + len(RULES.split(sentence)) else "\n")
            length += 1
        if cited:
            spans.append(CitedSpan("claim", length, length + len(sentence), tuple(cited), sentence))
        pieces.append(sentence)
        length += len(sentence)
        last = sentence or last
    text = "".join(pieces)
    return text, spans
