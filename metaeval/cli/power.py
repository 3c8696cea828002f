"""The command `power`: how much annotation it takes to tell two metrics apart."""

from __future__ import annotations

from typing import Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output_summary import say_written
from metaeval.cli.sheets import sheet_folder, show_grids, write_sheets


@opt.takes("names", "config dataset split data unit pool results store budget set quiet")
def power(
    given: opt.Given,
    difference: Annotated[
        str | None,
        typer.Option(help="True differences, with commas, in the table's units (2: 2 points).", metavar="NUMBERS"),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="Protocol to plan for, by its headline measure.", metavar="NAME"),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="Measure, by its key: overall, spearman, ndcg@5 ...", metavar="KEY")
    ] = None,
) -> None:
    """Plan how many citations it takes to tell two metrics apart.

    The data are the pilot: the spread of the two metrics' difference over its
    groups. Without --difference: for the difference that the pilot shows.
    Without --protocol and --measure: for the mean ROC-AUC.

    \b
    Examples:
      metaeval power overlap rouge --difference 2
      metaeval power overlap rouge -p retrieval --difference 0.02
      metaeval power overlap rouge --measure spearman --difference 0.01,0.02
      metaeval power overlap mine.jsonl -d wice --data ../shared/data
      metaeval power FactCC DAE -d frank --difference 1,2
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.errors import UserError
    from metaeval.experiment.comparing.planning import plan_sheet, planned, read_differences
    from metaeval.experiment.metric_scores import load_panel

    differences = read_differences(difference or "")
    run = given.run()
    if not given.with_metrics or len(run.metrics) != 2:
        raise UserError(f"A plan takes exactly two metrics; given: {', '.join(given.names) or 'none'}.")
    to_plan = planned(run, measure or "", differences, protocol or "")
    with scoring_progress(given.quiet) as progress:
        panel = load_panel(run, True, progress=progress)
    sheet = plan_sheet(panel, to_plan, measure or "", differences)
    written = write_sheets([sheet], sheet_folder(run.results, "power", sheet))
    if not given.quiet:
        show_grids([sheet.grid])
    say_written(written)
