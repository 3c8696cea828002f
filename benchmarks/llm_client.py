"""CPU time of the chat client per call, beside a bare aiohttp loop, with 256 requests in flight and 20 % errors.

    python -m benchmarks.llm_client [calls] [rounds] [checkout ...]

The server is a process of its own on loopback. It answers at once, or, in the second table, meets a fifth of all
attempts with HTTP 429, HTTP 500, a closed connection, or silence until the client gives up. Interleaved, one process
on one core each:

    bare      aiohttp: a body made and serialised, the reply's JSON parsed, asked again at once after any error
    ours      metaeval.llm: a plan (keys, cost, what is stored), then the session; each reply committed to the store
    CHECKOUT  ours, of another checkout of metaeval, such as the version before a change

Prints the median of CPU milliseconds a call (user and system, the server's not), of its ratio to the bare loop of the
same round, and of calls a second; then how many requests have no reply, and how many the server answered twice.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import aiohttp

IN_FLIGHT = 256
TIMEOUT = 8.0
FAULTS = 0.2
_HERE = Path(__file__).resolve()

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


def _http(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status.encode(),
        len(body),
        body,
    )


class Server(asyncio.Protocol):
    """HTTP without the costs of a framework. The path /faults/... makes a share of attempts fail."""

    attempts: ClassVar[Counter[bytes]] = Counter()
    answers: ClassVar[Counter[bytes]] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing received."""
        self._transport: Any = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._received += data
        while (head := self._received.find(b"\r\n\r\n")) >= 0:
            lines = self._received[:head].lower()
            length = (
                int(lines.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]) if b"content-length:" in lines else 0
            )
            if len(self._received) < head + 4 + length:
                return
            body = self._received[head + 4 : head + 4 + length]
            self._received = self._received[head + 4 + length :]
            self._answer(lines, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"get"):
            counts = [len(self.answers), sum(answers > 1 for answers in self.answers.values()), self.attempts.total()]
            self.attempts.clear()
            self.answers.clear()
            self._transport.write(_http("200 OK", json.dumps(counts).encode()))
            return
        self.attempts[body] += 1
        chance = random.Random(b"%d" % self.attempts[body] + body)
        fault = chance.choice(["429", "500", "close", "hang"]) if chance.random() < FAULTS else ""
        if b"/faults/" not in head or not fault:
            self.answers[body] += 1
            self._transport.write(_http("200 OK", _BODY))
        elif fault == "close":
            self._transport.close()
        elif fault != "hang":
            self._transport.write(_http(f"{fault} Error", b'{"error": {"message": "injected"}}'))


def serve(port: multiprocessing.Queue[int]) -> None:
    """Run the server, and tell its port."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=2048)
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


def ours(url: str, count: int) -> int:
    """Plan, then ask through the session into a fresh reply store; the number of replies in the store."""
    from metaeval.llm.budget import Purse, estimate
    from metaeval.llm.chat_client import ChatSession
    from metaeval.llm.endpoint import Endpoint, EndpointOptions, Prices
    from metaeval.llm.messages import ChatRequest
    from metaeval.llm.reply_store import ReplyStore

    with tempfile.TemporaryDirectory() as folder:
        store = ReplyStore(Path(folder) / "replies.sqlite")
        prices = Prices(0.5, 1.5)
        options = EndpointOptions(concurrency=IN_FLIGHT, timeout=TIMEOUT, retries=12, backoff=0.1)
        session = ChatSession(Endpoint(url, "benchmark", "NONE", "none"), options, store, Purse(prices, 1e6))
        requests = [ChatRequest(body) for body in bodies(count)]
        assert estimate(requests, url, store, prices).requests == count
        session.ask(requests)
        session.close()
        rows = sum(store.has(request.key(url)) for request in requests)
        store.close()
    return rows


def bare(url: str, count: int) -> int:
    """A loop on aiohttp, with as many workers as requests in flight; the number of replies."""

    async def run() -> int:
        connector = aiohttp.TCPConnector(limit=IN_FLIGHT)
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        replies = 0
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as client:
            todo = iter(bodies(count))

            async def work() -> None:
                nonlocal replies
                for body in todo:
                    while True:
                        try:
                            async with client.post(f"{url}/chat/completions", json=body) as response:
                                reply = await response.json()
                        except (aiohttp.ClientError, TimeoutError):
                            continue
                        if response.status == 200 and reply["choices"][0]["message"]["content"]:
                            break
                    replies += 1

            await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
        return replies

    return asyncio.run(run())


def measure(name: str, url: str, count: int) -> None:
    """Print replies, CPU seconds and seconds of one client, without its imports and first calls."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    run = bare if name == "bare" else ours
    run(url.replace("/faults", ""), IN_FLIGHT)
    _counts(url)
    used, started = time.process_time(), time.perf_counter()
    replies = run(url, count)
    print(json.dumps([replies, time.process_time() - used, time.perf_counter() - started]))


def _counts(url: str) -> list[int]:
    """Return (bodies answered, bodies answered more than once, attempts) since the last call."""
    with urllib.request.urlopen(url) as response:
        counts: list[int] = json.load(response)
    return counts


def rounds(url: str, clients: list[str], count: int, number: int) -> None:
    """Print one table."""
    columns: dict[str, list[tuple[float, ...]]] = {name: [] for name in clients}
    lost: Counter[str] = Counter()
    twice: Counter[str] = Counter()
    attempts: Counter[str] = Counter()
    for _ in range(number):
        for name in clients:
            checkout = _HERE.parents[1] if name in ("bare", "ours") else Path(name).resolve()
            child = [sys.executable, str(_HERE), "--measure", name, url, str(count)]
            environment = {**os.environ, "PYTHONPATH": str(checkout)}
            done = subprocess.run(child, env=environment, check=True, capture_output=True, text=True)
            replies, used, seconds = json.loads(done.stdout)
            counts = _counts(url)
            lost[name] += count - min(replies, counts[0])
            twice[name] += counts[1]
            attempts[name] += counts[2]
            milliseconds = 1e3 * used / count
            beside = columns["bare"][-1][0] if name != "bare" else milliseconds
            columns[name].append((milliseconds, milliseconds / beside, count / seconds))
    for name, rows in columns.items():
        used, ratio, rate = (median(column) for column in zip(*rows, strict=True))
        low, high = min(row[0] for row in rows), max(row[0] for row in rows)
        failed = 1 - number * count / attempts[name]
        print(
            f"{Path(name).name:14} {used:.3f} ms CPU a call ({low:.3f}-{high:.3f})  {ratio:.2f} x bare  {rate:6.0f} "
            f"calls/s  {failed:.0%} of attempts failed, {lost[name]} lost, {twice[name]} answered twice"
        )


def main(count: int = 3000, number: int = 5, *others: str) -> None:
    """Print both tables."""
    from benchmarks.paired import processor

    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    address = f"http://127.0.0.1:{port.get()}"
    print(f"{processor()}; {IN_FLIGHT} in flight, {number} rounds of {count} calls")
    for title, url in (("no errors", f"{address}/v1"), (f"{FAULTS:.0%} errors", f"{address}/faults/v1")):
        print(title)
        rounds(url, ["bare", "ours", *others], count, number)
    server.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(*map(int, sys.argv[1:3]), *sys.argv[3:])
