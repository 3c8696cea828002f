"""The chat client: many requests at a time, each repeated after passing failures, every reply stored as it arrives.

`ChatClient` lives in an event loop; `ChatSession` is the client for code that is not asynchronous. Of several servers,
the one with the fewest open requests is asked, and one that fails several times in a row is left out for a while.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic

from metaeval.core.errors import UserError
from metaeval.llm.budget import Ledger, Purse
from metaeval.llm.endpoint import ENDING, MAYBE_CHARGED, PASSING, Cause, Endpoint, EndpointOptions, Fault, ending_error
from metaeval.llm.http_attempt import LONGEST_WAIT, Pace, Stopping, Transport
from metaeval.llm.messages import Answer, ChatRequest, Failure, Reply
from metaeval.llm.reply_store import Received, ReplyStore

_log = logging.getLogger("metaeval")

GRACE = 5.0  # seconds that a run which ends waits for replies in flight: they may have been paid for

# Called after each reply or failure with the number of requests that have one so far, and the number of all.
Progress = Callable[[int, int], None]

_PATIENCE = 20  # requests that fail one after the other before the run stops
_FIRST_PATIENCE = 5  # the same while the server has never answered a request with these settings
_LEFT_OUT_AFTER = 3  # attempts that fail one after the other at one of several servers
_LEFT_OUT_FOR = 60.0  # seconds
_OWN_FAULTS = PASSING - {Cause.RATE_LIMIT}  # which say more about a server than about the request or the account


@dataclass(eq=False)
class _Server:
    """One of several servers that give the same answers.

    in_flight: number of open requests. failures: number of consecutive failed attempts. back: time (`monotonic`) from
    which the server is used again. heard: it has responded at least once. silent: it could not be reached, and has
    never responded.
    """

    endpoint: Endpoint
    transport: Transport
    in_flight: int = 0
    failures: int = 0
    back: float = 0.0
    heard: bool = False
    silent: bool = False


class _Commits:
    """Stores the replies that arrive in one turn of the event loop in one transaction."""

    def __init__(self, store: ReplyStore) -> None:
        self._store = store
        self._waiting: list[tuple[Received, asyncio.Future[Reply]]] = []

    async def keep(self, received: Received) -> Reply:
        """Return the stored reply, once it is on disk. Raises `UserError` if it cannot be stored."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._commit)
        stored: asyncio.Future[Reply] = loop.create_future()
        self._waiting.append((received, stored))
        return await stored

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            replies = self._store.put_all([received for received, _ in waiting])
        except Exception as error:  # noqa: BLE001 (raised again where the reply is waited for)
            for _, stored in waiting:
                if not stored.done():
                    stored.set_exception(error)
            return
        for (_, stored), reply in zip(waiting, replies, strict=True):
            if not stored.done():  # the run may have ended meanwhile
                stored.set_result(reply)


class ChatClient:
    """A client of one endpoint, with one server or several. Lives in one event loop."""

    def __init__(self, endpoint: Endpoint, options: EndpointOptions, store: ReplyStore, ledger: Ledger) -> None:
        self._endpoint = endpoint
        self._options = options
        self._store = store
        self._commits = _Commits(store)
        self._ledger = ledger
        limits = (options.concurrency, options.timeout, options.reply_bytes)
        each = [replace(endpoint, base_url=url) for url in endpoint.addresses]
        self._servers = [_Server(of_one, Transport(of_one, *limits)) for of_one in each]
        self._pace = Pace(options.requests_per_minute, options.backoff)
        self._room = asyncio.Event()  # set when money that was held may have come back
        self._known: set[str] = set()  # settings that the server has answered
        self._frame: dict[str, object] = {}  # of the last request that was answered
        self._reason: UserError | None = None
        self._requests: Sequence[ChatRequest] = ()
        self._failures_in_a_row = 0

    async def ask(self, requests: Sequence[ChatRequest], progress: Progress | None = None) -> list[Answer]:
        """Return a reply or failure for each request, in order; equal requests are sent once.

        A stored reply is not asked for again.

        Parameters
        ----------
        requests : sequence of ChatRequest
            (n,) requests.
        progress : callable, optional
            Called in the client's event loop with the number of requests that are done, and of all.

        Returns
        -------
        list of Reply or Failure
            (n,)

        Raises
        ------
        UserError
            When going on is pointless (no such model, key refused, server gone, budget spent): no further request is
            sent, and requests in flight are waited for, up to `GRACE`, and their replies kept.
        """
        self._pace.stopping.clear()
        self._reason = None
        self._requests = requests
        keys: list[bytes] = []
        answers: dict[bytes, Answer] = {}
        todo = self._each_once(requests, keys)
        tell = (lambda: progress(len(answers), len(requests))) if progress else None
        workers = min(self._options.concurrency, len(requests))
        await self._finish([asyncio.create_task(self._work(todo, answers, tell)) for _ in range(workers)])
        # A job whose settings were never answered says why, however small it is.
        for request, key in zip(requests, keys, strict=True):
            answer = answers[key]
            if isinstance(answer, Failure) and answer.cause is not Cause.TOO_LONG and not self._knows(request):
                raise ending_error(Fault(answer.cause, answer.detail), self._endpoint)
        if progress and len(answers) < len(requests):  # equal requests were told once
            progress(len(requests), len(requests))
        return [answers[key] for key in keys]

    def stop(self, reason: UserError | None = None) -> None:
        """Send nothing more; `ask` then raises the reason of the first stop, by default that the run was stopped."""
        self._reason = self._reason or reason or UserError("Stopped: every reply so far is kept.")
        self._pace.stopping.set()
        self._room.set()

    async def close(self) -> None:
        """Close all connections."""
        for server in self._servers:
            await server.transport.close()

    def _each_once(self, requests: Sequence[ChatRequest], keys: list[bytes]) -> Iterator[tuple[bytes, ChatRequest]]:
        """Yield the key and the request of each distinct request; each key is computed when its request is taken.

        keys: list to which the key of every request is appended, of repeated ones too.
        """
        taken = set()
        for request in requests:
            key = request.key(self._endpoint.name)
            keys.append(key)
            if key not in taken:
                taken.add(key)
                yield key, request

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for the workers, after a stop up to `GRACE`; raises a worker's error, or the reason of the stop."""
        if not tasks:
            return
        stopped = asyncio.create_task(self._pace.stopping.wait())
        working = asyncio.create_task(asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION))
        try:
            await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
            if self._pace.stopping.is_set():
                await asyncio.wait([working], timeout=GRACE)
        finally:
            for task in (stopped, working, *tasks):
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result
        if self._reason:
            raise self._reason

    async def _work(
        self, todo: Iterator[tuple[bytes, ChatRequest]], answers: dict[bytes, Answer], tell: Callable[[], None] | None
    ) -> None:
        try:
            for key, request in todo:
                if self._pace.stopping.is_set():
                    return
                stored = self._store.find(key)
                if stored is not None:
                    self._ledger.stored += 1
                    self._ledger.models[stored.model] += 1
                self._ledger.damaged += key in self._store.damaged
                answers[key] = stored or await self._send_repeatedly(key, request)
                if tell:
                    tell()
        except Stopping:
            return
        except UserError as error:
            self.stop(error)

    async def _send_repeatedly(self, key: bytes, request: ChatRequest) -> Answer:
        """Return a request's reply, or its last attempt's failure; repeats what may pass, first at other servers."""
        failed_at: list[_Server] = []
        tries = 1
        while True:
            await self._pace.turn()
            await self._money_for(request)
            server = self._free_server(failed_at)
            try:
                return await self._attempt(key, request, server)
            except Fault as fault:
                last = fault
            self._note_fault(server, last)
            failed_at.append(server)
            elsewhere = last.cause in _OWN_FAULTS and self._free_server(failed_at) not in failed_at
            never_sent = elsewhere and last.cause is Cause.UNREACHABLE
            final = last.cause not in PASSING or (last.retry_after or 0) > LONGEST_WAIT or self._hopeless(last)
            if final or (tries > self._options.retries and not never_sent):
                return self._failed(request, last, server)
            self._ledger.retries[last.cause] += 1
            if not elsewhere:
                await self._pace.back_off(last, tries)
                failed_at = []
            tries += not never_sent

    def _free_server(self, failed_at: Collection[_Server]) -> _Server:
        """Return the server with the fewest open requests; suspended servers, and those in `failed_at`, come last."""
        now = monotonic()
        return min(self._servers, key=lambda server: (server.back > now, server in failed_at, server.in_flight))

    def _note_fault(self, server: _Server, fault: Fault) -> None:
        """Count a server's failure; if there are other servers, suspend it for a while after several in a row."""
        if fault.cause is Cause.UNREACHABLE:
            server.silent = not server.heard
        else:
            server.heard, server.silent = True, False
        if fault.cause not in _OWN_FAULTS or len(self._servers) == 1:
            return
        server.failures += 1
        now = monotonic()
        if server.failures >= _LEFT_OUT_AFTER and server.back <= now:
            url, why = server.endpoint.base_url, f"{fault.cause}: {fault.detail}"
            server.back = now + _LEFT_OUT_FOR
            if url not in self._ledger.left_out:
                failed = f"{server.failures} failures in a row (last: {why}), and tried again every {_LEFT_OUT_FOR:g} s"
                _log.warning("The server %s is left out after %s; the other servers go on.", url, failed)
            self._ledger.left_out[url] = why

    async def _attempt(self, key: bytes, request: ChatRequest, server: _Server) -> Reply:
        self._ledger.attempts += 1
        started = monotonic()
        tokens: tuple[int, int] | None = None
        maybe_charged = True
        server.in_flight += 1
        try:
            reply = await server.transport.send(request)
            if reply.tokens_in is not None and reply.tokens_out is not None:
                tokens = (reply.tokens_in, reply.tokens_out)
            received = Received(key, server.endpoint.base_url, request, reply, monotonic() - started)
            kept = await self._commits.keep(received)
        except Fault as fault:
            maybe_charged = fault.cause in MAYBE_CHARGED
            raise
        finally:
            server.in_flight -= 1
            self._ledger.purse.settle(request, tokens, maybe_charged)
            self._room.set()
        self._ledger.book(reply)
        self._ledger.servers[server.endpoint.base_url] += 1
        server.heard, server.silent, server.failures = True, False, 0
        self._failures_in_a_row = 0
        self._learn(request)
        return kept

    async def _money_for(self, request: ChatRequest) -> None:
        """Reserve a request's cost, once the budget covers it; `UserError` if nothing in flight can release money."""
        while not self._ledger.purse.hold(request):
            if self._ledger.purse.idle:
                name = self._endpoint.name
                left = [request for request in self._requests if not self._store.has(request.key(name))]
                raise self._ledger.purse.spent_out(left)
            self._room.clear()
            await self._room.wait()
            if self._pace.stopping.is_set():
                raise Stopping

    def _hopeless(self, fault: Fault) -> bool:
        """Return whether, after this fault, no server could ever be reached, so that waiting for one is pointless."""
        return fault.cause is Cause.UNREACHABLE and all(server.silent for server in self._servers)

    def _failed(self, request: ChatRequest, fault: Fault, server: _Server) -> Failure:
        """Count a failed request, and return its failure; `UserError`, ending the run, if others would fail too."""
        self._ledger.failed[fault.cause] += 1
        known = self._knows(request)
        its_own = fault.cause is Cause.TOO_LONG or (fault.cause in (Cause.REFUSED, Cause.TOO_LARGE) and known)
        self._failures_in_a_row += not its_own
        patience = _PATIENCE if known else _FIRST_PATIENCE
        if fault.cause in ENDING:
            raise ending_error(fault, server.endpoint)
        if self._hopeless(fault) or self._failures_in_a_row >= patience:
            raise ending_error(fault, self._endpoint)
        return Failure(fault.cause, fault.detail)

    def _learn(self, request: ChatRequest) -> None:
        """Record that the server answers requests with these settings; most requests have those of the last one."""
        if (frame := request.frame) == self._frame:
            return
        if (settings := request.settings(self._endpoint.name)) not in self._known:
            self._known.add(settings)
            self._store.learn(settings)
        self._frame = frame

    def _knows(self, request: ChatRequest) -> bool:
        """Return whether the server ever replied to a request with these settings; a refusal is then about the text."""
        settings = request.settings(self._endpoint.name)
        if settings not in self._known and self._store.knows(settings):
            self._known.add(settings)
        return settings in self._known


class ChatSession:
    """A client with its connections, counts and reply store; it lives as long as this object.

    The event loop runs in a thread of its own: so it works inside a notebook, whose main thread has a loop already, and
    an interrupt reaches the caller at once.
    """

    def __init__(self, endpoint: Endpoint, options: EndpointOptions, store: ReplyStore, purse: Purse) -> None:
        self.ledger = Ledger(purse)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="metaeval-llm", daemon=True)
        self._thread.start()

        async def made() -> ChatClient:
            # Connections belong to the loop that they are made in.
            return ChatClient(endpoint, options, store, self.ledger)

        self._client = asyncio.run_coroutine_threadsafe(made(), self._loop).result()
        self._close = weakref.finalize(self, _close, self._loop, self._thread, self._client)

    def ask(self, requests: Sequence[ChatRequest], progress: Progress | None = None) -> list[Answer]:
        """Return a reply or failure for each request, in order; equal requests are sent once.

        An interrupt sends nothing more, keeps the replies that arrive within `GRACE` seconds, and is raised again; a
        second one does not wait.

        Parameters
        ----------
        requests : sequence of ChatRequest
            (n,) requests.
        progress : callable, optional
            Called in the loop's thread with the number of requests that are done, and of all.

        Returns
        -------
        list of Reply or Failure
            (n,)

        Raises
        ------
        UserError
            When going on is pointless.
        """
        asking = asyncio.run_coroutine_threadsafe(self._client.ask(requests, progress), self._loop)
        try:
            return asking.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(self._client.stop)
            with suppress(TimeoutError, CancelledError):
                asking.exception(timeout=GRACE + 1)
            raise

    def note(self) -> str:
        """Return one line: numbers of replies, stored replies and tokens, the cost, and whatever went wrong."""
        return self.ledger.note()

    def close(self) -> None:
        """Close the connections and end the thread; the reply store stays open."""
        self._close()


def _close(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: ChatClient) -> None:
    async def ended() -> None:
        """Cancel what a second interrupt left running, then close the connections."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await client.close()

    if threading.current_thread() is thread:  # garbage is collected in any thread, and this one cannot wait for itself
        loop.create_task(ended()).add_done_callback(lambda _: loop.stop())
        return
    asyncio.run_coroutine_threadsafe(ended(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
