"""What comes of a request: a reply, or a failure with its cause."""

from __future__ import annotations

from dataclasses import dataclass

from metaeval.llm.errors import Cause
from metaeval.llm.reply import Reply


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that got no reply, however often it was sent: the last fault's cause, and what was said."""

    cause: Cause
    detail: str


Answer = Reply | Failure
