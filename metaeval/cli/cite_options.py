"""The options that the commands of `cite` share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[list[Path], typer.Argument(help="Files of answers; several: one system each.", metavar="FILE")]
Nli = Annotated[
    list[str] | None,
    typer.Option(help="Metrics that judge, with commas (default: minilm-bertscore). Repeatable.", metavar="NAME"),
]
Threshold = Annotated[
    str | None,
    typer.Option(help="Supported from this score on: X, NAME=X with commas, or soft.", metavar="X"),
]
Calibration = Annotated[
    list[Path] | None,
    typer.Option(help="Thresholds that 'metaeval calibrate' wrote (calibration.json). Repeatable.", metavar="FILE"),
]
Premise = Annotated[
    str, typer.Option(help="joint: passages as one text; chunks: their best chunk (--set chunk.size).", metavar="HOW")
]
Profile = Annotated[
    str, typer.Option(help="paper; released: as the published code computes; ALiiCE also expanded.", metavar="NAME")
]
Format = Annotated[
    str,
    typer.Option(
        "--format", "-f", help="alce, jsonl, scifi, crag25, scholarqa, expertqa (default: by content).", metavar="NAME"
    ),
]
Measures = Annotated[
    str | None,
    typer.Option(
        help="Measures beside the citations', with commas: str_em, rougeLsum, length ..., and qa_em, qa_f1, mauve.",
        metavar="NAMES",
    ),
]
Reader = Annotated[
    str | None, typer.Option(help="Model that answers for qa_em, qa_f1, qa_hit: hub id or folder.", metavar="MODEL")
]
MauveModel = Annotated[str | None, typer.Option(help="Model for mauve: hub id or folder.", metavar="MODEL")]
Model = Annotated[str | None, typer.Option(help="Chat model that writes.", metavar="NAME")]
Judge = Annotated[str | None, typer.Option(help="Chat model that judges.", metavar="NAME")]
BaseUrl = Annotated[
    str | None, typer.Option(help="Address of its server (default: OpenAI's; key in OPENAI_API_KEY).", metavar="URL")
]
Record = Annotated[Path | None, typer.Option(help="Keep the replies in this file.", metavar="FILE")]
Replay = Annotated[Path | None, typer.Option(help="Take the replies from such a file; costs nothing.", metavar="FILE")]
Budget = Annotated[
    float | None, typer.Option(help="The most that may be spent, in USD (with price_in, price_out).", metavar="USD")
]
Scenario = Annotated[str, typer.Option(help="full: all statements; cited: those with citations.", metavar="NAME")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what asking would cost, and ask nothing.")]
Splitter = Annotated[str, typer.Option(help="Sentences: auto, nltk or rules.", metavar="NAME")]


def names(given: list[str] | None) -> tuple[str, ...]:
    """Metrics from what was typed: an option given several times, or names with commas."""
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())
