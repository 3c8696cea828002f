"""The command `cite citeeval`: citations rated and edited by a chat model, or from replies that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import show_grids, write_sheets
from metaeval.cli.written import say_written

Model = Annotated[str | None, typer.Option(help="Chat model that judges.", metavar="NAME")]
BaseUrl = Annotated[
    str | None, typer.Option(help="Address of its server (default: OpenAI's; key in OPENAI_API_KEY).", metavar="URL")
]
Record = Annotated[Path | None, typer.Option(help="Keep the replies in this file.", metavar="FILE")]
Replay = Annotated[Path | None, typer.Option(help="Take the replies from such a file; costs nothing.", metavar="FILE")]
Profile = Annotated[str, typer.Option(help="paper, or released: as the published code computes.", metavar="NAME")]
Scenario = Annotated[str, typer.Option(help="full: all statements; cited: those with citations.", metavar="NAME")]
Baselines = Annotated[
    list[str] | None, typer.Option(help="Metrics for AutoAIS of the same statements. Repeatable.", metavar="NAME")
]
Budget = Annotated[
    float | None, typer.Option(help="The most that may be spent, in USD (with price_in, price_out).", metavar="USD")
]


def citeeval(
    files: how.Files,
    model: Model = None,
    base_url: BaseUrl = None,
    record: Record = None,
    replay: Replay = None,
    profile: Profile = "paper",
    scenario: Scenario = "full",
    nli: Baselines = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    format: how.Format = "auto",
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: Budget = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Citations as a chat model rates and edits them (CiteEval).

    \b
    Examples:
      metaeval cite citeeval answers.json --replay judge.jsonl
      metaeval cite citeeval answers.json --model NAME --record judge.jsonl
      metaeval cite citeeval answers.json --model NAME --budget 2
        -s price_in=0.5 -s price_out=1.5
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.citeeval import run_citeeval
    from metaeval.experiment.citing.citeeval_judge import Chat
    from metaeval.experiment.citing.citeeval_rows import write_citeeval
    from metaeval.experiment.citing.citeeval_sheets import citeeval_sheets
    from metaeval.experiment.citing.run import Asked

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
    with scoring_progress(quiet) as progress:
        rated = run_citeeval(asked, Chat(model, base_url, record, replay), scenario, settings, set_ or [], progress)
    sheets = citeeval_sheets(rated)
    folder, written = write_citeeval(rated)
    written += write_sheets(sheets, folder)
    if not quiet:
        show_grids([sheet.grid for sheet in sheets])
    say_written(sorted(written))
