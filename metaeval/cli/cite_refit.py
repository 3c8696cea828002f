"""The command `cite refit`: what each edit of a judge is worth, learnt from people's ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish


def refit(
    files: Annotated[list[Path], typer.Argument(help="Answers that people rated (see cite meta).", metavar="FILE")],
    human: Annotated[Path | None, typer.Option(help="CiteBench's file of judgements.", metavar="FILE")] = None,
    model: how.Judge = None,
    base_url: how.BaseUrl = None,
    record: how.Record = None,
    replay: how.Replay = None,
    profile: Annotated[str, typer.Option(help="paper, or released.", metavar="NAME")] = "paper",
    format: Annotated[
        str, typer.Option("--format", "-f", help="expertqa, citebench, jsonl (default: by content).", metavar="NAME")
    ] = "auto",
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    budget: how.Budget = None,
    dry_run: how.DryRun = False,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Fit CiteEval's edit distance to another judge.

    Its published coefficients are for the edits of one judge. Here a model
    edits answers that people rated, and least squares says what each of its
    edits is worth; groups held out show whether that agrees better with
    people. 'cite citeeval --coefficients FILE' uses the file.

    \b
    Examples:
      metaeval cite refit rated.jsonl --model NAME --dry-run
      metaeval cite refit rated.jsonl --model NAME --record judge.jsonl
      metaeval cite citeeval answers.json --model NAME \\
        --coefficients results/cite/refit/rated/fitted.json
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.refitting.run import estimate_refit, prepare_refit, run_refit
    from metaeval.experiment.citing.refitting.sheets import refit_sheets
    from metaeval.experiment.citing.settings import ChatChoice
    from metaeval.files import safe_name, write_text

    choice = ChatChoice(model, base_url, record, replay)
    settings = opt.settings(results=results, budget=budget)
    with scoring_progress(quiet) as progress:
        plan = prepare_refit(files, format, human, choice, profile, splitter, settings, set_ or [])
        if dry_run:
            typer.echo(estimate_refit(plan))
            return
        found = run_refit(plan, choice, progress)
    folder = plan.config.results / "cite" / "refit" / safe_name(plan.name)
    write_text(folder / "fitted.json", found.text)
    finish(refit_sheets(found), folder, [folder / "fitted.json"], quiet)
