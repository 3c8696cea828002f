"""`worker:COMMAND`: a metric of any make, in any environment, run as a program; see `metrics_zoo.worker_protocol`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn

from pydantic import AfterValidator, Field

from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import ModelFolder
from metaeval.scoring.backends.line_process import EndedError, LineProcess, SilentError
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Status
from metrics_zoo.worker_protocol import Answer, Hello, Kind, LineError, hail, parse, question


def _split(command: str) -> str:
    try:
        shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{command!r} has an open quote or a lone backslash") from error
    return command


class WorkerOptions(MetricOptions):
    """command: the program and its arguments, quoted as for a shell (none runs it). timeout: seconds of silence."""

    runtime: ClassVar[frozenset[str]] = frozenset({"timeout"})

    command: Annotated[str, AfterValidator(_split)] = ""
    timeout: Annotated[float, Field(gt=0)] = 600.0


class Worker(Metric):
    """The scores of a program of the user's own; its card is the worker's own once it has said what it is."""

    Options = WorkerOptions
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
                f"The worker {self.options.command!r} cannot be started ({reason}): check the program's name and the "
                "paths in it, which are looked for from the current folder."
            ) from error

    @cached_property
    def hello(self) -> Hello:
        """What the worker says of itself; starts it when first asked for. `UserError` when it does not say it."""
        self._process.send([hail()])
        hello = self._line(Hello, "before its first line")
        card = replace(self.card, direction=hello.direction, low=hello.low, high=hello.high)
        vars(self)["card"] = card  # this worker's; the class keeps its own
        return hello

    def identity(self) -> dict[str, Any]:
        """The command, the content of every file that it names, and all that the worker says of itself."""
        hello = self.hello.model_dump(mode="json")
        return {**super().identity(), "worker": hello, "files": self._files}

    def provenance(self) -> dict[str, str]:
        """The worker's own name and version, and its files."""
        files = {"files": ",".join(f"{name}@{sha}" for name, sha in self._files.items())} if self._files else {}
        return {"worker": f"{self.hello.name}@{self.hello.version}", **files, **super().provenance()}

    @cached_property
    def _files(self) -> dict[str, str]:
        """Fingerprints of the files that the command names, as words of their own or after a '='."""
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
        """Send a block, and wait until each of its pairs is answered."""
        _ = self.hello
        asked = [number for number, statement in enumerate(statements) if statement.strip()]
        answers = [PairScore(None, Status.EMPTY)] * len(statements)
        first, self._asked = self._asked, self._asked + len(asked)
        waiting = dict(zip(range(first, self._asked), asked, strict=True))
        lines = [question(number, sources[place], statements[place]) for number, place in waiting.items()]
        if lines:
            self._process.send([*lines, ""])
        while waiting:
            answer = self._line(Answer, f"with {len(waiting)} of {len(asked)} pairs unanswered")
            if answer.id not in waiting:
                what = "answered pair {} twice" if 0 <= answer.id < self._asked else "answered pair {}, never asked"
                self._fail(what.format(answer.id), "an answer has the id of its pair")
            answers[waiting.pop(answer.id)] = self._answer(answer)
        return answers

    def _answer(self, answer: Answer) -> PairScore:
        if (answer.score is None) == (answer.status == "ok"):
            self._fail(
                f"answered pair {answer.id} with score {answer.score} and status {answer.status!r}",
                'a pair without a score has "score": null and a status such as "nothing to score"',
            )
        return PairScore(answer.score, Status(answer.status), answer.tokens, answer.cut)

    def _line(self, kind: type[Kind], when: str) -> Kind:
        """The next line, read as `kind`; `UserError` when there is none, or it is something else."""
        try:
            line = self._process.read(self.options.timeout)
        except EndedError:
            self._fail(f"{self._process.ending()} {when}", "run it by hand to see why")
        except SilentError:
            self._fail(
                f"said nothing for {self.options.timeout:g} s, {when}",
                "see that it answers at the empty line that ends a block, and flushes; or raise its option 'timeout'",
            )
        try:
            return parse(kind, line)
        except LineError as error:
            self._fail(error.what, error.advice)

    def _fail(self, what: str, advice: str) -> NoReturn:
        said = self._process.log()
        self._process.stop()
        said = self._process.log() or said
        parts = [f"The worker {self.options.command!r} {what.rstrip('.')}."]
        if advice:
            parts.append(f"{advice[0].upper()}{advice[1:]}.")
        if advice and said:  # a worker that says itself what is wrong has no more to say
            parts.append(f"Its last line on standard error: {said[-1]}")
        raise UserError(" ".join(parts))
