"""Answers of which none was of use: how they ended, how the first text begins, and what is left to try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metaeval.llm.answer import Answer, Failure
from metaeval.llm.errors import Cause
from metaeval.llm.reply import Reply

_BEGINNING = 40  # characters
_CUT = "cut at the token limit"


def why_unread(answers: Sequence[Answer], max_tokens: int) -> str:
    """Two clauses on answers that nothing could be read from, for the end of an error: what came, and what to do.

    A higher limit of tokens is advised only where a reply was cut at it. max_tokens: the limit that they had.
    """
    ended = Counter(map(_ended, answers))
    came = ", ".join(f"{times:,} {name}" for name, times in ended.items())
    first = next((one for one in answers if isinstance(one, Reply) and one.content.strip()), None)
    begins = "" if first is None else f"; the first reply begins {_beginning(first.content)}"
    higher = f"set max_tokens higher (-s max_tokens={2 * max_tokens}), or " if ended[_CUT] else ""
    return f"{came}{begins}; {higher}ask another model (--model NAME)"


def _ended(answer: Answer) -> str:
    if isinstance(answer, Failure):
        return "refused as too long" if answer.cause is Cause.TOO_LONG else "failed"
    if answer.finish_reason == "length":
        return _CUT
    if answer.refusal or answer.finish_reason == "content_filter":
        return "refused by the model or a filter"
    return "not of the form that was asked for" if answer.content.strip() else "without a text"


def _beginning(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= _BEGINNING else words[:_BEGINNING] + "...")
