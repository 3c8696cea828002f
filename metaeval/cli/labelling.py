"""Commands from labels to a decision: estimate (citation quality with honest intervals)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output import say_written, show_grids
from metaeval.cli.progress import scoring_progress
from metaeval.errors import UserError
from metaeval.tables import read_mapping

Answers = Annotated[
    Path,
    typer.Argument(help="Answers with citations: JSON(L), a corpus, a job's pairs.jsonl, or a table.", metavar="FILE"),
]
LabelFile = Annotated[
    Path | None,
    typer.Option("--labels", "-l", help="People's labels of some items: .csv, .tsv, .xlsx or .jsonl.", metavar="FILE"),
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", help="Column of a role, where its name does not say it. Repeatable.", metavar="ROLE=COLUMN"),
]


@opt.takes("results store budget set quiet")
def estimate(
    given: opt.Given,
    answers: Answers,
    other: Annotated[
        Path | None, typer.Argument(help="Answers of another system: differences too.", metavar="[OTHER]")
    ] = None,
    labels: LabelFile = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="Metric, score file, or column of the answers' file.", metavar="NAME")
    ] = "overlap",
    estimand: Annotated[
        str,
        typer.Option(help="What the shares are of: set (these answers) or process (what makes them).", metavar="NAME"),
    ] = "set",
    map_: Map = None,
    assume_sample: Annotated[
        bool, typer.Option("--assume-sample", help="Do not check that the labelled items can be a sample.")
    ] = False,
) -> None:
    """Estimate citation quality from a metric and some labels.

    The metric scores every citation, people label some, and the intervals
    include the metric's errors (prediction-powered inference). Beside each
    share stand that of the labels alone, and what the metric alone would say.

    \b
    Examples:
      metaeval estimate answers.jsonl --labels labels.csv --metric minilm-bertscore
      metaeval estimate answers.jsonl -l labels.xlsx --map level=Verdict --estimand process
      metaeval estimate a.jsonl b.jsonl -l labels.csv -m overlap
      metaeval estimate results/latest/pairs.jsonl -l labels.csv -m overlap
    """
    from metaeval.experiment.job_folder import close_job, job_folder
    from metaeval.experiment.labelling.estimate import estimate as make
    from metaeval.experiment.labelling.estimate import estimate_sheet
    from metaeval.experiment.metric_scores import as_metrics
    from metaeval.report.sheet import write_sheet

    if estimand not in ("set", "process"):
        raise UserError(
            f"--estimand is {estimand!r}; allowed: set (these answers) or process (what makes such answers)."
        )
    (named,) = as_metrics([metric])
    run = given.run(metrics=(named,))
    with scoring_progress(given.quiet) as progress:
        found = make(
            answers,
            labels,
            named,
            other,
            "set" if estimand == "set" else "process",
            run.interval.level,
            read_mapping(map_ or ()),
            assume_sample,
            run,
            progress,
        )
    sheet = estimate_sheet(found)
    folder = job_folder(run.results / "estimate", [found.data.name], found.signatures)
    written = write_sheet(sheet, folder)
    if not given.quiet:
        show_grids([sheet.grid])
    close_job(run, "estimate", folder, [found.data], written)
    say_written(sorted(written))
