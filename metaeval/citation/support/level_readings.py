"""Levels that a file holds: people's support judgements, and the verdicts that official judges left in their files.

The official readings are those of the published code, quirks included; `words` accepts the words of the scale alone and
leaves any other reply without a level.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from metaeval.citation.support.measures import Level, StatementLevels
from metaeval.corpus.data_rows import DataRow
from metaeval.errors import UserError, shown

Reading = Literal["official", "words"]
Question = Literal["fact", "support", "relevance", "need"]

FIELD = "support"
"""Field of an answer's reference: a list of its statements, each with its offsets start and end, its text without
marks, cited (numbers of passages), and, where they have been judged, levels (one for each citation) and joint, as the
file has them."""
SCALE = "support_scale"
"""Field of an answer's reference: how its levels are spelt, trec (default), fact or longcite."""

_WEIGHTS: Mapping[int, Level] = {2: 1.0, 1: 0.5, 0: 0.0, -1: None}
_RATING = re.compile(r"\[\[([A-Za-z /]+)\]\]")
_WORDS: Mapping[Question, Mapping[str, Level]] = {
    "support": {"fully supported": 1.0, "partially supported": 0.5, "no support": 0.0},
    "relevance": {"relevant": 1.0, "unrelevant": 0.0, "irrelevant": 0.0, "not relevant": 0.0},
    "need": {"yes": 0.0, "no": 1.0},
    "fact": {"supported": 1.0, "unsupported": 0.0, "unknown": None},
}

_PARTS: Mapping[Question, Sequence[tuple[str, float]]] = {
    "support": (("fully", 1.0), ("partially", 0.5), ("", 0.0)),
    "relevance": (("unrelevant", 0.0), ("", 1.0)),
    "need": (("yes", 0.0), ("", 1.0)),
}
"""Parts of a rating by which the official code reads it, the first that occurs."""


def trec_level(value: Any) -> Level:
    """Return the weight of a TREC level: 1, 0.5 or 0 for 2, 1 or 0, and None for -1 (not judged).

    The level may be a text. As in the official code, numbers are cut to whole ones. Raises ValueError for others.
    """
    if not isinstance(value, str | int | float) or int(value) not in _WEIGHTS:
        raise ValueError(f"a support level is {value!r}")
    return _WEIGHTS[int(value)]


def longcite_level(reply: str, question: Question, reading: Reading = "official") -> Level:
    """Return the level of a reply of LongCite's judge by its first rating in double brackets; None if there is none.

    question: support (1, .5, 0), relevance (1, 0), or need (1 where no citation is needed). The official reading looks
    for parts of words, so that "Irrelevant" and "Not relevant" are relevant, and "Not fully supported" is full; "words"
    gives None.
    """
    match = _RATING.search(reply)
    if match is None:
        return None
    rating = match[1].lower()
    if reading == "words":
        return _WORDS[question].get(" ".join(rating.split()))
    return next(level for part, level in _PARTS[question] if part in rating)


def fact_level(verdict: Any, reading: Reading = "official") -> Level:
    """Return 1 for FACT's verdict "supported", None for "unknown", and 0 for any other one.

    The reading "words" ignores case and spacing, and gives None for all but supported and unsupported.
    """
    if reading == "official":
        return _WORDS["fact"].get(verdict, 0.0) if isinstance(verdict, str) else 0.0
    return _WORDS["fact"].get(" ".join(str(verdict).lower().split()))


def read_levels(row: DataRow, scale: str, reading: Reading) -> StatementLevels:
    """Return the levels of a statement as its file has them; raises `UserError` for what is not of the scale.

    row: an entry of the reference's field `support`, whose cited numbers are the sources. scale: trec, fact or longcite
    (which has relevance in place of levels). Without a joint level in the file, a single citation's is joint (not for
    longcite).
    """
    cited, joint, values = tuple(row.fields.get("cited") or ()), row.fields.get("joint"), row.fields.get("levels")
    if not isinstance(values, list):
        raise row.error("levels", "a list, with one level for each citation")
    try:
        if len(values) != len(cited):
            raise ValueError(f"it has {len(values)} levels for {len(cited)} citations")
        if scale == "longcite":
            relevant = tuple(_longcite(value, "relevance", reading) for value in values)
            support = _longcite(joint, "support" if cited else "need", reading)
            needed = None if support is None else not support
            return StatementLevels((None,) * len(cited), cited, support, relevant, needed)
        weights = tuple(fact_level(value, reading) if scale == "fact" else trec_level(value) for value in values)
        together = trec_level(joint) if joint is not None else weights[0] if len(weights) == 1 else None
        return StatementLevels(weights, cited, together, text="" if scale == "fact" else row.optional_text("text"))
    except (ValueError, OverflowError) as error:
        raise UserError(
            f"{row.where}: the statement {shown(row.fields.get('text', ''))} cannot be read: {error}; levels are 2 "
            "(full), 1 (partial), 0 (none) and -1 (not judged), and scores of LongCite's judge 1, 0.5 and 0."
        ) from error


def _longcite(value: Any, question: Question, reading: Reading) -> Level:
    """Return the level of a value of LongCite's judge: a reply, or a score (0, 0.5, 1, or None for no level)."""
    if isinstance(value, str):
        return longcite_level(value, question, reading)
    if value not in (None, 0, 0.5, 1):
        raise ValueError(f"a judge's score is {value!r}")
    return None if value is None else float(value)
