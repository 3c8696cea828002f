"""`metaeval metrics doctor`: what this machine has, and what each metric needs of it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from metaeval.experiment.doctor import Diagnosis, MetricCheck


def doctor(
    json_: Annotated[bool, typer.Option("--json", help="Everything as JSON, for machines.")] = False,
) -> None:
    """Say what this machine has, and what each metric needs of it.

    \b
    Examples:
      metaeval metrics doctor
      metaeval metrics doctor --json > machine.json
    """
    import json
    from dataclasses import asdict

    from metaeval.experiment.doctor import examine

    diagnosis = examine()
    if json_:
        values = asdict(diagnosis) | {"traps": [trap._asdict() for trap in diagnosis.traps]}
        typer.echo(json.dumps(values, indent=1, ensure_ascii=False))
        return
    for line in [*_machine(diagnosis), "", *_metrics(diagnosis), *_traps(diagnosis)]:
        typer.echo(line)


def _machine(seen: Diagnosis) -> list[str]:
    from metaeval.cli.text_columns import aligned

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
    from metaeval.cli.text_columns import aligned

    rows = [("metric", "state", "download, licence", "model", "fits")]
    rows += [(metric.name, metric.state, _needs(metric), _parameters(metric), _fits(metric)) for metric in seen.metrics]
    return aligned(rows, right={3})


def _needs(metric: MetricCheck) -> str:
    needs = metric.download if metric.state in ("ready", "needs download") else metric.detail
    return "-" if needs in ("", "none") else textwrap.shorten(needs, 45, placeholder=" ...")


def _parameters(metric: MetricCheck) -> str:
    return metric.parameters.split(",")[0] if metric.model_bytes else "-"


def _fits(metric: MetricCheck) -> str:
    if metric.fits is None:
        return "-"
    return "yes" if metric.fits else f"no, {_size(metric.model_bytes or 0)}"


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
