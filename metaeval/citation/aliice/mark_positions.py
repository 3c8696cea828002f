"""Positions of citation marks in sentences: their coefficient of variation (CVCP), and their relative offsets."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

import numpy as np

from metaeval.citation.aliice.claim_options import Positions
from metaeval.citation.aliice.claims import MARK, PART


def unit_positions(sentence: str, of: Positions = "marks") -> tuple[int, ...]:
    """Return the positions of citations, from 1, among the sentence's units: words, signs around them, and groups.

    of: a position for each mark, which is that of its group of adjacent marks (marks), or one for each group (groups).
    """
    signs = "".join(sign for sign in set(sentence) if category(sign).startswith("P"))
    positions: list[int] = []
    place, in_group = 0, False
    for unit in PART.finditer(sentence):
        if unit["mark"] is None:
            word = unit["word"].strip(signs)
            place += len(unit["word"]) - len(word) + bool(word)
        else:
            place += not in_group
            if of == "marks" or not in_group:
                positions.append(place)
        in_group = unit["mark"] is not None
    return tuple(positions)


def sentence_cvcp(sentence: str, of: Positions = "marks") -> float | None:
    """Return the population standard deviation of `unit_positions` over their mean; None without a citation.

    The paper divides positions by the sentence's length first, which cancels.
    """
    positions = unit_positions(sentence, of)
    return float(np.std(positions) / np.mean(positions)) if positions else None


def answer_cvcp(sentences: Sequence[str], of: Positions = "marks") -> float | None:
    """Return the mean of `sentence_cvcp` over an answer's cited sentences (Equation 4); None if nothing is cited."""
    known = [value for sentence in sentences if (value := sentence_cvcp(sentence, of)) is not None]
    return float(np.mean(known)) if known else None


def mark_offsets(sentences: Sequence[str]) -> list[float]:
    """Return the character offset of each mark over the length of its sentence, as one list for all sentences."""
    return [mark.start() / len(sentence) for sentence in sentences for mark in MARK.finditer(sentence)]
