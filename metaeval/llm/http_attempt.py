"""One attempt to send a chat request over HTTP: the pace at which attempts start, and the transport of one.

It rests on aiohttp alone, which repeats no POST itself.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import ssl
import zlib
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from metaeval.llm.endpoint import Cause, Endpoint, Fault, fault_of_status, shortened, without_key
from metaeval.llm.messages import ChatRequest, Reply, read_reply

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
_OPENAI_HEADERS = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return the TLS settings with the trusted certificate authorities, cached because reading them is slow."""
    return httpx2.create_ssl_context()


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address, None without any."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of every request. Organisation and project are for OpenAI's own address alone."""
    named = _OPENAI_HEADERS if endpoint.is_openai else {}
    return {
        "Accept": "application/json",
        "Accept-Encoding": "gzip",
        "Authorization": f"Bearer {endpoint.key or 'none'}",
        "Content-Type": "application/json",
        "User-Agent": "metaeval",
        **{header: os.environ[name] for name, header in named.items() if os.environ.get(name)},
    }


class Transport:
    """A pool of connections to one endpoint, created, used and closed inside one event loop.

    connections: most that are open at once. timeout: seconds for a whole reply. reply_bytes: size of the largest reply,
    decompressed, without log-probabilities.
    """

    def __init__(self, endpoint: Endpoint, connections: int, timeout: float, reply_bytes: int) -> None:
        self._endpoint = endpoint
        self._seconds = timeout
        self._reply_bytes = self._most = reply_bytes
        self._url = f"{endpoint.base_url}/chat/completions"
        secure = _trusted() if endpoint.base_url.startswith("https:") else True
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=_IDLE_SECONDS, ssl=secure),
            headers=_headers(endpoint),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(timeout, _CONNECT_SECONDS)),
            auto_decompress=False,
            proxy=_proxy(endpoint.base_url),
        )

    async def send(self, request: ChatRequest) -> Reply:
        """Send a request once, and return the reply; raises `Fault` if there is none."""
        if request.body.get("logprobs"):
            # 4096 bytes have room for an output token with its 20 alternatives.
            self._most = max(self._most, self._reply_bytes + 4096 * request.most_tokens_out)
        try:
            # Nobody is followed to another address: texts and key are for the one that was named.
            sending = self._client.post(self._url, data=request.content, allow_redirects=False)
            async with asyncio.timeout(self._seconds), sending as response:
                content = await self._content(response)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._broken(error) from error
        # What is kept, shown or cut below is without the key.
        text = without_key(_decoded(content, response), self._endpoint.key)
        if not 200 <= response.status < 300:
            fault = fault_of_status(response.status, text, response.headers)
            raise Fault(fault.cause, shortened(without_key(fault.detail, self._endpoint.key)), fault.retry_after)
        try:
            return read_reply(text)
        except ValueError as error:
            raise Fault(Cause.GARBLED, f"not a chat completion: {shortened(text)}") from error

    async def _content(self, response: aiohttp.ClientResponse) -> bytes:
        """Return a response's body, decompressed; raises `Fault` beyond the limit, where reading stops."""
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        if packing not in ("identity", "gzip", "deflate"):
            packing = shortened(without_key(packing, self._endpoint.key))
            raise Fault(Cause.GARBLED, f"the reply is compressed as {packing}, which was not asked for")
        unpacker = None if packing == "identity" else zlib.decompressobj(47)  # gzip and zlib alike
        content = bytearray()
        try:
            while piece := await response.content.readany():
                # One byte above the limit shows that there is more.
                content += unpacker.decompress(piece, self._most + 1 - len(content)) if unpacker else piece
                if len(content) > self._most:
                    raise Fault(Cause.TOO_LARGE, f"more than {self._most:,} bytes")
        except zlib.error as error:
            raise Fault(Cause.GARBLED, f"the reply is not compressed as it says ({error})") from error
        return bytes(content)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def _broken(self, error: Exception) -> Fault:
        """Return the fault of a broken connection: a server that was never reached, that hangs, or that hung up."""
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.InvalidURL):
            return Fault(Cause.UNREACHABLE, _reason(error))
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Fault(Cause.UNREACHABLE, f"no connection within {min(self._seconds, _CONNECT_SECONDS):g} s")
        if isinstance(error, TimeoutError):
            return Fault(Cause.TIMEOUT, f"no answer within {self._seconds:g} s")
        return Fault(Cause.DROPPED, "the connection was dropped")


def _reason(error: Exception) -> str:
    """Return why a server was not reached, in the system's words (Connection refused) or about its certificate."""
    cause = getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}; SSL_CERT_FILE names a file of more authorities"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS connection: {cause.reason or cause}; does the server expect http instead of https?"
    number = getattr(cause, "errno", None)
    return str((os.strerror(number) if number and number > 0 else getattr(cause, "strerror", "")) or error)


def _decoded(content: bytes, response: aiohttp.ClientResponse) -> str:
    """Return a body as text: in UTF-8, 16 or 32, as JSON is, else by the encoding that the response names, if any."""
    for name in (json.detect_encoding(content), response.charset or "utf-8"):
        with suppress(LookupError, ValueError):  # an unknown encoding, one of no texts, or another one than it says
            return content.decode(name)
    return content.decode("utf-8", "replace")
