"""How far citation positions vary within sentences: the coefficient of variation of citation positions (CVCP)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from metaeval.citation.aliice.claims import MARK

_UNIT = re.compile(r"(?P<group>\[\d+\](?:\s*\[\d+\])*)|(?P<word>(?:(?!\[\d+\])\S)+)")


def group_positions(sentence: str) -> tuple[int, ...]:
    """Places of the citation groups, from 1, among the sentence's words and groups.

    A word runs to the next white space or mark; punctuation that stands alone is none.
    """
    positions, place = [], 0
    for unit in _UNIT.finditer(sentence):
        if unit["group"] is None and not re.search(r"\w", unit["word"]):
            continue
        place += 1
        if unit["group"] is not None:
            positions.append(place)
    return tuple(positions)


def sentence_cvcp(sentence: str) -> float | None:
    """Population standard deviation over mean of the groups' positions; None without a citation.

    The paper divides positions by the sentence's length first, which cancels.
    """
    positions = group_positions(sentence)
    return float(np.std(positions) / np.mean(positions)) if positions else None


def answer_cvcp(sentences: Sequence[str], uncited: Literal["left out", "zero"] = "left out") -> float | None:
    """The paper's Equation 4: mean over an answer's sentences. uncited: what a sentence without a citation counts."""
    values = [sentence_cvcp(sentence) for sentence in sentences]
    kept = [0.0 if value is None else value for value in values if value is not None or uncited == "zero"]
    # Zeros for uncited sentences dilute a variation; where nothing is cited there is none to dilute.
    cited = any(value is not None for value in values)
    return float(np.mean(kept)) if cited else None


def mark_offsets(sentences: Sequence[str]) -> list[float]:
    """Character offset of each mark over the length of its sentence; the released code pools those of all answers."""
    return [mark.start() / len(sentence) for sentence in sentences for mark in MARK.finditer(sentence)]
