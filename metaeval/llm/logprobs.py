"""The expected score under the model's own probabilities of the score tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from metaeval.llm.score_parsing import FoundScore, Scale

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
    pieces = [_bytes(token) for token in tokens]
    offset = b"".join(pieces).find(content.encode())
    if offset < 0:
        return None
    start = offset + len(content[: found.start].encode())
    end = 0
    for token, piece in zip(tokens, pieces, strict=True):
        end += len(piece)
        if end > start:
            return token
    return None


def _bytes(token: Mapping[str, Any]) -> bytes:
    given = token.get("bytes")
    return bytes(given) if given is not None else str(token["token"]).encode()
