"""The command `cite improve`: a chat model edits the citations of answers, and judges them again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish


def improve(
    file: Annotated[Path, typer.Argument(help="File of answers.", metavar="FILE")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the improved answers (JSONL).", metavar="FILE")
    ],
    model: how.Judge = None,
    base_url: how.BaseUrl = None,
    rounds: Annotated[int, typer.Option(help="The most rounds of edits.", metavar="N")] = 1,
    record: how.Record = None,
    replay: how.Replay = None,
    profile: Annotated[str, typer.Option(help="As for 'cite citeeval': paper or released.", metavar="NAME")] = "paper",
    scenario: Annotated[str, typer.Option(help="full, or cited: of cited statements.", metavar="NAME")] = "full",
    format: how.Format = "auto",
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    budget: how.Budget = None,
    dry_run: how.DryRun = False,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Answers with CiteEval's edits done, judged before and after.

    Marks that a chat model would delete go, marks that it would add come;
    nothing else in the text changes. Ends where no edit changes anything.

    \b
    Examples:
      metaeval cite improve answers.jsonl --model NAME -o improved.jsonl
      metaeval cite improve answers.jsonl --model NAME --rounds 3 --dry-run \\
        -o improved.jsonl
      metaeval cite alce answers.jsonl improved.jsonl
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.generating.run import check_output
    from metaeval.experiment.citing.improving.prepare import estimate_improving, prepare_improving
    from metaeval.experiment.citing.improving.rows import write_improved
    from metaeval.experiment.citing.improving.run import improve as improve_answers
    from metaeval.experiment.citing.improving.sheets import improving_sheets
    from metaeval.experiment.citing.settings import Asked, ChatChoice
    from metaeval.files import safe_name

    check_output(file, output)
    asked = Asked(pipeline="citeeval", files=(file,), form=format, profile=profile, splitter=splitter)
    choice = ChatChoice(model, base_url, record, replay)
    settings = opt.settings(results=results, budget=budget)
    prepared = prepare_improving(asked, choice, scenario, rounds, settings, set_ or [])
    if dry_run:
        typer.echo(estimate_improving(prepared))
        return
    with scoring_progress(quiet) as progress:
        bettered = improve_answers(prepared, choice, progress)
    folder = prepared.config.results / "cite" / "improve" / safe_name(prepared.name)
    finish(improving_sheets(bettered), folder, write_improved(bettered, output, folder), quiet)
