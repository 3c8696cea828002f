"""The command `generate`: a chat model answers questions from their documents, with citations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish


def generate(
    file: Annotated[Path, typer.Argument(help="Questions with documents, or any file of answers.", metavar="FILE")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the answers (JSONL).", metavar="FILE")],
    model: how.Model = None,
    base_url: how.BaseUrl = None,
    strategy: Annotated[
        str | None, typer.Option(help="truncated (default), summary or two-stage.", metavar="NAME")
    ] = None,
    record: how.Record = None,
    replay: how.Replay = None,
    format: how.Format = "auto",
    results: opt.Results = None,
    budget: how.Budget = None,
    dry_run: how.DryRun = False,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Answers with citations, written by a chat model.

    truncated shows the beginning of every document; summary has each summed
    up first; two-stage asks which are needed, and shows those in full.
    Replies are kept: the same command goes on where it was cut off.

    \b
    Examples:
      metaeval generate questions.jsonl --model NAME -o answers.jsonl
      metaeval generate scifi.jsonl --model NAME --strategy summary --dry-run \\
        -o answers.jsonl -s answer_words=100 -s price_in=0.5 -s price_out=1.5
      metaeval cite alce answers.jsonl
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.generating.run import (
        check_output,
        estimate_generation,
        generate_answers,
        prepare_generation,
        write_answers,
    )
    from metaeval.experiment.citing.generating.sheets import generation_sheet
    from metaeval.experiment.citing.settings import ChatChoice
    from metaeval.files import safe_name

    check_output(file, output)
    choice = ChatChoice(model, base_url, record, replay)
    settings = opt.settings(results=results, budget=budget)
    prepared = prepare_generation(file, choice, strategy, format, settings, set_ or [])
    if dry_run:
        typer.echo(estimate_generation(prepared))
        return
    with scoring_progress(quiet) as progress:
        made = generate_answers(prepared, choice, progress)
    folder = prepared.config.results / "generate" / safe_name(output.name.split(".")[0] or output.name)
    finish([generation_sheet(made)], folder, write_answers(made, output, folder), quiet)
