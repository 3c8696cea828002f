"""Evidence alignment: which sentences of a document the annotator's evidence stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.corpus.model import Evidence
from metaeval.corpus.sentences import split_sentences

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Alignment:
    """The document sentences that hold evidence, and how many evidence sentences were given and matched nothing."""

    sentences: frozenset[int]
    given: int
    unmatched: int


def word_set(text: str) -> frozenset[str]:
    """The lower-cased words of a text."""
    return frozenset(_WORD.findall(text.lower()))


def align_evidence(evidence: Evidence, document: Sequence[frozenset[str]], threshold: float) -> Alignment:
    """Place evidence in a document given as one word set per sentence.

    Indices stand as published. Copied text is split into sentences; each goes to the document sentence of highest
    Jaccard similarity of word sets (the first of equals), if that reaches `threshold`. The base paper names Jaccard
    and no threshold; 0.5 is our default.
    """
    placed = set(evidence.sentences)
    given, unmatched = len(placed), 0
    for text in evidence.texts:
        for sentence in split_sentences(text):
            words = word_set(sentence)
            if not words:
                continue
            given += 1
            best = _nearest(words, document, threshold)
            if best is None:
                unmatched += 1
            else:
                placed.add(best)
    return Alignment(frozenset(placed), given, unmatched)


def _nearest(words: frozenset[str], document: Sequence[frozenset[str]], threshold: float) -> int | None:
    best, best_similarity = None, 0.0
    for index, other in enumerate(document):
        shared = len(words & other)
        similarity = shared / (len(words) + len(other) - shared)
        if similarity > best_similarity:
            best, best_similarity = index, similarity
    return best if best_similarity >= threshold else None
