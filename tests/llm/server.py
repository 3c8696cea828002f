"""A chat-completions server on loopback, in a thread, that can misbehave: every fault that a client has to live with.

    with ChatServer(answer=lambda body: "Prediction: 2", faults=0.2) as server:
        ... server.url, server.completed, server.attempts

`answer` makes of a request's body the reply's text, or a whole reply (a dict), or (status, error body), or the
pieces of bytes that go over the wire (an iterator, which need not end).
"""

import asyncio
import json
import random
import re
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FAULTS = ("429 retry-after", "429", "500", "timeout", "half-closed", "closed", "garbage", "wrong json")
# Those that cost a client no waiting.
QUICK_FAULTS = tuple(kind for kind in FAULTS if kind != "timeout")
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many", 500: "Error"}
WORDS = re.compile(r"\w+")


def prompt_of(body):
    return body["messages"][-1]["content"]


def parts_of(prompt):
    """(statement, citation) of a judge's prompt."""
    statement, citation = prompt.rsplit("\nStatement: ", 1)[1].rsplit("\n\nCitation: ", 1)
    return statement.rstrip(), citation.removesuffix("\n\nPrediction:")


def share(prompt):
    """Share of the statement's words that stand in the citation."""
    statement, citation = ({*WORDS.findall(part.lower())} for part in parts_of(prompt))
    return len(statement & citation) / len(statement)


def judge(body):
    """A judge by word overlap, for both prompts: a level, or a share."""
    found = share(prompt_of(body))
    level = 2 if found == 1 else int(found > 0.3)
    return f"The citation holds {found:.0%} of it.\nPrediction: " + (
        str(level) if "Prediction: LEVEL" in prompt_of(body) else f"{found:.3f}"
    )


def counting_judge(body):
    """The same, with the prompt's words counted as its tokens."""
    words = len(WORDS.findall(prompt_of(body)))
    return {**completion(judge(body)), "usage": {"prompt_tokens": words, "completion_tokens": 10}}


def completion(text, **message_or_choice):
    """The body of a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny-2",
        "system_fingerprint": "fp_1",
        "choices": [{**choice, **message_or_choice}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


@dataclass
class ChatServer:
    """Counts what it got and what it completed. faults: the share of requests that meet one of `kinds`.

    seed: which attempts at which prompt meet a fault, and which fault, whatever the order in which they come.
    latency: seconds, or a function of the request's body; until: a function of it that is true when it may be answered.
    certificate: a PEM file with certificate and key, to serve https with.
    """

    answer: Any = judge
    faults: float = 0.0
    kinds: tuple = FAULTS
    latency: Any = 0.0
    until: Any = None
    key: str = ""
    model: str = ""
    seed: int = 0
    certificate: Any = None

    def __post_init__(self):
        self.tls = None
        if self.certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(self.certificate)
        self.attempts = Counter()  # by prompt
        self.completed = Counter()  # by prompt: answers made, each of which would be paid for
        self.faulted = Counter()  # by kind
        self.bodies = []
        self.raw = []  # the bodies as bytes
        self.headers = []
        self.in_flight = self.most_in_flight = 0

    def __enter__(self):
        ready = threading.Event()
        self.loop = asyncio.new_event_loop()

        async def start():
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024, ssl=self.tls)
            self.port = self.server.sockets[0].getsockname()[1]
            ready.set()

        def run():
            self.loop.create_task(start())
            self.loop.run_forever()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        ready.wait()
        return self

    def __exit__(self, *_):
        async def stop():
            self.server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self.loop).result(60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                self.raw.append(raw)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    await self.respond(writer, lines[0].split()[1], headers, json.loads(raw) if raw else {})
                finally:
                    self.in_flight -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def respond(self, writer, path, headers, body):
        if path != "/v1/chat/completions":
            return await self.send(writer, 404, {"detail": "Not Found"})
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            given = headers.get("authorization", "").removeprefix("Bearer ")
            return await self.error(writer, 401, f"Incorrect API key provided: {given}", "invalid_api_key")
        if self.model and body["model"] != self.model:
            return await self.error(writer, 404, f"The model `{body['model']}` does not exist", "model_not_found")
        self.attempts[prompt_of(body)] += 1
        self.bodies.append(body)
        self.headers.append(headers)
        chance = random.Random(f"{self.seed} {self.attempts[prompt_of(body)]} {prompt_of(body)}")
        if chance.random() < self.faults:
            kind = chance.choice(self.kinds)
            self.faulted[kind] += 1
            return await self.misbehave(writer, kind)
        await asyncio.sleep(self.latency(body) if callable(self.latency) else self.latency)
        while self.until and not self.until(body):
            await asyncio.sleep(0.005)
        made = self.answer(body)
        if isinstance(made, Iterator):
            for piece in made:
                writer.write(piece)
                await writer.drain()
            raise ConnectionResetError
        if isinstance(made, tuple):
            return await self.send(writer, *made)
        # Counted first: a client that has its answer may look at the count before the sending ends here.
        self.completed[prompt_of(body)] += 1
        return await self.send(writer, 200, completion(made) if isinstance(made, str) else made)

    async def misbehave(self, writer, kind):
        if kind.startswith("429"):
            extra = {"Retry-After": "0.05"} if "retry-after" in kind else {}
            await self.error(writer, 429, "Rate limit reached", "rate_limit_exceeded", extra)
        elif kind == "500":
            await self.send(writer, 500, "<html>Internal Server Error</html>")
        elif kind == "garbage":
            await self.send(writer, 200, "<html>welcome to the proxy</html>")
        elif kind == "wrong json":
            await self.send(writer, 200, {"status": "ok", "choices": []})
        else:
            if kind == "timeout":
                await asyncio.sleep(30)
            elif kind == "half-closed":
                writer.write(
                    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"id": "x'
                )
                await writer.drain()
            raise ConnectionResetError

    async def error(self, writer, status, message, code, extra=None):
        await self.send(writer, status, {"error": {"message": message, "code": code}}, extra or {})

    async def send(self, writer, status, body, extra=None):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        head = {"Content-Type": "application/json", "Content-Length": len(data), **(extra or {})}
        lines = [
            f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}",
            *(f"{name}: {value}" for name, value in head.items()),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await writer.drain()


def facts(body):
    """The facts of SCiFi by a model that splits at "and", and finds a fact where it stands."""
    *_, sentence, last = body["messages"][0]["content"].splitlines()
    if last.startswith("Fact: "):
        fact = json.loads(last.removeprefix("Fact: ")).rstrip(".")
        found = re.search(re.escape(fact), json.loads(sentence.removeprefix("Sentence: ")), re.IGNORECASE)
        return json.dumps({"segment": found[0]})
    parts = json.loads(last.removeprefix("Sentence: ")).rstrip(".").split(" and ")
    return json.dumps({"facts": [f"{part[0].upper()}{part[1:]}." for part in parts]})
