"""The seam to a chat model: requests in, answers out; and what stands in the way of an answer's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from metaeval.llm.answer import Answer, Failure
from metaeval.llm.errors import Cause
from metaeval.llm.request import ChatRequest

Ask = Callable[[Sequence[ChatRequest]], Sequence[Answer]]
"""Requests to their answers, in order: a chat session, or a replay."""

Trouble = Literal["unparsed", "failed", "too long"]
"""Why a request gave nothing to use: no use in the reply; no reply; refused as too long."""


def text_of(answer: Answer) -> tuple[str | None, Trouble | None]:
    """The text of a reply that the model ended by itself, or what stands in its way; the other of the two is None."""
    if isinstance(answer, Failure):
        return None, "too long" if answer.cause is Cause.TOO_LONG else "failed"
    return (answer.content, None) if answer.whole else (None, "unparsed")
