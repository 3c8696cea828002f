"""The commands `cite agreement` and `cite tables`: verdicts against people, and the tables of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import cite_options as how
from metaeval.cli import options as opt
from metaeval.cli.output_summary import say_written
from metaeval.cli.sheets import show_grids, write_sheets


def agreement(
    file: Annotated[Path, typer.Argument(help="Labels as ALCE's human_eval_citations_completed.json.", metavar="FILE")],
    nli: Annotated[
        list[str] | None, typer.Option(help="Metric that judges the same answers. Repeatable.", metavar="NAME")
    ] = None,
    threshold: how.Threshold = None,
    calibration: how.Calibration = None,
    splitter: how.Splitter = "auto",
    results: opt.Results = None,
    store: opt.Store = None,
    budget: opt.Budget = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Hold verdicts against human labels of sentences and citations.

    Accuracy and kappa of the automatic verdicts in the file, and of any
    metric. Claims with human levels of support: 'metaeval calibrate'.

    \b
    Examples:
      metaeval cite agreement human_eval_citations_completed.json
      metaeval cite agreement human_eval_citations_completed.json --nli autoais
      metaeval calibrate minilm-bertscore -d expertqa --data ../shared/data
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.run import run_agreement
    from metaeval.files import safe_name

    settings = opt.settings(results=results, store=store, budget=budget)
    names = how.names(nli)
    with scoring_progress(quiet) as progress:
        config, sheet = run_agreement(
            file, names, threshold, calibration or (), splitter, settings, set_ or [], progress
        )
    written = write_sheets([sheet], config.results / "cite" / "agreement" / safe_name(sheet.data.name))
    if not quiet:
        show_grids([sheet.grid])
    say_written(written)


def tables(
    files: Annotated[list[str], typer.Argument(help="FILE, or DATASET=FILE,FILE: one file a system.", metavar="FILE")],
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A YAML file, or aliice (shipped).", metavar="FILE")
    ] = None,
    nli: Annotated[str | None, typer.Option(help="Metric that gives the verdicts.", metavar="NAME")] = None,
    threshold: how.Threshold = None,
    profile: Annotated[str | None, typer.Option(help="paper or released.", metavar="NAME")] = None,
    parser: Annotated[str | None, typer.Option(help="As for 'cite aliice'.", metavar="NAME")] = None,
    splitter: Annotated[str | None, typer.Option(help="auto, nltk or rules.", metavar="NAME")] = None,
    format: Annotated[str | None, typer.Option("--format", "-f", help="As for 'cite aliice'.", metavar="NAME")] = None,
    results: opt.Results = None,
    store: opt.Store = None,
    budget: opt.Budget = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """The ALiiCE paper's Tables 1 and 3, from your files.

    Table 1: citation quality, correctness and length of every system. Table 3:
    ALiiCE beside ALCE on the answers that cite within a sentence.

    \b
    Examples:
      metaeval cite tables answers.json
      metaeval cite tables ASQA=a.json,b.json ELI5=c.json -c aliice
      metaeval cite tables a.json b.json -c aliice --nli rouge --parser small
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.experiment.citing.paper import paper_tables, read_files, read_paper
    from metaeval.files import safe_name

    given = {"nli": nli, "threshold": threshold, "profile": profile, "parser": parser, "splitter": splitter}
    asked = read_paper(config, {**given, "format": format})
    settings = opt.settings(results=results, store=store, budget=budget)
    with scoring_progress(quiet) as progress:
        run, found = paper_tables(asked, read_files(files), settings, set_ or [], progress)
    written = [
        path
        for name, sheets in found
        for path in write_sheets(sheets, run.results / "cite" / "tables" / safe_name(name))
    ]
    if not quiet:
        show_grids([sheet.grid for _, sheets in found for sheet in sheets])
    say_written(sorted(written))
