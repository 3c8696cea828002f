"""The command `cite rewrite`: do verdicts on ALiiCE's claims hang on their wording?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.sheets import finish


def rewrite(
    file: Annotated[Path, typer.Argument(help="File of answers.", metavar="FILE")],
    model: Annotated[str | None, typer.Option(help="Model that writes the claims again.", metavar="NAME")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint, http://HOST:PORT/v1.", metavar="URL")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Send claims that are whole sentences as well.")] = False,
    nli: Annotated[
        str | None, typer.Option(help="Metric that judges (default: minilm-bertscore).", metavar="NAME")
    ] = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    profile: how.Profile = "paper",
    parser: Annotated[str, typer.Option(help="As for 'cite aliice'.", metavar="NAME")] = "small",
    format: how.Format = "auto",
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: opt.Budget = None,
    dry_run: opt.DryRun = False,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """ALiiCE's claims, written again by a model and judged again.

    Claims that are cut out of a sentence can be fragments. A chat model makes
    each a whole sentence; shown is how many verdicts stay the same, with
    recall and precision before and after. Replies are kept: nothing is asked
    twice. The model's options: --set rewrite.NAME=VALUE, named as those of
    llm-discrete (prompt_file takes {sentence} and {claim}).

    \b
    Examples:
      metaeval cite rewrite answers.json --dry-run
      metaeval cite rewrite answers.json --base-url http://127.0.0.1:8000/v1 --model NAME
      metaeval cite rewrite answers.json --nli autoais --budget 1 \\
        --set rewrite.price_in=0.5 --set rewrite.price_out=1.5
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.rewriting.rows import write_claims
    from metaeval.experiment.citing.rewriting.run import estimate_rewriting, prepare, rejudge
    from metaeval.experiment.citing.rewriting.sheets import rewriting_sheets
    from metaeval.experiment.citing.settings import Asked
    from metaeval.files import safe_name

    asked = Asked(
        pipeline="aliice",
        files=(file,),
        form=format,
        nli=how.names([nli] if nli else None),
        threshold=threshold,
        calibrations=tuple(calibration or ()),
        profile=profile,
        parser=parser,
        splitter=splitter,
    )
    settings = opt.settings(results=results, store=store, budget=budget)
    with scoring_progress(quiet) as progress:
        prepared = prepare(asked, {"model": model, "base_url": base_url}, settings, set_ or [], whole)
        if dry_run:
            typer.echo(estimate_rewriting(prepared))
            return
        rejudged = rejudge(prepared, progress)
    folder = prepared.config.results / "cite" / "rewrite" / safe_name(asked.name)
    finish(rewriting_sheets(rejudged), folder, write_claims(rejudged, folder), quiet)
