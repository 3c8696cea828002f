"""Commands about metrics: list, show, verify, doctor, serve."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from metaeval import __version__
from metaeval.cli import options as opt
from metaeval.cli.output import aligned, say, say_text, show_card, show_records
from metaeval.errors import UserError

if TYPE_CHECKING:
    from metaeval.experiment.doctor import Diagnosis
    from metaeval.scoring.canaries import Compared, Verified


app = opt.group("Metrics: list, show, verify, doctor, serve.", "metaeval metrics show minilm-bertscore")


Name = Annotated[str, Argument(help="Metric ('metaeval metrics list').", metavar="NAME")]
Options = Annotated[
    list[str] | None,
    Option("--set", "-s", help="Option of the metric, as folder=models/it. Repeatable.", metavar="KEY=VALUE"),
]


@app.command("list")
def list_() -> None:
    """List the metrics, what each still needs here, and the variants.

    \b
    Example:
      metaeval metrics list
    """
    from metaeval.groups import metrics

    show_records(metrics.list())


@app.command("show")
def show(name: Name, set_: Options = None) -> None:
    """Show a metric's card, options and identity; downloads nothing.

    \b
    Examples:
      metaeval metrics show minilm-bertscore
      metaeval metrics show factcc --set folder=models/factcc
    """
    from metaeval.experiment.doctor import with_options
    from metaeval.groups import metrics

    show_card(metrics.show(name, **with_options(name, set_ or []).metric_options[name]))


@app.command("verify")
def verify(
    name: Name,
    set_: Options = None,
    official: Annotated[
        bool, Option("--official", help="Also run the official package (bertscore, summac-zs, summac-conv).")
    ] = False,
) -> None:
    """Check a metric's scores on this machine.

    \b
    Thirteen pairs are scored in batches and one by one, and compared with
    published scores where there are any. --official also runs the official
    package on the same weights; it is installed once, into an environment of its
    own in the cache. Exit code 1: a difference is larger than allowed.

    \b
    Examples:
      metaeval metrics verify minilm-bertscore
      metaeval metrics verify factcc --set folder=models/factcc
      metaeval metrics verify summac-zs --official
    """
    from metaeval.experiment import verify as check
    from metaeval.experiment.doctor import with_options

    config = with_options(name, set_ or [])
    scorer = check.official_metric(name, config, lambda text: say(text, err=True)) if official else None
    verified = check.verify(name, config)
    compared = check.compare(verified, scorer) if scorer else None
    for line in [*_table(verified, compared), "", *_verdicts(verified, compared)]:
        say(line)
    if not verified.agrees or (compared and not compared.agrees):
        raise typer.Exit(1)


def _table(verified: Verified, compared: Compared | None) -> list[str]:
    from metaeval.scoring.canaries import difference
    from metaeval.scoring.contract import Status

    headings = ["pair", "score", "tokens", "cut"]
    headings += ["alone differs by"] if verified.single else []
    headings += ["official", "differs by"] if compared else []
    rows = [headings]
    for number, (canary, answer) in enumerate(zip(verified.canaries, verified.batched, strict=True)):
        score = str(answer.status) if answer.score is None else f"{answer.score:.6f}"
        row = [canary.name, score, f"{answer.tokens:,}", f"{answer.cut:,}" if answer.cut else "-"]
        if verified.single:
            row.append(_small(difference(answer, verified.single[number])))
        if compared:
            other = compared.answers[number]
            row.append("-" if other.score is None else f"{other.score:.6f}")
            row.append("-" if answer.status is not Status.OK else _small(difference(answer, other)))
        rows.append(row)
    return aligned(rows, right=range(1, len(headings)))


def _verdicts(verified: Verified, compared: Compared | None) -> list[str]:
    """One line for each thing that was compared."""
    from metaeval.scoring.canaries import BATCH_TOLERANCE, OFFICIAL_TOLERANCE

    rows = []
    worst = verified.batch_difference
    dtype = getattr(verified.metric.options, "dtype", "float32")
    allowed = f"allowed {BATCH_TOLERANCE:g}" if dtype == "float32" else f"that is {dtype}'s rounding"
    if worst is None:
        rows.append(("one by one", "not repeated: a judge is asked each pair alone, and for money"))
    else:
        rows.append(("one by one", f"largest difference {_small(worst)} ({allowed})"))
    for score, ours in verified.published:
        rows.append(("published", f"{score.score:.{score.decimals}f}, here {ours:.6f} ({score.where})"))
    if compared:
        left_out = len(verified.canaries) - compared.pairs
        without = f", {left_out} without a score of ours left out" if left_out else ""
        rows.append(
            (
                compared.package,
                f"largest difference {_small(compared.largest)} over {compared.pairs} pairs{without} "
                f"(allowed {OFFICIAL_TOLERANCE:g})",
            )
        )
    good = verified.agrees and (compared is None or compared.agrees)
    return [*aligned(rows), "As it should be." if good else "NOT as it should be: do not trust its scores here."]


def _small(value: float) -> str:
    if value == float("inf"):
        return "no score"
    return "0" if value == 0 else f"{value:.1e}"


@app.command("doctor")
def doctor(json_: Annotated[bool, Option("--json", help="Print everything as JSON.")] = False) -> None:
    """Show what this machine has, and what each metric needs.

    \b
    Examples:
      metaeval metrics doctor
      metaeval metrics doctor --json > machine.json
    """
    from metaeval.experiment.doctor import examine

    diagnosis = examine()
    if json_:
        values = asdict(diagnosis) | {"traps": [trap._asdict() for trap in diagnosis.traps]}
        say_text(json.dumps(values, indent=1, ensure_ascii=False))
        return
    for line in [*_machine(diagnosis), "", *_metrics(diagnosis), *_traps(diagnosis)]:
        say(line)


def _machine(seen: Diagnosis) -> list[str]:
    rows = [("metaeval", f"{seen.metaeval} on Python {seen.python}, {seen.system}")]
    rows += [(name, found or "not installed") for name, found in seen.packages.items()]
    for device in seen.devices:
        if device.free is None:
            rows.append((device.name, device.what))
            continue
        whole = f" of {_size(device.total)}" if device.total else ""
        cores = f"{seen.cores} core{'s' if seen.cores > 1 else ''}, " if device.name == "cpu" else f"{device.what}, "
        rows.append((device.name, f"{cores}{_size(device.free)}{whole} memory free"))
    for name, folder in seen.caches.items():
        rows.append((f"{name} cache", f"{folder.path} ({folder.because}), {_size(folder.free)} free"))
    hint = "" if seen.splitter.startswith("nltk") else " (no NLTK data: python -m nltk.downloader punkt_tab)"
    rows.append(("sentences", seen.splitter + hint))
    rows += [(name, "set" if given else "not set") for name, given in seen.keys.items()]
    return aligned(rows)


def _metrics(seen: Diagnosis) -> list[str]:
    rows = [("metric", "state", "download, licence", "model", "fits")]
    for metric in seen.metrics:
        needs = metric.download if metric.state in ("ready", "needs download") else metric.detail
        needs = "-" if needs in ("", "none") else textwrap.shorten(needs, 45, placeholder=" ...")
        parameters = metric.parameters.split(",")[0] if metric.model_bytes else "-"
        fits = {None: "-", True: "yes", False: f"no, {_size(metric.model_bytes or 0)}"}[metric.fits]
        rows.append((metric.name, metric.state, needs, parameters, fits))
    return aligned(rows, right={3})


def _traps(seen: Diagnosis) -> list[str]:
    if not seen.traps:
        return []
    lines = ["", "Traps of these versions. Official code falls into them; metaeval does not:"]
    package = ""
    for trap in seen.traps:
        if trap.package != package:
            lines.append(package := trap.package)
        lines += textwrap.wrap(f"{trap.what} (here: {trap.metaeval})", 98, initial_indent="- ", subsequent_indent="  ")
    return lines


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count < 100e9 else f"{count / 1e9:.0f} GB"


@app.command("serve")
def serve(name: Name, set_: Options = None) -> None:
    """Serve a metric to a metaeval elsewhere (metric 'worker').

    \b
    It reads pairs and writes scores as JSON lines, in the protocol of the metric
    'worker': for a metric whose dependencies conflict, or a GPU elsewhere.

    \b
    Examples:
      metaeval metrics serve alignscore
      metaeval run -m 'worker:other-venv/bin/metaeval metrics serve summac-zs'
      metaeval run -m 'worker:ssh gpu metaeval metrics serve autoais'
    """
    answers, sys.stdout = sys.stdout, sys.stderr  # what a model's packages print is no answer

    def send(*lines: dict[str, Any]) -> None:
        answers.writelines(json.dumps(fields) + "\n" for fields in lines)
        answers.flush()

    try:
        _serve(name, set_ or [], send)
    except UserError as error:
        send({"error": str(error)})
        raise
    finally:
        sys.stdout = answers


def _serve(name: str, options: list[str], send: Callable[..., None]) -> None:
    from metaeval.experiment.doctor import with_options
    from metaeval.experiment.metrics import check_modules, load_metric, plug_in

    metric = load_metric(name, with_options(name, options))
    check_modules(name, metric.card)
    if metric.corpus_dependent:
        raise UserError(f"{name!r} depends on all sources of a job, and a worker sees one block at a time.")
    try:
        expected = json.loads(sys.stdin.readline())["protocol"] == "metaeval-worker/1"
    except (ValueError, TypeError, KeyError):
        expected = False
    if not expected:
        raise UserError("This is a worker: its first line should come from metaeval (metric='worker:COMMAND').")
    with plug_in(name):
        card = metric.card
        own = {"direction": card.direction, "low": card.low, "high": card.high, "identity": metric.identity()}
        send({"protocol": "metaeval-worker/1", "name": name, "version": f"metaeval-{__version__}", **own})
        while block := [json.loads(line) for line in takewhile(str.strip, sys.stdin)]:
            sources, statements = ([pair[side] for pair in block] for side in ("source", "statement"))
            metric.prepare(list(dict.fromkeys(sources)), list(dict.fromkeys(statements)))
            scored = zip(block, metric.score(sources, statements), strict=True)
            send(*({"id": pair["id"], **answer._asdict()} for pair, answer in scored))
