"""A worker: a program that scores blocks for another process of metaeval, and opens no store.

It reads JSON lines from its standard input: a job (recipe and texts), then blocks of it as numbers of these texts, each
answered with the scores in one line of its standard output. It ends at once when its input does.
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

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.runs.metrics import load_metric, package_versions, plug_in
from metaeval.scoring.contract import Metric
from metaeval.scoring.executors.contract import BlockTask, Context, Work, WorkerRecipe


def main() -> None:
    """Answer one line after the other; an error's sentence goes back as an answer."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to a whole job: the process that asks decides what is finished
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model's packages print is no answer
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
    os._exit(0)  # nobody is left to whom a score could be told


class Scorer:
    """What a worker does with its lines."""

    def __init__(self) -> None:
        self._recipe: Any = None
        self._label, self._context, self._work = "", Context((), ()), Work(())
        self._said = BufferingHandler(sys.maxsize)  # what is warned of, for the process that asks
        self._said.setLevel(logging.WARNING)
        logging.getLogger("metaeval").addHandler(self._said)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a job, or to a block of it, with the warnings on the way; a `UserError`'s sentence is one."""
        try:
            found = self.begin(message) if "recipe" in message else self.score(message)
        except UserError as error:
            found = {"error": str(error)}
        said = [record.getMessage() for record in self._said.buffer]
        self._said.flush()
        return {**found, "said": said} if said else found

    def begin(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Make a job's metrics, and prepare them for its texts; what was there before is let go first."""
        if message["recipe"] != self._recipe:
            self._recipe, self._work = None, Work(())
            # As the other process found its modules; what is installed here stays in front.
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
        """The answers to a block, for each metric that is wanted."""
        sources, statements = self._context.sources, self._context.statements
        pairs = [(sources[source], statements[statement]) for source, statement in message["pairs"]]
        with plug_in(self._label):
            done = self._work.score(BlockTask(0, (), pairs, message["wanted"]))
        return {"answers": done.answers}


def job_metrics(recipe: WorkerRecipe) -> list[Metric]:
    """The metrics of a recipe; `UserError` where they would not score here as they do where it was written."""
    if (own := package_versions()) != recipe.versions:
        other = ", ".join(f"{key} {one}, here {own[key]}" for key, one in recipe.versions.items() if own[key] != one)
        raise UserError(f"A worker has other packages than the process that asks it ({other}): install the same.")
    config = RunConfig.model_validate(recipe.settings)
    metrics = [load_metric(name, config) for name in recipe.names]
    for name, metric, expected in zip(recipe.names, metrics, recipe.identities, strict=True):
        with plug_in(name):
            if sha256_json(metric.identity()) != expected:
                raise UserError(
                    f"A worker finds another {name!r} than the process that asks it: its code, its options or its "
                    "model's files were changed meanwhile, or are others there. Run the same command again."
                )
    return metrics


if __name__ == "__main__":
    main()
