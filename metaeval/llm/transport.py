"""One attempt: when it may start; then a body is sent, and a reply or a fault received.

OpenAI's client on its aiohttp transport, which retries nothing itself.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import ssl
import zlib

import aiohttp
import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAioHttpClient

from metaeval.llm.endpoint import Cause, Endpoint, Fault, fault_of_status, shortened
from metaeval.llm.exchange import ChatRequest, Reply, read_reply

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more is not waited for."""

_LONGEST_BACKOFF = 60.0


class Stopping(Exception):  # noqa: N818 (not an error: the run is ending)
    """Raised in waiting requests when the run is ending, so that no further attempt is made."""


class Pace:
    """Limits the rate of requests: at most so many a minute, evenly spread, and none while the server asks to wait.

    stopping: set when the run is ending, which ends every wait.
    """

    def __init__(self, requests_per_minute: float | None, backoff: float) -> None:
        self._gap = 60 / requests_per_minute if requests_per_minute else 0.0
        self._backoff = backoff
        self._next = 0.0
        self._resting_until = 0.0
        self.stopping = asyncio.Event()
        self._random = random.Random()

    async def turn(self) -> None:
        """Wait until an attempt may start. Raises `Stopping` when the run ends first."""
        now = asyncio.get_running_loop().time()
        slot = max(self._next, now)
        self._next = slot + self._gap
        while (wait := max(slot, self._resting_until) - asyncio.get_running_loop().time()) > 0:
            await self._sleep(wait)
        if self.stopping.is_set():
            raise Stopping

    async def back_off(self, fault: Fault, tries: int) -> None:
        """Wait before the next attempt: exponential back-off with jitter, and at least as long as the server asks."""
        wait = min(self._backoff * 2 ** (tries - 1), _LONGEST_BACKOFF) * self._random.uniform(0.5, 1.0)
        if fault.retry_after is not None:
            # A rate limit is the account's, not the request's: everyone waits.
            self._resting_until = max(
                self._resting_until, asyncio.get_running_loop().time() + min(fault.retry_after, LONGEST_WAIT)
            )
        await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Stopping


_CONNECT_SECONDS = 30.0
_NEEDED = frozenset(
    "accept accept-encoding authorization connection content-length content-type host user-agent".split()
)
"""Headers that a chat completion needs."""


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return the certificate authorities that the client trusts, cached because reading them is slow."""
    return httpx2.create_ssl_context()


class Transport:
    """A pool of connections to one endpoint, created, used and closed inside one event loop.

    timeout: seconds for a whole answer. reply_bytes: largest answer, decompressed, without log-probabilities.
    """

    def __init__(self, endpoint: Endpoint, connections: int, timeout: float, reply_bytes: int) -> None:
        self._endpoint = endpoint
        self._seconds = timeout
        self._reply_bytes = self._most = reply_bytes
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        waits = httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS), pool=None)
        self._client = AsyncOpenAI(
            api_key=endpoint.key or "none",
            base_url=endpoint.base_url,
            max_retries=0,  # each attempt is counted, and paced, by us
            timeout=waits,
            # Nobody is followed to another address: texts and key are for the one that was named.
            http_client=DefaultAioHttpClient(
                headers={"Accept-Encoding": "gzip"},
                verify=_trusted(),
                limits=limits,
                timeout=waits,
                follow_redirects=False,
                event_hooks={"request": [self._strip], "response": [self._bound]},
            ),
        )

    async def send(self, request: ChatRequest) -> Reply:
        """Send a request once, and return the reply; raises `Fault` if there is none."""
        if request.body.get("logprobs"):
            # 4096 bytes have room for an output token with its 20 alternatives.
            self._most = max(self._most, self._reply_bytes + 4096 * request.most_tokens_out)
        try:
            # The limit is on the whole answer: the client's own is on each silence between two pieces of it.
            async with asyncio.timeout(self._seconds):
                response = await self._client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    content=request.content,
                    options={"headers": {"Content-Type": "application/json"}},
                )
        except APIStatusError as error:
            fault = fault_of_status(error.status_code, error.response.text, error.response.headers)
            raise Fault(fault.cause, self._scrubbed(fault.detail), fault.retry_after) from error
        except TimeoutError as error:
            raise Fault(Cause.TIMEOUT, f"no answer within {self._seconds:g} s") from error
        except (APIConnectionError, aiohttp.ClientError, httpx2.HTTPError, OSError) as error:
            raise self._broken(error) from error
        try:
            return read_reply(self._masked(response.text))
        except ValueError as error:
            raise Fault(Cause.GARBLED, f"not a chat completion: {self._scrubbed(shortened(response.text))}") from error

    async def _strip(self, request: httpx2.Request) -> None:
        """Remove headers from OPENAI_ORG_ID, OPENAI_PROJECT_ID and the system, unless the address is OpenAI's own."""
        for name in () if self._endpoint.is_openai else [*request.headers]:
            if name.lower() not in _NEEDED:
                del request.headers[name]

    async def _bound(self, response: httpx2.Response) -> None:
        """Read and decompress a body up to the limit: the client itself would read all of it."""
        packing = response.headers.pop("content-encoding", "identity").strip().lower()
        if packing not in ("identity", "gzip", "deflate") or not isinstance(response.stream, httpx2.AsyncByteStream):
            raise Fault(Cause.GARBLED, f"the answer is packed as {shortened(packing)}, which was not asked for")
        unpacker = None if packing == "identity" else zlib.decompressobj(47)  # gzip and zlib alike
        content = bytearray()
        try:
            async for piece in response.stream:
                # One byte above the limit shows that there is more.
                content += unpacker.decompress(piece, self._most + 1 - len(content)) if unpacker else piece
                if len(content) > self._most:
                    raise Fault(Cause.TOO_LARGE, f"more than {self._most:,} bytes")
        except zlib.error as error:
            raise Fault(Cause.GARBLED, f"the answer is not packed as it says ({error})") from error
        finally:
            await response.stream.aclose()
        response.stream = httpx2.ByteStream(bytes(content))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def _broken(self, error: Exception) -> Fault:
        """Return the fault of a broken connection: the client's own classes do not distinguish refused from dropped."""
        chain: list[BaseException] = []
        below: BaseException | None = error
        while below is not None:
            chain.append(below)
            below = below.__cause__ or below.__context__
        for cause in chain:
            if isinstance(cause, Fault):
                return cause
            if isinstance(cause, aiohttp.ClientConnectorError | aiohttp.InvalidURL):
                # Connection refused, Name or service not known: the system's words for it.
                number = getattr(cause, "errno", None)
                words = os.strerror(number) if number and number > 0 else getattr(cause, "strerror", "")
                return Fault(Cause.UNREACHABLE, str(words or cause))
        if any(isinstance(cause, aiohttp.ConnectionTimeoutError) for cause in chain):
            return Fault(Cause.UNREACHABLE, f"no connection within {min(self._seconds, _CONNECT_SECONDS):g} s")
        if any(isinstance(cause, TimeoutError) for cause in chain):
            return Fault(Cause.TIMEOUT, f"no answer within {self._seconds:g} s")
        return Fault(Cause.DROPPED, "the connection was dropped")

    def _masked(self, text: str) -> str:
        """Return a reply without the key, in case the server repeats it, in any JSON spelling."""
        key = self._endpoint.key
        if len(key) < 8:  # what is shorter is a word that servers of one's own take for a key, such as EMPTY
            return text
        text = text.replace(key, "***")
        if "\\" not in text:
            return text
        written = json.dumps(key)[1:-1]
        try:
            plain = json.dumps(json.loads(text), ensure_ascii=False)
        except (ValueError, RecursionError):
            return text
        return plain.replace(written, "***") if written in plain else text

    def _scrubbed(self, text: str) -> str:
        """Return a server's message without the key, in case it repeats it."""
        return text.replace(self._endpoint.key, "***") if self._endpoint.key else text
