"""Serve a metric to the metric `worker`: read pairs as JSON lines from standard input, write scores to the output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from metaeval import __version__
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.runs.loaded_metrics import check_modules, load_metric, plug_in
from metaeval.scoring.contract import checked_answer

PROTOCOL = "metaeval-worker/1"


def serve(name: str, config: RunConfig) -> None:
    """Score the pairs of standard input until it ends, and answer by `PROTOCOL`; a `UserError` is sent and raised."""
    answers, sys.stdout = sys.stdout, sys.stderr  # output of a model's packages must not mix with answers

    def send(*lines: dict[str, Any]) -> None:
        answers.writelines(json.dumps(fields) + "\n" for fields in lines)
        answers.flush()

    try:
        _serve(name, config, send)
    except UserError as error:
        send({"error": str(error)})
        raise
    finally:
        sys.stdout = answers


def _serve(name: str, config: RunConfig, send: Callable[..., None]) -> None:
    metric = load_metric(name, config)
    check_modules(name, metric.card)
    if metric.corpus_dependent:
        raise UserError(
            f"The scores of {name!r} depend on all sources of a job, and a worker process sees only one "
            "block of pairs at a time: choose another metric."
        )
    try:
        expected = json.loads(sys.stdin.readline())["protocol"] == PROTOCOL
    except (ValueError, TypeError, KeyError):
        expected = False
    if not expected:
        raise UserError(
            "This program is a worker, which metaeval starts and sends pairs to: give it as the metric "
            "'worker:COMMAND' instead of starting it yourself."
        )
    with plug_in(name):
        card = metric.card
        scale = {"direction": card.direction, "low": card.low, "high": card.high, "identity": metric.identity()}
        send({"protocol": PROTOCOL, "name": name, "version": f"metaeval-{__version__}", **scale})
        while block := [json.loads(line) for line in takewhile(str.strip, sys.stdin)]:
            sources, statements = ([pair[side] for pair in block] for side in ("source", "statement"))
            metric.prepare(list(dict.fromkeys(sources)), list(dict.fromkeys(statements)))
            scored = zip(block, metric.score(sources, statements), strict=True)
            send(*({"id": pair["id"], **checked_answer(metric, answer)._asdict()} for pair, answer in scored))
