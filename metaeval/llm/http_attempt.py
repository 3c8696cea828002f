"""One attempt to send a chat request over HTTP: the pace at which attempts start, and the transport of one.

It sends by the package `openai`, whose client repeats nothing here, over aiohttp, which repeats no POST either.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import socket
import ssl
import zlib
from contextlib import aclosing, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import aiohttp
import httpx2
from openai import AsyncOpenAI, AsyncStream, DefaultAioHttpClient, Omit, OpenAIError, omit

from metaeval.llm.endpoint import Cause, Endpoint, Fault, fault_of_status, shortened, without_key
from metaeval.llm.messages import ChatRequest, Reply, read_reply

LONGEST_WAIT = 300.0  # seconds; a server that asks for more is not waited for
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
        """Wait until the next attempt may start. Raises `Stopping` if the run is ending."""
        now = asyncio.get_running_loop().time()
        slot = max(self._next, now)
        self._next = slot + self._gap
        while (wait := max(slot, self._resting_until) - asyncio.get_running_loop().time()) > 0:
            await self._sleep(wait)
        if self.stopping.is_set():
            raise Stopping

    async def back_off(self, fault: Fault, tries: int) -> None:
        """Wait before an attempt is repeated: exponential back-off with jitter. tries: number of attempts so far.

        A wait that the server asks for, up to `LONGEST_WAIT`, delays the next `turn` of every request.
        """
        wait = min(self._backoff * 2 ** (tries - 1), _LONGEST_BACKOFF) * self._random.uniform(0.5, 1.0)
        if fault.retry_after is not None:
            # A rate limit is the account's, not the request's: everyone waits.
            self._resting_until = max(
                self._resting_until, asyncio.get_running_loop().time() + min(fault.retry_after, LONGEST_WAIT)
            )
        await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return
        raise Stopping


_CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 5.0  # for which an unused connection stays open: common servers close theirs then
_JSON = "application/json"
_trusted = functools.cache(httpx2.create_ssl_context)  # cached because reading the trusted authorities is slow


class _Client(AsyncOpenAI):
    """The package's client, which sends these headers and the key alone: no others that the environment names."""

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        """Return the headers of every request. Organisation and project are empty for others than OpenAI."""
        account = {"OpenAI-Organization": self.organization or omit, "OpenAI-Project": self.project or omit}
        return {"Accept": _JSON, "Accept-Encoding": "gzip", "Content-Type": _JSON, "User-Agent": "metaeval", **account}


_NO_COUNT = {"headers": {"X-Stainless-Retry-Count": omit}}  # of retries, of which the package knows nothing
# Arguments of `post` for which it returns a response whose body is not read yet.
_RAW: Any = {"cast_to": httpx2.Response, "stream": True, "stream_cls": AsyncStream[Any], "options": _NO_COUNT}


class Transport:
    """A pool of connections to one endpoint, created, used and closed inside one event loop.

    connections: most that are open at once. timeout: seconds for a whole reply. reply_bytes: size of the largest reply,
    decompressed, without log-probabilities.
    """

    def __init__(self, endpoint: Endpoint, connections: int, timeout: float, reply_bytes: int) -> None:
        self._endpoint = endpoint
        self._limits = httpx2.Limits(max_connections=connections, keepalive_expiry=_IDLE_SECONDS)
        self._seconds = timeout
        self._reply_bytes = self._most = reply_bytes

    @functools.cached_property
    def _client(self) -> _Client:
        """Return the client; raises ValueError or `httpx2.InvalidURL` for a malformed address or proxy."""
        url, hooks = self._endpoint.base_url, {"response": [self._refuse]}
        none = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        # Nobody is followed to another address: texts and key are for the one that was named.
        http = DefaultAioHttpClient(
            verify=_trusted(), limits=self._limits, cookies=none, event_hooks=hooks, follow_redirects=False
        )
        # A session as the package makes it, which keeps no cookies.
        carrier: Any = http._transport_for_url(httpx2.URL(url))
        session = carrier.get_client()
        carrier.client = aiohttp.ClientSession(connector=session.connector, cookie_jar=aiohttp.DummyCookieJar())
        session.detach()
        timeouts = httpx2.Timeout(None, connect=min(self._seconds, _CONNECT_SECONDS))
        named: Any = {"api_key": self._endpoint.key or "none", "base_url": url, "max_retries": 0, "timeout": timeouts}
        # Of OpenAI's own address the package takes both from the environment.
        account: Any = {} if self._endpoint.is_openai else {"organization": "", "project": ""}
        return _Client(**named, **account, http_client=http)

    async def send(self, request: ChatRequest) -> Reply:
        """Send a request once, and return the reply; raises `Fault` if there is none."""
        if request.body.get("logprobs"):
            # 4096 bytes have room for an output token with its 20 alternatives.
            self._most = max(self._most, self._reply_bytes + 4096 * request.most_tokens_out)
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._client.post("/chat/completions", content=request.content, **_RAW)
                text = await self._text(response)
        except (OSError, ValueError, OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError) as error:
            raise self._broken(error) from error
        try:
            return read_reply(text)
        except ValueError as error:
            raise Fault(Cause.GARBLED, f"not a chat completion: {shortened(text)}") from error

    async def _refuse(self, response: httpx2.Response) -> None:
        """Raise the `Fault` of a status other than success; the package would read such a body without a limit."""
        if not response.is_success:
            fault = fault_of_status(response.status_code, await self._text(response), response.headers)
            raise Fault(fault.cause, shortened(without_key(fault.detail, self._endpoint.key)), fault.retry_after)

    async def _text(self, response: httpx2.Response) -> str:
        """Return a response's body, without the key; raises `Fault` beyond the limit, where reading stops."""
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        content = bytearray()
        async with aclosing(response):
            if packing not in ("identity", "gzip", "deflate"):
                packing = shortened(without_key(packing, self._endpoint.key))
                raise Fault(Cause.GARBLED, f"the reply is compressed as {packing}, which was not asked for")
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > self._most:
                    raise Fault(Cause.TOO_LARGE, f"more than {self._most:,} bytes")
        # What is kept, shown or cut later is without the key.
        return without_key(_decoded(bytes(content), response), self._endpoint.key)

    async def close(self) -> None:
        """Close all connections."""
        if "_client" in vars(self):
            await self._client.close()

    def _broken(self, error: BaseException) -> Fault:
        """Return the fault of a broken connection: a server that was never reached, that hangs, or that hung up."""
        while isinstance(error, OpenAIError | httpx2.HTTPError) and error.__cause__:
            error = error.__cause__
        connecting = f"no connection within {min(self._seconds, _CONNECT_SECONDS):g} s"
        known: list[tuple[Any, Cause, str]] = [
            (aiohttp.ClientConnectorError | httpx2.InvalidURL | ValueError, Cause.UNREACHABLE, _reason(error)),
            (aiohttp.ConnectionTimeoutError, Cause.UNREACHABLE, connecting),
            (TimeoutError, Cause.TIMEOUT, f"no answer within {self._seconds:g} s"),
            (zlib.error, Cause.GARBLED, f"the reply is not compressed as it says ({error})"),
            (BaseException, Cause.DROPPED, "the connection was dropped"),
        ]
        return next(Fault(cause, detail) for kind, cause, detail in known if isinstance(error, kind))


def _reason(error: BaseException) -> str:
    """Return why a server was not reached, in the system's words (Connection refused) or about its certificate."""
    cause = getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}; SSL_CERT_FILE names a file of more authorities"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS connection: {cause.reason or cause}; does the server expect http instead of https?"
    number = None if isinstance(cause, socket.gaierror) else getattr(cause, "errno", None)  # which has its own numbers
    return str((os.strerror(number) if number else getattr(cause, "strerror", "")) or error)


def _decoded(content: bytes, response: httpx2.Response) -> str:
    """Return a body as text: in UTF-8, 16 or 32, as JSON is, else by the encoding that the response names, if any."""
    for name in (json.detect_encoding(content), response.charset_encoding or "utf-8"):
        with suppress(LookupError, ValueError):  # an unknown encoding, one of no texts, or another one than it says
            return content.decode(name)
    return content.decode("utf-8", "replace")
