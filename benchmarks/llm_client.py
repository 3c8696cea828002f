"""How near the chat client comes to the ideal rate, requests in flight / latency, over a server that only waits.

    python benchmarks/llm_client.py [requests]

The server is a process of its own on loopback and answers each request after half a second. With 256 requests in
flight, 512 a second would be ideal. Three clients, interleaved, several rounds:

    ours      metaeval.llm: prompts hashed, replies parsed, counted, and each committed to the reply store
    aiohttp   openai's AsyncOpenAI on its aiohttp transport: replies parsed into its models, and dropped
    httpx     openai's AsyncOpenAI as it comes: the same on its default transport

Prints the median of calls a second, its share of the ideal, and the client's CPU time per call. The httpx client gets
fewer requests, since it degrades with the number of connections.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from metaeval.llm.budget import Purse
from metaeval.llm.client import ChatSession
from metaeval.llm.endpoint import Endpoint, EndpointOptions
from metaeval.llm.exchange import ChatRequest
from metaeval.llm.replies import ReplyStore

IN_FLIGHT = 256
LATENCY = 0.5
ROUNDS = 3
TIMEOUT = 120.0

_BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "benchmark",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "The citation states it.\nPrediction: 2"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 300, "completion_tokens": 12, "total_tokens": 312},
    }
).encode()
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)


class Waiting(asyncio.Protocol):
    """HTTP without the costs of a framework, so that the machine's time is the client's."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing received."""
        self._transport: Any = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole request after the latency."""
        self._received += data
        while (head := self._received.find(b"\r\n\r\n")) >= 0:
            length = int(self._received[:head].lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            if len(self._received) < head + 4 + length:
                return
            self._received = self._received[head + 4 + length :]
            asyncio.get_running_loop().call_later(LATENCY, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_RESPONSE)


def serve(port: multiprocessing.Queue[int]) -> None:
    """Run the server, and tell its port."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Waiting, "127.0.0.1", 0, backlog=2048)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def bodies(count: int) -> list[dict[str, Any]]:
    """Distinct judge prompts of about 300 tokens."""
    prompt = "Statement: number {}\nCitation: " + "word " * 240 + "\nPrediction:"
    return [
        {
            "model": "benchmark",
            "temperature": 0,
            "max_tokens": 512,
            "messages": [{"role": "user", "content": prompt.format(number)}],
        }
        for number in range(count)
    ]


def ours(url: str, count: int) -> None:
    """Through the session, into a fresh reply store."""
    with tempfile.TemporaryDirectory() as folder:
        store = ReplyStore(Path(folder) / "replies.sqlite")
        options = EndpointOptions(concurrency=IN_FLIGHT, timeout=TIMEOUT, retries=0)
        session = ChatSession(Endpoint(url, "benchmark", "NONE", "none"), options, store, Purse(None, None))
        session.ask([ChatRequest(body) for body in bodies(count)])
        session.close()
        store.close()


def openai_client(url: str, count: int, transport: Callable[[], httpx2.AsyncClient] | None) -> None:
    """Through AsyncOpenAI, with as many workers as requests in flight."""

    async def run() -> None:
        async with AsyncOpenAI(
            api_key="none",
            base_url=url,
            max_retries=0,
            timeout=TIMEOUT,
            http_client=transport() if transport else None,
        ) as client:
            todo = iter(bodies(count))

            async def work() -> None:
                for body in todo:
                    await client.chat.completions.create(**body)

            await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))

    asyncio.run(run())


def aiohttp_client() -> httpx2.AsyncClient:
    """openai's aiohttp transport, with room for all that is in flight."""
    limits = httpx2.Limits(max_connections=IN_FLIGHT, max_keepalive_connections=IN_FLIGHT)
    return DefaultAioHttpClient(limits=limits, timeout=TIMEOUT)


def main(count: int) -> None:
    """Print the table."""
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{port.get()}/v1"
    few = min(count, 2 * IN_FLIGHT)
    clients: dict[str, tuple[Callable[[], None], int]] = {
        "ours": (lambda: ours(url, count), count),
        "aiohttp": (lambda: openai_client(url, count, aiohttp_client), count),
        "httpx": (lambda: openai_client(url, few, None), few),
    }
    rates: dict[str, list[float]] = {name: [] for name in clients}
    processor: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, (run, asked) in clients.items():
            started, used = time.perf_counter(), time.process_time()
            run()
            rates[name].append(asked / (time.perf_counter() - started))
            processor[name].append((time.process_time() - used) / asked)
    server.kill()
    ideal = IN_FLIGHT / LATENCY
    print(f"{IN_FLIGHT} in flight, {LATENCY} s latency: ideal {ideal:.0f} calls/s; {ROUNDS} rounds of {count} calls")
    for name in clients:
        rate = statistics.median(rates[name])
        spread = f"{min(rates[name]):.0f}-{max(rates[name]):.0f}"
        milliseconds = 1e3 * statistics.median(processor[name])
        print(
            f"{name:8} {rate:5.0f} calls/s ({spread})  {rate / ideal:6.1%} of ideal  {milliseconds:.2f} ms CPU a call"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5120)
