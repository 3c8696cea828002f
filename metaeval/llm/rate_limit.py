"""Pace: how long to wait before an attempt, and between two."""

from __future__ import annotations

import asyncio
import random

from metaeval.llm.errors import Fault

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more is not waited for."""

_LONGEST_BACKOFF = 60.0


class Stopping(Exception):  # noqa: N818 (not an error: the run is ending)
    """The run is ending: no further attempt."""


class Pace:
    """The order to wait: at most so many requests a minute, evenly spread, and none while the server asks for rest."""

    def __init__(self, requests_per_minute: float | None, backoff: float) -> None:
        self._gap = 60 / requests_per_minute if requests_per_minute else 0.0
        self._backoff = backoff
        self._next = 0.0
        self._resting_until = 0.0
        self._stopped = asyncio.Event()
        self._random = random.Random()

    @property
    def stopped(self) -> bool:
        """Whether the run is ending."""
        return self._stopped.is_set()

    def start(self) -> None:
        """Begin, or begin again; what a server asked for before still holds."""
        self._stopped.clear()

    def stop(self) -> None:
        """End every wait."""
        self._stopped.set()

    async def until_stopped(self) -> None:
        """Return when the run ends."""
        await self._stopped.wait()

    async def turn(self) -> None:
        """Wait until an attempt may start. Raises `Stopping` when the run ends first."""
        now = asyncio.get_running_loop().time()
        slot = max(self._next, now)
        self._next = slot + self._gap
        while (wait := max(slot, self._resting_until) - asyncio.get_running_loop().time()) > 0:
            await self._sleep(wait)
        if self.stopped:
            raise Stopping

    async def back_off(self, fault: Fault, tries: int) -> None:
        """Wait before the next of `tries` attempts: doubling, with jitter, and no less than the server asks for."""
        wait = min(self._backoff * 2 ** (tries - 1), _LONGEST_BACKOFF) * self._random.uniform(0.5, 1.0)
        if fault.retry_after is not None:
            # A rate limit is the account's, not the request's: everyone waits.
            self._resting_until = max(
                self._resting_until, asyncio.get_running_loop().time() + min(fault.retry_after, LONGEST_WAIT)
            )
        await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except TimeoutError:
            return
        raise Stopping
