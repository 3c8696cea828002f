"""Score files: the scores of a data set, one file for each metric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.analyses.run import JobOptions, instead_of
from metaeval.core.config import DatasetSettings
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError


class ScoreOptions(JobOptions, DatasetSettings):
    """Options of `score`."""

    untyped = JobOptions.untyped | {"results", "pool"}

    output: Annotated[Path, Flag("FOLDER", "-o", output=True)] = Path("results")
    """Folder for the score files."""
    format: Annotated[Literal["jsonl", "parquet"], Flag("FORMAT")] = "jsonl"
    """Format of the score files: jsonl or parquet."""
    shard: Annotated[str, Flag("I/N")] = ""
    """Score every N-th row alone, from row I on, counted from 0."""


def _run(options: ScoreOptions, progress: Progress) -> Done:
    from metaeval.analyses.score_export import export_scores
    from metaeval.runs.metrics import able_defaults

    shard = None
    if options.shard:
        index, _, number = options.shard.partition("/")
        if not (index.isdecimal() and number.isdecimal() and int(index) < int(number)):
            raise UserError(f"--shard is {options.shard!r}; allowed: I/N, shard I of N, counted from 0 (0/8 to 7/8).")
        if options.dry_run or options.requests:
            raise UserError("--dry-run and --requests are of the whole job and not of a shard: leave --shard out.")
        shard = int(index), int(number)
    run = able_defaults(options.run())
    if instead := instead_of(options, run, tables=True):
        return instead
    written = list(export_scores(run, options.output, options.format, progress, shard))
    return Done(config=run, shown=(), verdict=[str(file) for file in written], value=written)


SCORE = Analysis(
    name="score",
    summary="Score the data and write one score file per metric.",
    about="""The files of all shards, joined with cat, are evaluated as one; a metric that needs all pairs at once, as
bm25, is scored without shards.""",
    returns="list of Path: The score files.",
    examples=[
        "score -m overlap,minilm-cosine -d wice --output scores/wice",
        "score -m rouge --format parquet",
        "score -m rouge --shard 0/8 -o shards    (rouge.0-of-8.jsonl)",
        "score -m rouge -d ratings --data pairs.parquet",
        "evaluate results/rouge.jsonl     (the same tables, from the file)",
    ],
    options=ScoreOptions,
    run=_run,
)
