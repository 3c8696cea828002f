"""The command `cite scifi`: citations held against the facts of the sentences that they stand in."""

from __future__ import annotations

from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish

Model = Annotated[str | None, typer.Option(help="Chat model that makes the facts.", metavar="NAME")]
ParserName = Annotated[str, typer.Option(help="Makes the facts where no model does.", metavar="NAME")]
Threshold = Annotated[
    str | None,
    typer.Option(
        help="A fact holds from this score on: X, NAME=X with commas (default: scores from 0 to 1 as they are).",
        metavar="X",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what the facts would cost, and ask nothing.")]


def scifi(
    files: how.Files,
    nli: how.Nli = None,
    threshold: Threshold = None,
    calibration: how.Calibration = None,
    model: Model = None,
    base_url: how.BaseUrl = None,
    record: how.Record = None,
    replay: how.Replay = None,
    parser: ParserName = "small",
    format: how.Format = "auto",
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: how.Budget = None,
    dry_run: DryRun = False,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Citations held against single facts (SCiFi).

    A fact's citation is the one nearest to where its sentence states it. Facts
    are made by a parser, or by a chat model as in the paper.

    \b
    Examples:
      metaeval cite scifi answers.json --nli overlap
      metaeval cite scifi answers.json --model NAME --record facts.jsonl
      metaeval cite scifi answers.json --replay facts.jsonl -s group=joint
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.scifi.rows import write_scifi
    from metaeval.experiment.citing.scifi.run import assess, estimate_scifi
    from metaeval.experiment.citing.scifi.settings import prepare_scifi
    from metaeval.experiment.citing.scifi.sheets import scifi_sheets
    from metaeval.experiment.citing.settings import Asked, ChatChoice

    asked = Asked(
        pipeline="scifi",
        files=tuple(files),
        form=format,
        nli=how.names(nli),
        threshold=threshold,
        calibrations=tuple(calibration or ()),
        parser=parser,
        splitter=splitter,
    )
    settings = opt.settings(results=results, store=store, budget=budget)
    with scoring_progress(quiet) as progress:
        prepared = prepare_scifi(asked, ChatChoice(model, base_url, record, replay), settings, set_ or [])
        if dry_run:
            typer.echo(estimate_scifi(prepared))
            return
        assessed = assess(prepared, progress)
    folder, written = write_scifi(assessed)
    finish(scifi_sheets(assessed), folder, written, quiet)
