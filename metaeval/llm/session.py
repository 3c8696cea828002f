"""A session: the chat client for code that is not asynchronous."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, TypeVar

from metaeval.llm.answer import Answer
from metaeval.llm.budget import Purse
from metaeval.llm.client import GRACE, ChatClient, Progress
from metaeval.llm.endpoint import Endpoint
from metaeval.llm.replies import ReplyStore
from metaeval.llm.request import ChatRequest
from metaeval.llm.request_policy import Conduct
from metaeval.llm.usage import Ledger

T = TypeVar("T")


class ChatSession:
    """One client, its connections, its ledger and the reply store, for as long as the object lives.

    The event loop runs in a thread of its own: so it works inside a notebook, whose main thread has a loop already,
    and an interrupt reaches the caller at once.
    """

    def __init__(self, endpoint: Endpoint, conduct: Conduct, store: ReplyStore, purse: Purse) -> None:
        self.ledger = Ledger(purse)
        self._running = _Loop()
        self._client = self._running.call(_made(endpoint, conduct, store, self.ledger))
        self._close = weakref.finalize(self, _close, self._running, self._client)

    def ask(self, requests: Sequence[ChatRequest], progress: Progress | None = None) -> list[Answer]:
        """One answer per request, in order; see `ChatClient.ask`. progress: called in the loop's thread.

        An interrupt sends nothing more, keeps the replies that arrive within `GRACE` seconds, and is raised again; a
        second one does not wait.
        """
        asking = asyncio.run_coroutine_threadsafe(self._client.ask(requests, progress), self._running.loop)
        try:
            return asking.result()
        except KeyboardInterrupt:
            self._running.loop.call_soon_threadsafe(self._client.stop)
            with suppress(TimeoutError, CancelledError):
                asking.exception(timeout=GRACE + 1)
            raise

    def close(self) -> None:
        """Close the connections and end the thread; the reply store stays open."""
        self._close()


class _Loop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="metaeval-llm", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()


async def _made(endpoint: Endpoint, conduct: Conduct, store: ReplyStore, ledger: Ledger) -> ChatClient:
    # Connections belong to the loop that they are made in.
    return ChatClient(endpoint, conduct, store, ledger)


def _close(running: _Loop, client: ChatClient) -> None:
    running.call(_ended(client))
    running.end()


async def _ended(client: ChatClient) -> None:
    """End what a second interrupt left running, then the connections."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await client.close()
