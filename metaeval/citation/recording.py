"""Files of replies: requests and what came of them, one object per line, so that a whole pipeline can run again.

Request and reply are what was sent and what came, as JSON. A request that failed is kept as failed.

    {"request": {"model": ..., "messages": [...], ...}, "sample": 0, "reply": {"choices": [...], ...}}
    {"request": {...}, "sample": 0, "failure": {"cause": "refused", "detail": "..."}}
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError
from metaeval.files import canonical_json, write_text
from metaeval.llm.errors import Cause
from metaeval.llm.exchange import Answer, Ask, ChatRequest, Failure, read_reply
from metaeval.reading import parse_json

_HINT = "name a file that --record wrote"


def recording(ask: Ask, path: Path) -> Ask:
    """Ask, and write what came of every request into the file, in the order of the requests, each once.

    The file is written whole after each call, and holds all calls so far; an older one under its name is replaced.
    """
    lines: dict[bytes, str] = {}

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        answers = ask(requests)
        for request, answer in zip(requests, answers, strict=True):
            came: dict[str, Any] = (
                {"failure": {"cause": str(answer.cause), "detail": answer.detail}}
                if isinstance(answer, Failure)
                else {"reply": parse_json(answer.raw, lone_surrogates=True)}
            )
            kept = {"request": request.body, "sample": request.sample, **came}
            if request.attempt:
                kept["attempt"] = request.attempt
            lines[_key(request)] = canonical_json(kept)
        write_text(path, "".join(f"{line}\n" for line in lines.values()))
        return answers

    return asked


class Replay:
    """Answer from the file. Raises `UserError` when it cannot be read, and on a request that it does not hold."""

    def __init__(self, path: Path) -> None:
        self._path = path
        rows = read_rows(path, _HINT, lone_surrogates=True)
        self._kept = {_key(_request(row)): _answer(row) for row in rows}

    def fitted(self, requests: Sequence[ChatRequest]) -> Sequence[ChatRequest]:
        """The requests in the form that they were recorded in."""
        return [
            one.plain if one.loose and _key(one) not in self._kept and _key(one.plain) in self._kept else one
            for one in requests
        ]

    def __call__(self, requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        """One answer per request, in order."""
        missing = sum(_key(request) not in self._kept for request in requests)
        if missing:
            raise UserError(
                f"{self._path} holds no reply to {missing:,} of {len(requests):,} requests: it was recorded with "
                "another model, prompt, option or input; ask the model again, or give what it was recorded with."
            )
        return [self._kept[_key(request)] for request in requests]


def replayed_model(path: Path) -> str:
    """The model that a file of replies was recorded with; `UserError` where it holds none."""
    first = next(read_rows(path, _HINT, lone_surrogates=True), None)
    if first is None:
        raise UserError(f"{path} holds no replies: name the model with --model, or record the file again.")
    return first.row("request").text("model")


def _key(request: ChatRequest) -> bytes:
    return request.key("")


def _request(row: Row) -> ChatRequest:
    attempt = row.number("attempt") if "attempt" in row.fields else 0
    request = ChatRequest(row.row("request").fields, row.number("sample"), attempt)
    try:
        _key(request)
    except ValueError as error:  # a number that is not finite
        raise row.error("request", "an object that JSON can hold") from error
    return request


def _answer(row: Row) -> Answer:
    if "failure" in row.fields:
        failure = row.row("failure")
        return Failure(failure.choice("cause", {str(cause): cause for cause in Cause}), failure.optional_text("detail"))
    try:
        return read_reply(canonical_json(row.row("reply").fields))
    except ValueError as error:
        raise UserError(f"{row.where}: the reply is {error}; record the file again.") from error
