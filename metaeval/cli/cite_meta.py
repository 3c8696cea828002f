"""The command `cite meta`: do citation pipelines agree with people, statement by statement and answer by answer?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.output_summary import say_written
from metaeval.cli.sheets import show_grids

RatedFiles = Annotated[list[Path], typer.Argument(help="Files of answers with people's ratings.", metavar="FILE")]
Human = Annotated[Path | None, typer.Option(help="CiteBench's judgements, for its .citeeval file.", metavar="FILE")]
Pipelines = Annotated[
    list[str] | None,
    typer.Option(help="alce, aliice, scifi, autoais, citeeval; with commas (default: alce,aliice).", metavar="NAMES"),
]
Scores = Annotated[
    list[Path] | None, typer.Option(help="Scores made elsewhere: answer, start, end, value.", metavar="FILE")
]
Model = Annotated[str | None, typer.Option(help="Chat model that judges for citeeval.", metavar="NAME")]
BaseUrl = Annotated[str | None, typer.Option(help="Address of its server (default: OpenAI's).", metavar="URL")]
Record = Annotated[Path | None, typer.Option(help="Keep its replies in this file.", metavar="FILE")]
Replay = Annotated[Path | None, typer.Option(help="Take the replies from such a file.", metavar="FILE")]
Format = Annotated[str, typer.Option("--format", "-f", help="expertqa, citebench or jsonl.", metavar="NAME")]


def meta(
    files: RatedFiles,
    human: Human = None,
    pipelines: Pipelines = None,
    nli: how.Nli = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    scores: Scores = None,
    model: Model = None,
    base_url: BaseUrl = None,
    record: Record = None,
    replay: Replay = None,
    scenario: how.Scenario = "full",
    format: Format = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: how.Budget = None,
    dry_run: how.DryRun = False,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Do citation pipelines agree with people's ratings?

    \b
    Examples:
      metaeval cite meta expertqa/*.jsonl --nli overlap,minilm-bertscore
      metaeval cite meta mine.jsonl --scores theirs.jsonl --pipelines alce
      metaeval cite meta test.citeeval --human test.json --pipelines citeeval
        --replay judge.jsonl
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.meta.estimate import estimate_meta
    from metaeval.experiment.citing.meta.files import meta_sheets, write_meta
    from metaeval.experiment.citing.meta.run import run_meta
    from metaeval.experiment.citing.meta.settings import MetaAsked, prepare_meta
    from metaeval.experiment.citing.meta.sheets import open_sheets
    from metaeval.experiment.citing.meta.summary_table import brief_grids
    from metaeval.experiment.citing.settings import ChatChoice

    asked = MetaAsked(
        files=tuple(files),
        human=human,
        form=format,
        pipelines=how.names(pipelines),
        nli=how.names(nli),
        threshold=threshold,
        calibrations=tuple(calibration or ()),
        scenario=scenario,
        scores=tuple(scores or ()),
    )
    settings = opt.settings(results=results, store=store, budget=budget)
    with scoring_progress(quiet) as progress:
        prepared = prepare_meta(asked, ChatChoice(model, base_url, record, replay), settings, set_ or [])
        if dry_run:
            typer.echo(estimate_meta(prepared))
            return
        found = run_meta(prepared, progress)
    sheets = meta_sheets(found)
    sheets.setdefault("responses", []).extend(open_sheets(found))
    written = write_meta(found, sheets)
    if not quiet:
        show_grids(brief_grids(found, sheets))
    say_written(sorted(written))
