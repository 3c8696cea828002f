"""Requests and replies as files, in the JSONL that batch APIs and `vllm run-batch` read and write. Nothing is sent.

    {"custom_id": "9f0c...", "method": "POST", "url": "/v1/chat/completions", "body": {"model": ..., "messages": ...}}
    {"custom_id": "9f0c...", "response": {"status_code": 200, "body": {"choices": ...}}, "error": null}

A custom_id is the request's key in the reply store, in hex: a hash of all that is sent, and of the server's name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.core.errors import UserError, count
from metaeval.core.files import canonical_json, write_text
from metaeval.core.parsing import MalformedError, parse_json, read_text
from metaeval.llm.budget import Ledger, Purse, causes
from metaeval.llm.endpoint import Cause, ModelOptions, fault_of_status, shortened
from metaeval.llm.messages import Answer, ChatRequest, Failure, Reply, read_reply
from metaeval.llm.reply_store import ReplyStore

if TYPE_CHECKING:
    from metaeval.llm.chat_client import ChatSession

_log = logging.getLogger("metaeval")
_MISSING = Failure(Cause.NO_REPLY, "the batch's output has no line about it")


def write_batch(path: Path, bodies: Mapping[str, bytes]) -> str:
    """Write a batch file of requests; return a sentence with their number and advice. bodies: JSON by custom_id."""
    frame = '{{"custom_id":"{}","method":"POST","url":"/v1/chat/completions","body":{}}}\n'
    write_text(path, "".join(frame.format(name, body.decode()) for name, body in bodies.items()))
    if not bodies:
        return f"0 requests written to {path}: every reply is stored already."
    return (
        f"{count(len(bodies), 'request')} written to {path}, and nothing asked. Have a batch API or 'vllm run-batch "
        f"-i {path} -o REPLIES' answer them, then type the same command with --replies REPLIES in the place of "
        "--requests (of cite: --set batch=REPLIES, --set requests=FILE)."
    )


class BatchSession:
    """A session that answers from the reply store and the output of a batch, like a `ChatSession`, but sends nothing.

    A reply in the store is used first; one of the batch is stored when its request is asked. A request whose reply is
    in neither fails.
    """

    def __init__(self, path: Path, server: str, store: ReplyStore, purse: Purse) -> None:
        self.ledger = Ledger(purse)
        self._path, self._server, self._store = path, server, store
        self._lines = _read_batch(path)
        self._foreign = set(self._lines)

    def ask(self, requests: Sequence[ChatRequest], progress: Callable[[int, int], None] | None = None) -> list[Answer]:
        """Return a reply or failure for each request, in order; `progress` is called once, at the end."""
        answers: dict[bytes, Answer] = {}
        keys = [request.key(self._server) for request in requests]
        for key, request in zip(keys, requests, strict=True):
            if key not in answers:
                answers[key] = self._answer(key, request)
        if progress:
            progress(len(requests), len(requests))
        return [answers[key] for key in keys]

    def holds(self, request: ChatRequest) -> bool:
        """Return whether the batch has a line about a request, be it a reply or an error."""
        return request.key(self._server).hex() in self._lines

    def note(self) -> str:
        """Return one line of counts: replies from batch and store, failed requests, lines of no request of this run."""
        ledger = self.ledger
        failed = f"{count(ledger.failed.total(), 'request')} without one ({causes(ledger.failed)})"
        parts: list[tuple[object, str]] = [
            (True, f"{count(ledger.taken, 'reply')} taken from {self._path}, {ledger.stored:,} from the reply store"),
            (ledger.failed, f"{failed}: --requests writes them again"),
            (self._foreign, f"{count(len(self._foreign), 'line')} of the file about no request of this run"),
            (ledger.unparsed, f"{count(ledger.unparsed, 'reply')} without a score"),
        ]
        return "; ".join(text for applies, text in parts if applies)

    def close(self) -> None:
        """Do nothing, as no connection is open."""

    def _answer(self, key: bytes, request: ChatRequest) -> Answer:
        line = self._lines.get(key.hex(), _MISSING)
        self._foreign.discard(key.hex())
        kept = self._store.find(key)
        if kept is None and isinstance(line, Reply):
            stored = self._store.put(key, self._server, request, line, 0.0)
            self._store.learn(request.settings(self._server))
            self.ledger.taken += 1
            return stored
        if kept is None and isinstance(line, Failure):
            self.ledger.failed[line.cause] += 1
            return line
        self.ledger.stored += 1
        return kept or line


def open_session(options: ModelOptions, store: ReplyStore) -> ChatSession | BatchSession:
    """Return a session that reads the batch output `options.batch` or, if that is None, asks the endpoint.

    Raises `UserError` for an unreadable batch, or without the key that the endpoint needs.
    """
    purse = Purse(options.prices, options.budget)
    if options.batch is not None:
        return BatchSession(options.batch, options.server_name, store, purse)
    endpoint = options.endpoint()
    from metaeval.llm.chat_client import ChatSession

    return ChatSession(endpoint, options, store, purse)


def _read_batch(path: Path) -> dict[str, Answer]:
    """Return the reply or failure for each custom_id in a batch's output: its first reply, else its last failure.

    A warning counts the lines of another form. Raises `UserError` if no line has the form.
    """
    answers: dict[str, Answer] = {}
    bad: list[int] = []
    for number, line in enumerate(read_text(path, "give the output of a batch (JSONL)").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse_json(line, lone_surrogates=True, long_integers=True)
            name, answer = value["custom_id"], _outcome(value["response"], value.get("error"))
        except (MalformedError, KeyError, TypeError, AttributeError):
            bad.append(number)
            continue
        if isinstance(answers.get(str(name)), Reply):
            continue
        answers[str(name)] = answer
    if not answers:
        form = '{"custom_id": ..., "response": {"status_code": ..., "body": ...}, "error": ...}'
        raise UserError(f"{path} holds no line of a batch's output, {form}: give the file that the batch wrote.")
    if bad:
        _log.warning(
            "%s: %s lines are not of a batch's output, the first is line %s; they are left out.", path, len(bad), bad[0]
        )
    return answers


def _outcome(response: Mapping[str, Any] | None, error: Any) -> Answer:
    """Return the reply in a line, or the failure. Raises KeyError, TypeError or AttributeError for another form."""
    if response is None:
        detail = fault_of_status(500, canonical_json(error), {}).detail.removeprefix("HTTP 500: ")
        return Failure(Cause.NO_REPLY, shortened(detail))
    status, body = response["status_code"], response.get("body")
    if status == 200 and body is not None:
        try:
            return read_reply(canonical_json(body))
        except ValueError as found:
            return Failure(Cause.GARBLED, str(found))
    fault = fault_of_status(int(status), canonical_json(body if error is None else error), {})
    return Failure(fault.cause, shortened(fault.detail))
