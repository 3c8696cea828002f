"""The analysis `data show`, which also counts CiteBench's files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from metaeval.analyses import data_sets
from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError


class DataShowOptions(data_sets.DataCardOptions):
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


SHOW = Analysis(
    name="data show",
    summary="Show a data set's card and counts, or count a .citeeval file.",
    about="""The card: origin, licence, files, options. Where the data are at hand (with --data, or fetched), also the
citations of each level, the statements that only several citations together support (where whole statements were
judged), the share of chunks that hold a whole evidence set, and duplicates. Of CiteBench's file of responses: the
queries, responses, statements and citations of each system; with --human also the ratings and the annotators.""",
    returns="Card: A list of (label, text); of a .citeeval file a `Table`.",
    examples=[
        "data show wice",
        "data show jsonl --data mine.jsonl",
        "data show metric_eval.citeeval --human human.json",
    ],
    options=DataShowOptions,
    run=_show,
)
