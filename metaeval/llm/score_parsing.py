"""A score in a reply: one strict reading of free text or of structured output, and its expectation under the model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, isfinite
from typing import Any

from metaeval.llm.exchange import keeps, object_schema, response_format

_CUE = re.compile(r"\b(?:prediction|score)\b", re.IGNORECASE)
# A number that stands alone: glued to no letter, digit, dot, comma, slash or hyphen. It may name its scale (0.8/1).
_NUMBER = re.compile(
    r"(?<![\w.,/−-])(?P<value>[+−-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+))"
    r"(?:(?:\s*/\s*|\s+out\s+of\s+)(?P<top>[0-9]+(?:\.[0-9]+)?))?(?!\w)",
    re.ASCII | re.IGNORECASE,
)
# What follows makes it another thing than a score: 85%, 1,297, 10:30, 1-2, 0 or 1.
_SPOILT = re.compile(r"\s*(?:%|percent\b)|[.,:/][0-9]|\s*(?:[-–—]|to\b|or\b)\s*[0-9]", re.IGNORECASE)
_DIRECTLY = re.compile(r"[\W_]*?(?:(?:is|of)\b[\W_]*?)?(?=[+−-]?\.?[0-9])", re.IGNORECASE)
_LIST_MARK = re.compile(r"[ \t]*[0-9]+[.)][ \t]+\S")


@dataclass(frozen=True)
class Scale:
    """The scores that a prompt allows: the numbers from 0 to `top`, or only those in `only`."""

    top: float
    only: tuple[float, ...] = ()

    def accepts(self, value: float) -> bool:
        """Whether a number is a score on this scale."""
        return value in self.only if self.only else isfinite(value) and 0 <= value <= self.top


DISCRETE = Scale(2, only=(0, 1, 2))
CONTINUOUS = Scale(1)


@dataclass(frozen=True)
class FoundScore:
    """A score, and where its number stands in the text (start and end, in characters)."""

    value: float
    start: int
    end: int


def find_score(text: str, scale: Scale) -> FoundScore | None:
    """The score that a text gives; None where it gives none that can be trusted.

    What counts is the text after the last cue ("Prediction", "Score") that has a number after it; without a cue, the
    whole text. There, the number directly behind the cue ("Score: 1", "the score is 1") is taken, else the last one.
    That number must be a score of the scale as it stands: a percentage, a range, a decimal comma, or a fraction of
    another scale ("8/10" where 1 is the top) is no score, and no other number is tried in its place. Numbers of
    list items are not read.
    """
    numbers = [match for match in _NUMBER.finditer(text) if not _is_list_mark(text, match.start())]
    if not numbers:
        return None
    number = numbers[-1]
    cues = [cue.end() for cue in _CUE.finditer(text) if cue.end() <= number.start("value")]
    if cues and (directly := _DIRECTLY.match(text, cues[-1])):
        number = next((one for one in numbers if one.start("value") == directly.end()), number)
    value = float(number["value"].replace("−", "-"))
    if _SPOILT.match(text, number.end()) or (number["top"] and float(number["top"]) != scale.top):
        return None
    return FoundScore(value, number.start("value"), number.end("value")) if scale.accepts(value) else None


def _is_list_mark(text: str, position: int) -> bool:
    """Whether the number here, with only blanks before it in its line, is that of a list item."""
    start = text.rfind("\n", 0, position) + 1
    return not text[start:position].strip() and _LIST_MARK.match(text, start) is not None


def score_schema(scale: Scale) -> dict[str, Any]:
    """The `response_format` of a chat request that asks for {"reasoning": string, "score": number}, reasoning first."""
    score: dict[str, Any] = {"type": "number"}
    if scale.only:
        score = {"type": "integer", "enum": [int(value) for value in scale.only]}
    return response_format("judgement", object_schema(reasoning={"type": "string"}, score=score))


def read_judgement(text: str, scale: Scale) -> float | None:
    """The score of a JSON text that keeps to the schema to the letter; None for every other text."""
    try:
        judgement = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not keeps(judgement, object_schema(reasoning={"type": "string"}, score={"type": "number"})):
        return None
    return float(judgement["score"]) if scale.accepts(judgement["score"]) else None


TOP_LOGPROBS = 20
"""Alternatives asked for at each position: the most that OpenAI's interface allows."""


def expected_score(content: str, tokens: Sequence[Mapping[str, Any]], found: FoundScore, scale: Scale) -> float | None:
    """Expectation of the score at the token that holds it: sum of p * score over sum of p, over the score tokens.

    `tokens` are the reply's output tokens with their alternatives (`logprobs.content` of a chat completion), `found`
    is where the text's own score stands. Score tokens are the alternatives at that position which, without blanks,
    are one of the scale's scores; the probability that the model gives to other tokens is left out of both sums.
    None where the tokens do not make up the text, or the score is not a token of its own.
    """
    try:
        position = _token_at(content, tokens, found)
        if position is None:
            return None
        chances = {str(other["token"]): exp(float(other["logprob"])) for other in position.get("top_logprobs") or ()}
        chances.setdefault(str(position["token"]), exp(float(position["logprob"])))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    values = {f"{value:g}": value for value in scale.only}
    scores = {token: values[token.strip()] for token in chances if token.strip() in values}
    mass = sum(chances[token] for token in scores)
    if str(position["token"]) not in scores or mass <= 0:
        return None
    return sum(chances[token] * score for token, score in scores.items()) / mass


def _token_at(content: str, tokens: Sequence[Mapping[str, Any]], found: FoundScore) -> Mapping[str, Any] | None:
    """The token that holds the found number. Counted in bytes: one character can be spread over several tokens."""
    given = [token.get("bytes") for token in tokens]
    pieces = [
        str(token["token"]).encode() if own is None else bytes(own) for token, own in zip(tokens, given, strict=True)
    ]
    offset = b"".join(pieces).find(content.encode())
    if offset < 0:
        return None
    start = offset + len(content[: found.start].encode())
    ends = accumulate(map(len, pieces))
    return next((token for token, end in zip(tokens, ends, strict=True) if end > start), None)
