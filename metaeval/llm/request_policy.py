"""How a server is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """How a server is asked: none of it can change an answer.

    concurrency: requests in flight. timeout: seconds for one answer. retries: further attempts for one request.
    backoff: seconds before the first of them, doubled for each next.
    """

    concurrency: int = 32
    requests_per_minute: float | None = None
    timeout: float = 120.0
    retries: int = 6
    backoff: float = 1.0
