"""A file of requests and their replies, to run the whole pipeline again without a model.

    {"request": {"model": ..., "messages": [...], ...}, "sample": 0, "reply": {"choices": [...], ...}}

One object per line; request and reply are what was sent and what came, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from metaeval.citation.citeeval.asking import Ask
from metaeval.corpus.loaders.rows import Row, read_rows
from metaeval.errors import UserError
from metaeval.files import canonical_json, write_text
from metaeval.llm.answer import Answer
from metaeval.llm.reply import Reply, read_reply
from metaeval.llm.request import ChatRequest


def recording(ask: Ask, path: Path) -> Ask:
    """Ask, and write every reply into the file, in the order of the requests, each once; failures are not written.

    The file appears, whole, when all is answered; an older one under its name is replaced.
    """

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        answers = ask(requests)
        lines = {
            _key(request): canonical_json(
                {"request": request.body, "sample": request.sample, "reply": json.loads(answer.raw)}
            )
            for request, answer in zip(requests, answers, strict=True)
            if isinstance(answer, Reply)
        }
        write_text(path, "".join(f"{line}\n" for line in lines.values()))
        return answers

    return asked


def replaying(path: Path) -> Ask:
    """Answer from the file. Raises `UserError` when it cannot be read, and on a request that it does not hold."""
    replies = {
        _key(ChatRequest(row.row("request").fields, row.number("sample"))): _reply(row) for row in read_rows(path)
    }

    def asked(requests: Sequence[ChatRequest]) -> Sequence[Answer]:
        missing = sum(_key(request) not in replies for request in requests)
        if missing:
            raise UserError(
                f"{path} holds no reply to {missing:,} of {len(requests):,} requests: it was recorded with another "
                "model, prompt, option or input; ask the model again, or give what it was recorded with."
            )
        return [replies[_key(request)] for request in requests]

    return asked


def _key(request: ChatRequest) -> bytes:
    return request.key("")


def _reply(row: Row) -> Reply:
    try:
        return read_reply(canonical_json(row.row("reply").fields))
    except ValueError as error:
        raise UserError(f"{row.where}: the reply is {error}; record the file again.") from error
