"""A worker: a program that scores blocks for another process of metaeval, without a store.

It reads JSON lines from standard input: a job (recipe and texts), then blocks of it as numbers of these texts. It
writes the scores of each block as one line to standard output, and ends when its input ends.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from logging.handlers import BufferingHandler
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import sha256_json
from metaeval.runs.metrics import load_metric, plug_in
from metaeval.runs.score import package_versions
from metaeval.scoring.contract import Metric
from metaeval.scoring.executors.contract import BlockTask, Context, Work, WorkerRecipe


def main() -> None:
    """Answer each line of standard input with one line of JSON, until the input ends and the process with it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to a whole job: the calling process ends its workers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a model's packages must not mix with answers
    lines: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin.buffer, lines), daemon=True).start()
    scorer = Scorer()
    while True:
        answer = scorer.answer(json.loads(lines.get()))
        answers.write(json.dumps(answer).encode("ascii") + b"\n")
        answers.flush()


def _read(pipe: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    for line in pipe:
        lines.put(line)
    os._exit(0)  # the calling process has ended


class Scorer:
    """The state of a worker: its job's metrics and texts."""

    def __init__(self) -> None:
        self._recipe: Any = None
        self._label, self._context, self._work = "", Context((), ()), Work(())
        self._warnings = BufferingHandler(sys.maxsize)  # warnings for the calling process
        self._warnings.setLevel(logging.WARNING)
        logging.getLogger("metaeval").addHandler(self._warnings)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a job or one of its blocks; "said": warnings; {"error": sentence}: a `UserError`."""
        try:
            answer = self.begin(message) if "recipe" in message else self.score(message)
        except UserError as error:
            answer = {"error": str(error)}
        warnings = [record.getMessage() for record in self._warnings.buffer]
        self._warnings.flush()
        return {**answer, "said": warnings} if warnings else answer

    def begin(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Load a job's metrics unless they are the last job's, and prepare them for its texts."""
        if message["recipe"] != self._recipe:
            self._recipe, self._work = None, Work(())
            # Modules are found as in the calling process; packages that are installed here come first.
            sys.path += [folder for folder in message["path"] if folder not in sys.path]
            recipe = WorkerRecipe(**message["recipe"])
            self._label = " + ".join(recipe.names)
            self._work = Work(job_metrics(recipe))
            self._recipe = message["recipe"]
        self._context = Context(**message["context"])
        with plug_in(self._label):
            self._work.prepare(self._context)
        return {"ready": True}

    def score(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return {"answers": the scores of a block by each metric of `wanted`}."""
        sources, statements = self._context.sources, self._context.statements
        pairs = [(sources[source], statements[statement]) for source, statement in message["pairs"]]
        with plug_in(self._label):
            return {"answers": self._work.score(BlockTask(0, (), pairs, message["wanted"])).answers}


def job_metrics(recipe: WorkerRecipe) -> list[Metric]:
    """Return the metrics of a recipe; raises `UserError` where their scores could differ from the calling process."""
    if (here := package_versions()) != recipe.versions:
        unlike = [name for name, number in recipe.versions.items() if here[name] != number]
        other = ", ".join(f"{name} {recipe.versions[name]}, here {here[name]}" for name in unlike)
        raise UserError(f"A worker has other package versions than the main process ({other}): install these there.")
    config = RunConfig.model_validate(recipe.settings)
    metrics = [load_metric(name, config) for name in recipe.names]
    for name, metric, expected in zip(recipe.names, metrics, recipe.identities, strict=True):
        with plug_in(name):
            if sha256_json(metric.identity()) != expected:
                raise UserError(f"A worker process has another version of {name!r}: run the same command again.")
    return metrics


if __name__ == "__main__":
    main()
