"""The analysis `data show`, which also counts CiteBench's files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from metaeval.analyses import data_sets
from metaeval.analyses.analysis import Done, Progress
from metaeval.declared import Flag
from metaeval.errors import UserError


class DataShowOptions(data_sets.DataSetOptions):
    """Options of `data show`."""

    name: Annotated[str, Flag("NAME", argument=True)]
    """Data set, by name ('metaeval data list'), or CiteBench's .citeeval file."""
    human: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """CiteBench's human judgements of a .citeeval file."""


def _show(options: DataShowOptions, progress: Progress) -> Done:
    from metaeval.citation.human.benchmark_statistics import bench_statistics, read_benchmark
    from metaeval.report.table import Table

    path = Path(options.name)
    if path.suffix == ".citeeval":
        return Done(value=Table(records=bench_statistics(read_benchmark(path, options.human))))
    if options.human is not None:
        raise UserError(f"--human is for CiteBench's .citeeval files, and {options.name} is another: leave it out.")
    return data_sets.show_card(options, progress)


SHOW = replace(
    data_sets.SHOW,
    summary="Show a data set's card, or count a .citeeval file.",
    about="""The card: origin, licence, files, options. Of CiteBench's file of responses: the queries, responses,
statements and citations of each system; with --human also the ratings and the annotators.""",
    examples=["data show wice", "data show metric_eval.citeeval --human human.json"],
    options=DataShowOptions,
    run=_show,
)
