"""The protocol `metaeval-worker/1`: a metric run as a program that reads pairs and writes scores as JSON lines.

COMMAND is started without a shell, in the current folder. We talk to its standard input and output, in UTF-8, one JSON
object a line; its standard error is its own, and the last line there is quoted in errors.

    we       {"protocol": "metaeval-worker/1"}
    worker   {"protocol": "metaeval-worker/1", "name": "shared-words", "version": "1", "low": 0, "high": 1}
    we       {"id": 0, "source": "...", "statement": "..."}
    we       {"id": 1, "source": "...", "statement": "..."}
    we       (an empty line)
    worker   {"id": 1, "score": 0.25, "tokens": 812, "cut": 300}
    worker   {"id": 0, "score": null, "status": "nothing to score"}

- The worker's first line says what it is. `name` and `version` (texts) are required. `direction` is 1 where a higher
  score is more support (the default), else -1; `low` and `high` are the range; `identity` is an object with whatever
  else decides its scores (a checkpoint's hash, a setting): scores are stored under all of this.
- Pairs come in blocks, each ended by an empty line. A worker may answer pair by pair, or read a block and score it in
  batches; it answers every pair once, in any order, before it waits for the next block. A statement without words
  is never asked about.
- An answer has `id` and `score`; a score of null goes with a `status` ("empty", "nothing to score", "too long",
  "unparsed" or "failed"). `tokens` and `cut` count input tokens, and those that the model never saw.
- {"error": "one sentence"} in place of any line ends the run with that sentence.
- The end of its input tells the worker to stop.

Anything else (a worker that dies, is silent for `timeout` seconds, writes what is no answer, answers a pair twice or
one that was not asked, or gives a score that is not finite) ends the run; the blocks before it are stored, and the same
command goes on from there. No field but these is read, and an unknown one is refused: a typing error must not pass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

PROTOCOL: Literal["metaeval-worker/1"] = "metaeval-worker/1"


class _Line(BaseModel):
    """A line of a worker: exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Hello(_Line):
    """What a worker says of itself first."""

    protocol: Literal["metaeval-worker/1"]
    name: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(min_length=1)]
    direction: Literal[1, -1] = 1
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    identity: dict[str, Any] = Field(default_factory=dict)


class Answer(_Line):
    """A worker's answer for one pair."""

    id: int
    score: FiniteFloat | None
    status: Literal["ok", "empty", "nothing to score", "too long", "unparsed", "failed"] = "ok"
    tokens: Annotated[int, Field(ge=0)] = 0
    cut: Annotated[int, Field(ge=0)] = 0


Kind = TypeVar("Kind", Hello, Answer)

_FORM: dict[type[BaseModel], str] = {
    Hello: f'its first line is {{"protocol": "{PROTOCOL}", "name": ..., "version": ...}}',
    Answer: 'an answer is {"id": ..., "score": ...}',
}


class LineError(Exception):
    """A line that is not what it should be: what it is, and what to do (empty where the worker itself says it)."""

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice


def hail() -> str:
    """What a worker is told first."""
    return json.dumps({"protocol": PROTOCOL})


def question(number: int, source: str, statement: str) -> str:
    """A pair, as it is sent."""
    return json.dumps({"id": number, "source": source, "statement": statement})


def parse(kind: type[Kind], line: str) -> Kind:
    """A worker's line read as `kind`. Raises `LineError` for anything else, and for a worker's own error."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = line
    if isinstance(values, Mapping) and values.keys() == {"error"}:
        raise LineError(f"reports: {values['error']}")
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        about = f"{field}: {first['msg'][0].lower()}{first['msg'][1:]}" if field else "not a JSON object"
        advice = f"{_FORM[kind]}, and everything else belongs on standard error"
        raise LineError(f"wrote {line[:120]!r} ({about})", advice) from error
