"""Metrics of code of one's own, as workers get them: by name, from the current folder."""

import json
import logging
import os
import signal
import time
from pathlib import Path
from typing import ClassVar

from metaeval.core.errors import UserError
from metaeval.scoring.backends import batches
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Status, TwoStepMetric


class Options(MetricOptions):
    """kills: files; the worker that removes one dies over its block. log: file of what was begun. pause: of a block."""

    runtime: ClassVar[frozenset[str]] = frozenset({"kills", "log", "pause"})

    kills: tuple[Path, ...] = ()
    log: Path = Path("log")
    pause: float = 0.0


def held():
    """Whether a block is not to go on: there is a file `hold`, and so many blocks have been begun as it says."""
    try:
        return Path("log").read_text().count("\n") >= int(Path("hold").read_text() or "0")
    except FileNotFoundError:
        return False


class Company(Metric):
    """Scores a pair by the whole block that it stands in, and by the job: any other cut gives other numbers."""

    Options = Options
    card = MetricCard(name="company", family="test", summary="", paper="", licence="")
    block_tokens: ClassVar[int] = 60

    def prepare(self, sources, statements):
        if Path("load").exists():
            with Path("loading").open("a") as log:
                log.write(f"{os.getpid()}\n")
        while Path("load").exists():
            time.sleep(0.05)
        if Path("warn").exists():
            logging.getLogger("metaeval.toys").warning("Company is all that counts.")
            os.write(1, b"Packages print what they like.")
        self.job = sum(number * len(text) for number, text in enumerate([*sources, *statements]))

    def score(self, sources, statements):
        place = {"pid": os.getpid(), "cores": sorted(os.sched_getaffinity(0)), "block": [*sources]}
        place["device"] = os.environ.get("CUDA_VISIBLE_DEVICES")
        place["threads"] = [batches.workers("cpu"), os.environ.get("OMP_NUM_THREADS")]
        with self.options.log.open("a") as log:
            log.write(json.dumps(place) + "\n")
        while held():
            time.sleep(0.01)
        time.sleep(self.options.pause)
        for path in self.options.kills:
            if path.exists():
                path.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        for text in sources:
            if "poison" in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "refused" in text:
                raise UserError("This text is refused: mend it.")
            if "fault" in text:
                raise ZeroDivisionError("by nothing")
        company = sum(map(len, sources)) / 7 + self.job
        return [PairScore(company + len(text) / 3, tokens=len(text)) for text in statements]


class Observed(TwoStepMetric):
    """Two metrics of one observation."""

    card = MetricCard(name="observed", family="test", summary="", paper="", licence="")
    block_tokens: ClassVar[int] = 60
    factor: ClassVar[int] = 1

    def observed(self):
        return {"lengths": 1}

    def observe(self, sources, statements):
        return [len(one) + len(other) / 3 for one, other in zip(sources, statements, strict=True)]

    def judge(self, observations):
        return [PairScore(self.factor * one) if one % 1 else PairScore(None, Status.EMPTY) for one in observations]


class Doubled(Observed):
    card = MetricCard(name="doubled", family="test", summary="", paper="", licence="")
    factor = 2
