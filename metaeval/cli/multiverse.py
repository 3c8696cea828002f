"""The command `multiverse`: every metric's rank under every combination of open choices."""

from __future__ import annotations

from typing import Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output_summary import say_written


def multiverse(
    axes: Annotated[
        list[str] | None,
        typer.Option("--axes", "-a", help="A choice and its values: chunk.size=100,150. Repeatable.", metavar="AXIS"),
    ] = None,
    config: opt.Config = None,
    protocol: opt.ProtocolNames = None,
    metric: opt.MetricNames = None,
    dataset: opt.DatasetName = None,
    split: opt.Split = None,
    data: opt.Data = None,
    results: opt.Results = None,
    store: opt.Store = None,
    set_: opt.Set = None,
    quiet: opt.Quiet = False,
) -> None:
    """Rank the metrics under every combination of open choices.

    Chunk size, evidence rule, unit, pool and tie policy, without intervals.
    An axis that is given takes the place of its default values; one value
    holds it fixed. Any setting of a run can be an axis.

    \b
    Examples:
      metaeval multiverse -m overlap,rouge,bm25
      metaeval multiverse -d wice -m overlap,bm25 --data ../shared/data --axes chunk.size=100,150,250
      metaeval multiverse -m overlap,rouge -a pool=own -a evidence_threshold=0.5 -a aggregate=max,mean
    """
    from metaeval.cli.progress import scoring_progress
    from metaeval.config import load_run
    from metaeval.errors import UserError
    from metaeval.experiment.suites.multiverse import explore, read_axes
    from metaeval.experiment.suites.multiverse_files import markdown, write_multiverse
    from metaeval.experiment.suites.pictures import write_rank_stability
    from metaeval.files import safe_name

    given = opt.settings(
        metrics=metric, protocols=protocol, dataset=dataset, split=split, data=data, results=results, store=store
    )
    chosen, grid = load_run(config, given, set_ or []), read_axes(axes or [])
    with scoring_progress(True):
        found = explore(chosen, grid, None if quiet else _tick)
    folder = chosen.results / "multiverse" / f"{safe_name(found.dataset)}-{safe_name(found.split)}"
    written = write_multiverse(found, folder)
    if not quiet:
        typer.echo(markdown(found))
    try:
        written += write_rank_stability(found, folder)
    except UserError as error:  # matplotlib is not installed: all else is written
        typer.echo(f"No figure: {error}", err=True)
    say_written(written)


def _tick(done: int, total: int) -> None:
    typer.echo(f"{done} of {total} combinations", err=True)
