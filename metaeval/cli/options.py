"""The options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="A YAML file, or the name of a shipped experiment.", metavar="FILE"),
]
DatasetName = Annotated[
    str | None, typer.Option("--dataset", "-d", help="Data set, by name ('metaeval data list').", metavar="NAME")
]
Split = Annotated[str | None, typer.Option(help="Split of the data set.", metavar="NAME")]
Data = Annotated[
    Path | None, typer.Option(help="Folder that holds the published files (for jsonl: your file).", metavar="PATH")
]
Unit = Annotated[str | None, typer.Option("--unit", "-u", help="Unit of analysis: chunk or citation.", metavar="UNIT")]
Pool = Annotated[str | None, typer.Option(help="Retrieval pool: own, or bm25:K.", metavar="POOL")]
MetricNames = Annotated[
    str | None,
    typer.Option("--metric", "-m", help="Metrics, with commas; scores:FILE reads a score file.", metavar="NAMES"),
]
ProtocolNames = Annotated[
    str | None,
    typer.Option("--protocol", "-p", help="correlation, classification, retrieval (commas), or all.", metavar="NAMES"),
]
Results = Annotated[Path | None, typer.Option(help="Folder for results (default: results).", metavar="FOLDER")]
Store = Annotated[
    Path | None, typer.Option(help="Score store (default: scores.sqlite in the results folder).", metavar="FILE")
]
Budget = Annotated[
    float | None,
    typer.Option(help="The most that a metric which costs money may spend, in USD; stops there.", metavar="USD"),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what is left to score, fetch and pay for, and do none of it.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", help="Any other setting: --set interval.resamples=10000. Repeatable.", metavar="KEY=VALUE"
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables: write files only.")]


def settings(**given: Any) -> dict[str, Any]:
    """The settings that were given, under their names in the configuration."""
    return {key: value for key, value in given.items() if value is not None}
