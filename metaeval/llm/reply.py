"""A reply: what a chat completion says, read from the server's own JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_CUT_SHORT = ("length", "content_filter")


@dataclass(frozen=True, slots=True)
class Reply:
    """One chat completion. tokens_in and tokens_out are the server's own count, None where it gives none.

    `logprobs` is the list of output tokens with their log-probabilities; empty unless the request asked for them and
    the server gives them. `raw` is the body as it came.
    """

    raw: str
    content: str
    finish_reason: str
    refusal: str
    model: str
    fingerprint: str
    tokens_in: int | None
    tokens_out: int | None
    logprobs: Sequence[Mapping[str, Any]]

    @property
    def whole(self) -> bool:
        """Whether the model said all it had to say: no refusal, nothing filtered, not cut at the token limit."""
        return bool(self.content.strip()) and not self.refusal and self.finish_reason not in _CUT_SHORT


def read_reply(raw: str) -> Reply:
    """Read the body of a chat completion.

    Raises `ValueError` for a body that is no chat completion: not JSON, no choice, a message without text.
    """
    try:
        body = json.loads(raw)
        choice = body["choices"][0]
        message = choice["message"]
        usage = body.get("usage") or {}
        logprobs = choice.get("logprobs") or {}
        reply = Reply(
            raw=raw,
            content=_content(message.get("content")),
            finish_reason=_text(choice.get("finish_reason")),
            refusal=_text(message.get("refusal")),
            model=_text(body.get("model")),
            fingerprint=_text(body.get("system_fingerprint")),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            logprobs=logprobs.get("content") or (),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a chat completion ({type(error).__name__}: {error})") from error
    return reply


def _content(value: Any) -> str:
    """A message's text, which some servers cut into parts."""
    return "".join(_text(part["text"]) for part in value) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where text should be")
    return value


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
