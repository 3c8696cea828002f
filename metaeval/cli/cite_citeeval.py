"""The command `cite citeeval`: citations rated and edited by a chat model, or from replies that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish

Profile = Annotated[str, typer.Option(help="paper, or released: as the published code computes.", metavar="NAME")]
Nli = Annotated[
    list[str] | None, typer.Option(help="Metrics for AutoAIS of the same statements. Repeatable.", metavar="NAME")
]
Baselines = Annotated[
    list[str] | None,
    typer.Option(help="Of the same statements: lqac, attrscore (chat model), attrscore:METRIC.", metavar="NAMES"),
]
Coefficients = Annotated[Path | None, typer.Option(help="For the edit distance, from 'cite refit'.", metavar="FILE")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and cost; send nothing.")]


def citeeval(
    files: how.Files,
    model: how.Judge = None,
    base_url: how.BaseUrl = None,
    record: how.Record = None,
    replay: how.Replay = None,
    profile: Profile = "paper",
    scenario: how.Scenario = "full",
    coefficients: Coefficients = None,
    nli: Nli = None,
    baselines: Baselines = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    format: how.Format = "auto",
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: how.Budget = None,
    set_: opt.Set = None,
    dry_run: DryRun = False,
    quiet: opt.Quiet = False,
) -> None:
    """Citations as a chat model rates and edits them (CiteEval).

    \b
    Examples:
      metaeval cite citeeval answers.json --replay judge.jsonl
      metaeval cite citeeval answers.json --model NAME --record judge.jsonl
      metaeval cite citeeval answers.json --model NAME --baselines lqac \\
        --dry-run --budget 2 -s price_in=0.5 -s price_out=1.5
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.citeeval.rows import write_citeeval
    from metaeval.experiment.citing.citeeval.run import estimate_citeeval, run_citeeval
    from metaeval.experiment.citing.citeeval.sheets import citeeval_sheets
    from metaeval.experiment.citing.settings import Asked, ChatChoice

    asked = Asked(
        pipeline="citeeval",
        files=tuple(files),
        form=format,
        nli=how.names(nli),
        threshold=threshold,
        calibrations=tuple(calibration or ()),
        profile=profile,
        splitter=splitter,
    )
    settings = opt.settings(results=results, store=store, budget=budget)
    choice, beside = ChatChoice(model, base_url, record, replay), how.names(baselines)
    if dry_run:
        typer.echo(estimate_citeeval(asked, choice, scenario, settings, set_ or [], beside, coefficients))
        return
    with scoring_progress(quiet) as progress:
        rated = run_citeeval(asked, choice, scenario, settings, set_ or [], progress, beside, coefficients)
    folder, written = write_citeeval(rated)
    finish(citeeval_sheets(rated), folder, written, quiet)
