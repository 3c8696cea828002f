"""Score files: the scores of a data set, one file for each metric, or in shards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.analyses.run import JobOptions, job_of
from metaeval.config import DatasetSettings
from metaeval.declared import Flag
from metaeval.errors import UserError

if TYPE_CHECKING:
    from metaeval.runs.run import ScoreFileWritten
    from metaeval.runs.shard_tasks import ShardWritten


class ScoreOptions(JobOptions, DatasetSettings):
    """Options of `score`."""

    untyped = JobOptions.untyped | {"results", "pool"}

    output: Annotated[Path, Flag("FOLDER", "-o", output=True)] = Path("results")
    """Folder for the score files."""
    format: Annotated[Literal["jsonl", "parquet"], Flag("FORMAT")] = "jsonl"
    """Format of the score files: jsonl or parquet."""
    shard: Annotated[str, Flag("I/N")] = ""
    """Score every N-th block alone, from block I on, into parts for 'metaeval shards'."""


def _run(options: ScoreOptions, progress: Progress) -> Done:
    from metaeval.runs.run import export_scores
    from metaeval.runs.shard_tasks import export_shard
    from metaeval.scoring.executors.termination_signal import EXIT_CODE, EndedError
    from metaeval.scoring.shards import read_shard

    shard = read_shard(options.shard) if options.shard else None
    if shard is not None and options.dry_run:
        raise UserError("--dry-run estimates the whole job and not a shard: leave --shard out.")
    run, instead = job_of(options, tables=True)
    if instead:
        return instead
    # Files are written during scoring: scores of a table can be larger than the memory.
    parts: Iterable[ScoreFileWritten | ShardWritten] = (
        export_scores(run, options.output, options.format, progress)
        if shard is None
        else export_shard(run, shard, options.output, progress)
    )
    written: list[ScoreFileWritten | ShardWritten] = []
    ended = False
    try:
        written.extend(parts)
    except EndedError:
        ended = True
    return Done(
        config=run,
        shown=(),
        verdict=[str(file) for file in written],
        warnings=[_ENDED] if ended else [],
        value=written,
        exit_code=EXIT_CODE if ended else 0,
    )


_ENDED = "metaeval: ended as asked. Finished blocks are written; the same command goes on from there."

SCORE = Analysis(
    name="score",
    summary="Score the data and write one score file per metric.",
    about="""A shard's task that gets SIGTERM finishes the current block if there is time (Slurm's --signal), and ends
with exit code 75; when it is started again, it continues.""",
    examples=[
        "score -m overlap,minilm-cosine -d wice --output scores/wice",
        "score -m rouge --format parquet",
        "score -m rouge --shard 0/8 -o shards    (one of eight tasks)",
        "score -m rouge -d ratings --data pairs.parquet    (of any size)",
        "evaluate results/rouge.jsonl     (the same tables, from the file)",
    ],
    options=ScoreOptions,
    run=_run,
)
