"""Commands from labels to a decision: label (which citations to judge) and estimate (citation quality)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output import say, say_written, show_grids
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


@opt.takes("results store budget set quiet")
def label(
    given: opt.Given,
    answers: Answers,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to fill in: .csv, .tsv, .xlsx or .jsonl.", metavar="FILE")
    ],
    n: Annotated[int, typer.Option("-n", help="Number of citations to label.", metavar="NUMBER")] = 60,
    design: Annotated[
        str,
        typer.Option(
            help="random, stratified (by the metric's scores) or uncertain (more of the middle).", metavar="NAME"
        ),
    ] = "random",
    unit: Annotated[
        str,
        typer.Option("--unit", "-u", help="What is drawn as one: item (a citation) or answer (whole).", metavar="NAME"),
    ] = "item",
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="Metric of the designs that look at scores.", metavar="NAME")
    ] = "overlap",
    besides: Annotated[
        Path | None, typer.Option(help="Labels that there are already, drawn at random: adds to them.", metavar="FILE")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.", metavar="NUMBER")] = 0,
    map_: Map = None,
) -> None:
    """Draw citations for people to label.

    The file has a row for each citation, with a blank level to fill in (full,
    partial or none) and the probability of being drawn, which estimate reads.
    Scores and systems are left out: who judges is blind to them.

    \b
    Examples:
      metaeval label answers.jsonl -n 60 -o to_label.xlsx
      metaeval label answers.jsonl -n 60 --design stratified -m overlap -o to_label.csv
      metaeval label answers.jsonl -n 100 --unit answer -o to_label.csv
      metaeval label answers.jsonl -n 40 --besides labels.csv -o more.csv
    """
    from metaeval.experiment.labelling.items import items_of
    from metaeval.experiment.labelling.label import check_output, draw, write_questions
    from metaeval.experiment.labelling.labels import labels_of
    from metaeval.experiment.metric_scores import as_metrics

    check_output(output)
    (named,) = as_metrics([metric])
    run = given.run(metrics=(named,))
    columns = read_mapping(map_ or ())
    items = items_of(answers, columns)
    known = labels_of(besides, items, columns) if besides else None
    with scoring_progress(given.quiet) as progress:
        drawn = draw(items, n, design, unit, named, seed, known, run, progress)
    write_questions(drawn, output, known)
    whole = f" of {len({items.rows[row].group for row in drawn.rows}):,} whole answers" if unit == "answer" else ""
    say(f"Written: {output} ({drawn.rows.size:,} of {len(items.rows):,} citations{whole} to judge)")
    if not given.quiet:
        say(f"Next: fill in its column 'level', then metaeval estimate {answers} --labels {output} --metric {metric}")
