"""A file of requests and what came of them, to run a whole pipeline again without a model.

    {"request": {"model": ..., "messages": [...], ...}, "sample": 0, "reply": {"choices": [...], ...}}
    {"request": {...}, "sample": 0, "failure": {"cause": "refused", "detail": "..."}}

One object per line; request and reply are what was sent and what came, as JSON. A request that failed is kept as
failed: the replay shows what the run showed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.citation.chat.ask import Ask
from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError
from metaeval.files import canonical_json, write_text
from metaeval.llm.answer import Answer, Failure
from metaeval.llm.errors import Cause
from metaeval.llm.reply import read_reply
from metaeval.llm.request import ChatRequest

_HINT = "name a file that --record wrote"


def recording(ask: Ask, path: Path) -> Ask:
    """Ask, and write what came of every request into the file, in the order of the requests, each once.

    The file is written whole after each call, and holds all calls so far; an older one under its name is replaced.
    """
    lines: dict[bytes, str] = {}

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        answers = ask(requests)
        for request, answer in zip(requests, answers, strict=True):
            kept = {"request": request.body, "sample": request.sample, **_outcome(answer)}
            # A lone surrogate, which JSON input may hold, has no UTF-8 form; as an escape it reads back the same.
            lines[_key(request)] = canonical_json(kept).encode("utf-8", "backslashreplace").decode("utf-8")
        write_text(path, "".join(f"{line}\n" for line in lines.values()))
        return answers

    return asked


def replaying(path: Path) -> Ask:
    """Answer from the file. Raises `UserError` when it cannot be read, and on a request that it does not hold."""
    rows = read_rows(path, _HINT)
    kept = {_key(ChatRequest(row.row("request").fields, row.number("sample"))): _answer(row) for row in rows}

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        missing = sum(_key(request) not in kept for request in requests)
        if missing:
            raise UserError(
                f"{path} holds no reply to {missing:,} of {len(requests):,} requests: it was recorded with another "
                "model, prompt, option or input; ask the model again, or give what it was recorded with."
            )
        return [kept[_key(request)] for request in requests]

    return asked


def replayed_model(path: Path) -> str:
    """The model that a file of replies was recorded with; `UserError` where it holds none."""
    first = next(read_rows(path, _HINT), None)
    if first is None:
        raise UserError(f"{path} holds no replies: name the model with --model, or record the file again.")
    return first.row("request").text("model")


def _key(request: ChatRequest) -> bytes:
    return request.key("")


def _outcome(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Failure):
        return {"failure": {"cause": str(answer.cause), "detail": answer.detail}}
    return {"reply": json.loads(answer.raw)}


def _answer(row: Row) -> Answer:
    if "failure" in row.fields:
        failure = row.row("failure")
        return Failure(failure.choice("cause", {str(cause): cause for cause in Cause}), failure.optional_text("detail"))
    try:
        return read_reply(canonical_json(row.row("reply").fields))
    except ValueError as error:
        raise UserError(f"{row.where}: the reply is {error}; record the file again.") from error
