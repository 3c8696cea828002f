"""`worker:COMMAND`: a metric in any language and environment, run as a program; the protocol `metaeval-worker/1`.

The program reads pairs and writes scores as JSON lines.

COMMAND is started without a shell, in the current folder. Its standard input and output hold one JSON object a line, in
UTF-8; its standard error is free, and the last line there is quoted in errors.

    we       {"protocol": "metaeval-worker/1"}
    worker   {"protocol": "metaeval-worker/1", "name": "shared-words", "version": "1", "low": 0, "high": 1}
    we       {"id": 0, "source": "...", "statement": "..."}
    we       {"id": 1, "source": "...", "statement": "..."}
    we       (an empty line)
    worker   {"id": 1, "score": 0.25, "tokens": 812, "cut": 300}
    worker   {"id": 0, "score": null, "status": "nothing to score"}

- The worker's first line describes it. `name` and `version` (texts) are required. `direction` is 1 where a higher
  score is more support (the default), else -1; `low` and `high` are the range; `identity` is an object with everything
  else that decides its scores (a checkpoint's hash, a setting): scores are stored under all of this.
- Pairs come in blocks, each ended by an empty line. A worker may answer pair by pair, or read a block and score it in
  batches; it answers every pair once, in any order, before it waits for the next block. A blank statement
  is not sent.
- An answer has `id` and `score`; a score of null goes with a `status` ("empty", "nothing to score", "too long",
  "unparsed", "not finite" or "failed"); NaN and infinities are read as "not finite". `tokens` and `cut` count input
  tokens, and those of them that were cut.
- {"error": "one sentence"} in place of any line ends the run with that sentence.
- The end of its input tells the worker to stop.

Anything else (a worker that dies, is silent for `timeout` seconds, writes a line that is not an answer, answers a pair
twice or one that was not sent) ends the run; the blocks before it are stored, and the same command goes on from there.
Unknown fields are refused, so that a typing error is an error.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from metaeval.errors import UserError
from metaeval.parsing import MalformedError, parse_json
from metaeval.scoring.backends.checkpoint import ModelFolder
from metaeval.scoring.backends.line_process import LineProcess, ProgramEndedError, SilentError
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Status

PROTOCOL: Literal["metaeval-worker/1"] = "metaeval-worker/1"


class _WorkerLine(BaseModel):
    """A JSON object that a worker writes on one line; further fields, and other types, are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WorkerHello(_WorkerLine):
    """A worker's first line, its description of itself; low, high: range of its scores, None for an open end."""

    protocol: Literal["metaeval-worker/1"]
    name: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(min_length=1)]
    direction: Literal[1, -1] = 1
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    identity: dict[str, Any] = Field(default_factory=dict)


class WorkerAnswer(_WorkerLine):
    """A worker's line for one pair. tokens: number of input tokens; cut: how many of these were cut off."""

    id: int
    score: float | None
    status: Literal["ok", "empty", "nothing to score", "too long", "unparsed", "not finite", "failed"] = "ok"
    tokens: Annotated[int, Field(ge=0)] = 0
    cut: Annotated[int, Field(ge=0)] = 0


Kind = TypeVar("Kind", WorkerHello, WorkerAnswer)

_FORM: dict[type[BaseModel], str] = {
    WorkerHello: f'its first line is {{"protocol": "{PROTOCOL}", "name": ..., "version": ...}}',
    WorkerAnswer: 'an answer is {"id": ..., "score": ...}',
}


def _check_quotes(command: str) -> str:
    """Return the command as it is; raises ValueError if it cannot be split into words as a shell would."""
    try:
        shlex.split(command)
    except ValueError as error:
        raise ValueError(f"the command {command!r} has an open quote or ends in a backslash") from error
    return command


class WorkerOptions(MetricOptions):
    """Options of the metric `worker:COMMAND`, which is the user's own program."""

    runtime: ClassVar[frozenset[str]] = frozenset({"timeout"})

    command: Annotated[str, AfterValidator(_check_quotes)] = ""
    """Program and its arguments, quoted as for a shell (none runs it)."""
    timeout: Annotated[float, Field(gt=0)] = 600.0
    """Seconds of silence after which the run stops."""


class Worker(Metric):
    """The scores of the user's own program (a worker); its first line gives the score's range and direction."""

    Options = WorkerOptions
    where: ClassVar[Literal["worker", "driver"]] = "driver"  # it is a process of its own, started once
    card = MetricCard(
        name="worker",
        family="worker",
        summary="a program of your own that reads pairs and writes scores as JSON lines",
        paper="none: see the program",
        licence="the program's own",
        argument="command",
    )

    def __init__(self, options: MetricOptions | None = None) -> None:
        super().__init__(options)
        if options is not None:
            _ = self._words
        self._asked = 0

    @cached_property
    def _words(self) -> list[str]:
        words = shlex.split(self.options.command)
        if not words:
            raise UserError(
                "The metric 'worker' needs a program: metric='worker:python my_worker.py', or its option command=..."
            )
        return words

    @cached_property
    def _process(self) -> LineProcess:
        try:
            return LineProcess(self._words)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(
                f"The worker {self.options.command!r} cannot be started ({reason}): check the program's name "
                "and its paths, which are relative to the current folder."
            ) from error

    @cached_property
    def hello(self) -> WorkerHello:
        """Start the worker, once, and return its first line; raises `UserError` if there is none or it is malformed."""
        self._process.send([json.dumps({"protocol": PROTOCOL})])
        hello = self._line(WorkerHello, "before its first line")
        card = replace(self.card, direction=hello.direction, low=hello.low, high=hello.high)
        vars(self)["card"] = card  # this worker's; the class keeps its own
        return hello

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, with the fingerprints of the command's files and the worker's first line."""
        hello = self.hello.model_dump(mode="json")
        return {**super().identity(), "worker": hello, "files": self._files}

    def provenance(self) -> dict[str, str]:
        """Return the worker's own name and version, and the hashes of its files."""
        files = {"files": ",".join(f"{name}@{sha}" for name, sha in self._files.items())} if self._files else {}
        return {"worker": f"{self.hello.name}@{self.hello.version}", **files, **super().provenance()}

    @cached_property
    def _files(self) -> dict[str, str]:
        """Return the fingerprints of the files that the command names, as words of their own or after a '='."""
        named = [*self._words, *(word.partition("=")[2] for word in self._words)]
        paths = {name: Path(name).expanduser() for name in named if name}
        return {
            name: ModelFolder(path.absolute().parent, (path.name,)).fingerprint
            for name, path in paths.items()
            if path.is_file() and os.access(path, os.R_OK)
        }

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Start the worker, if it does not run yet."""
        _ = self.hello

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Return the worker's scores of a block of pairs; a blank statement is EMPTY, and is not sent."""
        _ = self.hello
        places = [number for number, statement in enumerate(statements) if statement.strip()]
        answers = [PairScore(None, Status.EMPTY)] * len(statements)
        first, self._asked = self._asked, self._asked + len(places)
        waiting = dict(zip(range(first, self._asked), places, strict=True))
        lines = [
            json.dumps({"id": number, "source": sources[place], "statement": statements[place]})
            for number, place in waiting.items()
        ]
        if lines:
            self._process.send([*lines, ""])
        while waiting:
            answer = self._line(WorkerAnswer, f"with {len(waiting)} of {len(places)} pairs unanswered")
            if answer.id not in waiting:
                what = "answered pair {} twice" if 0 <= answer.id < self._asked else "answered pair {}, never asked"
                self._fail(what.format(answer.id), "each pair takes one answer, with the pair's id")
            answers[waiting.pop(answer.id)] = self._answer(answer)
        return answers

    def _answer(self, answer: WorkerAnswer) -> PairScore:
        """Return the pair's score; ends the run if a score comes with a status other than "ok", or null with "ok"."""
        if (answer.score is None) == (answer.status == "ok"):
            self._fail(
                f"answered pair {answer.id} with score {answer.score} and status {answer.status!r}",
                'a score goes with the status "ok", "score": null with another one, such as "nothing to score"',
            )
        return PairScore(answer.score, Status(answer.status), answer.tokens, answer.cut)

    def _line(self, kind: type[Kind], when: str) -> Kind:
        """Return the worker's next line as a `kind`; raises `UserError` if there is none or it is malformed."""
        try:
            line = self._process.read(self.options.timeout)
        except ProgramEndedError:
            self._fail(f"{self._process.ending()} {when}", "run the program by hand to see why")
        except SilentError:
            self._fail(
                f"said nothing for {self.options.timeout:g} s, {when}",
                "see that the program answers after the empty line that ends a block, and flushes its output; or raise "
                "the metric's option 'timeout'",
            )
        try:
            values = parse_json(line)
        except MalformedError:
            values = line
        if isinstance(values, Mapping) and values.keys() == {"error"}:
            self._fail(f"reports: {values['error']}")
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            about = f"{field}: {first['msg'][0].lower()}{first['msg'][1:]}" if field else "not a JSON object"
            advice = f"{_FORM[kind]}, and everything else belongs on standard error"
            self._fail(f"wrote {line[:120]!r} ({about})", advice)

    def _fail(self, what: str, advice: str = "") -> NoReturn:
        """Stop the worker and raise `UserError`: "The worker COMMAND ‹what›. ‹Advice›. Its last line ..."."""
        self._process.stop()
        last_error = self._process.last_error()
        parts = [f"The worker {self.options.command!r} {what.rstrip('.')}."]
        if advice:
            parts.append(f"{advice[0].upper()}{advice[1:]}.")
        if advice and last_error:  # not for an error that the worker reports itself
            parts.append(f"Its last line on standard error: {last_error}")
        raise UserError(" ".join(parts))
