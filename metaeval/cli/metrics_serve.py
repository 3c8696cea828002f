"""`metaeval metrics serve`: any metric as a worker, for a metaeval in another environment or on another machine."""

from __future__ import annotations

import json
import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from metaeval.cli.metrics_verify import Name, Options

if TYPE_CHECKING:
    from metaeval.scoring.contract import Metric


def serve(name: Name, set_: Options = None) -> None:
    """Serve a metric to a metaeval elsewhere (metric 'worker').

    \b
    Reads pairs and writes scores as JSON lines, in the protocol that the metric
    'worker' speaks: pins that fight ours, or a GPU that stands elsewhere.

    \b
    Examples:
      metaeval metrics serve alignscore
      metaeval run -m 'worker:other-venv/bin/metaeval metrics serve summac-zs'
      metaeval run -m 'worker:ssh gpu metaeval metrics serve autoais'
    """
    from metaeval.errors import UserError

    answers, sys.stdout = sys.stdout, sys.stderr  # what a model's packages print is no answer

    def say(fields: dict[str, Any]) -> None:
        answers.write(json.dumps(fields) + "\n")

    try:
        _serve(name, set_ or [], say, answers.flush)
    except UserError as error:
        say({"error": str(error)})
        raise
    finally:
        sys.stdout = answers


def _serve(name: str, options: list[str], say: Any, flush: Any) -> None:
    from metaeval import __version__
    from metaeval.errors import UserError
    from metaeval.experiment.metrics import check_modules, load_metric, plug_in
    from metaeval.experiment.readiness import with_options

    metric = load_metric(name, with_options(name, options))
    check_modules(name, metric.card)
    if metric.corpus_dependent:
        raise UserError(f"{name!r} depends on all sources of a job, and a worker sees one block at a time.")
    if not _expected(sys.stdin.readline()):
        raise UserError("This is a worker: its first line should come from metaeval (metric='worker:COMMAND').")
    with plug_in(name):
        say(_hello(name, metric, __version__))
        flush()
        while block := [json.loads(line) for line in takewhile(str.strip, sys.stdin)]:
            sources, statements = ([pair[side] for pair in block] for side in ("source", "statement"))
            metric.prepare(list(dict.fromkeys(sources)), list(dict.fromkeys(statements)))
            for pair, answer in zip(block, metric.score(sources, statements), strict=True):
                say({"id": pair["id"], **answer._asdict()})
            flush()


def _expected(line: str) -> bool:
    try:
        return bool(json.loads(line)["protocol"] == "metaeval-worker/1")
    except (ValueError, TypeError, KeyError):
        return False


def _hello(name: str, metric: Metric, version: str) -> dict[str, Any]:
    card = metric.card
    own = {"direction": card.direction, "low": card.low, "high": card.high, "identity": metric.identity()}
    return {"protocol": "metaeval-worker/1", "name": name, "version": f"metaeval-{version}", **own}
