"""Positions of citation marks in sentences: their coefficient of variation (CVCP), and their relative offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from metaeval.citation.aliice.claims import MARK


def group_positions(sentence: str) -> tuple[int, ...]:
    """Return the position of each citation group, from 1, among the sentence's words (signs left out) and groups."""
    positions, place = [], 0
    for unit in re.finditer(r"(?P<group>\[\d+\](?:\s*\[\d+\])*)|(?P<word>(?:(?!\[\d+\])\S)+)", sentence):
        if unit["group"] is None and not re.search(r"\w", unit["word"]):
            continue
        place += 1
        if unit["group"] is not None:
            positions.append(place)
    return tuple(positions)


def sentence_cvcp(sentence: str) -> float | None:
    """Return the population standard deviation of `group_positions` over their mean; None without a citation.

    The paper divides positions by the sentence's length first, which cancels.
    """
    positions = group_positions(sentence)
    return float(np.std(positions) / np.mean(positions)) if positions else None


def answer_cvcp(sentences: Sequence[str]) -> float | None:
    """Return the mean of `sentence_cvcp` over an answer's cited sentences (Equation 4); None if nothing is cited."""
    known = [value for value in map(sentence_cvcp, sentences) if value is not None]
    return float(np.mean(known)) if known else None


def mark_offsets(sentences: Sequence[str]) -> list[float]:
    """Return the character offset of each mark over the length of its sentence, as one list for all sentences."""
    return [mark.start() / len(sentence) for sentence in sentences for mark in MARK.finditer(sentence)]
