"""Jobs in shards: the batch file that runs them, how far they are, their scores merged and checked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis, AnalysisOptions, DeclaredOptions, Done
from metaeval.analyses.score import ScoreOptions
from metaeval.analyses.words import words_of
from metaeval.config import (
    DatasetSettings,
    DataSettings,
    ExecutorSettings,
    MetricOptionSettings,
    MetricSettings,
    PairSettings,
    ResultsSettings,
    RunConfig,
    StoreSettings,
    TrustSettings,
)
from metaeval.declared import Flag

if TYPE_CHECKING:
    from metaeval.runs.metrics import MetricProgress


class SlurmOptions(
    TrustSettings,
    ExecutorSettings,
    MetricOptionSettings,
    MetricSettings,
    PairSettings,
    DataSettings,
    DatasetSettings,
    AnalysisOptions,
):
    """Options of `shards slurm`."""

    untyped = frozenset({"columns", "executor", "pool"})

    tasks: Annotated[int, Flag("NUMBER")] = 8
    """Tasks of the array, or with --ray nodes."""
    output: Annotated[Path, Flag("FOLDER", "-o", earlier="out")] = Path("shards")
    """Folder for the shards."""
    cpus: Annotated[int, Flag("NUMBER")] = 4
    """CPU cores of a task."""
    gpus: Annotated[int, Flag("NUMBER")] = 0
    """GPUs of a task."""
    time: Annotated[str, Flag("TIME")] = "04:00:00"
    """Longest time of a task, as Slurm reads it."""
    ray: Annotated[bool, Flag()] = False
    """A Ray cluster in one allocation of --tasks nodes."""


def _slurm(options: SlurmOptions, _: MetricProgress | None) -> Done:
    from metaeval.report.notebook import NotebookText
    from metaeval.runs.sharding import batch_file

    run, settings = options.run(), [name for name in RunConfig.model_fields if name in type(options).model_fields]
    words = words_of(options, settings, ScoreOptions)
    resources = options.tasks, options.output, options.cpus, options.gpus, options.time, options.ray
    text = batch_file(run, words, *resources)
    return Done(config=run, shown=(), verdict=text.splitlines(), value=NotebookText(text))


ShardFolder = Annotated[
    Path, Flag("FOLDER", argument=True), Field(description="Folder of shards ('metaeval score --shard').")
]


class StatusOptions(DeclaredOptions):
    """Options of `shards status`."""

    folder: ShardFolder


class MergeOptions(StoreSettings, ResultsSettings, DeclaredOptions):
    """Options of `shards merge`."""

    folder: ShardFolder


class VerifyOptions(TrustSettings, ExecutorSettings, DeclaredOptions):
    """Options of `shards verify`."""

    untyped = frozenset({"seed"})

    folder: ShardFolder
    data: Annotated[Path | None, Flag("PATH")] = None
    """Folder that holds the published files (jsonl, ratings: your file)."""
    blocks: Annotated[int, Flag("NUMBER")] = 3
    """Blocks of each metric that are scored again."""
    seed: Annotated[int, Flag("NUMBER")] = 0
    """Seed from which they are drawn."""


def _status(options: StatusOptions, _: MetricProgress | None) -> Done:
    from metaeval.scoring.shards import shard_states

    states = shard_states(options.folder)
    lines = []
    for state in states:
        note = state.note
        place = ", ".join([f"{state.place.parent.name}/{state.place.name}", *map(str, note.windows)])
        lines.append(f"{note.metric} ({place}): {state.progress}{_devices(state.devices)}")
        if state.missing:
            lines.append(f"  left of {note.shards}: --array={state.array}")
    left = {(state.place.parent, table.table): (state.note, table) for state in states for table in state.unbegun}
    for note, table in left.values():
        of = f"{len(table.numbers):,} of {table.of:,}"
        lines.append(f"{note.metric}: {of} windows are not begun: --array=0-{note.shards - 1}")
    complete = all(state.complete for state in states)
    if complete:
        lines.append(f"Complete: metaeval shards merge {shlex.quote(str(options.folder))}")
    return Done(shown=(), verdict=lines, value=states, exit_code=0 if complete else 1)


def _merge(options: MergeOptions, _: MetricProgress | None) -> Done:
    from metaeval.scoring.shards import merge_shards, shard_states
    from metaeval.scoring.store import ScoreStore

    run = options.run()
    with ScoreStore(run.store_path) as store:
        merged = list(merge_shards(options.folder, store))
    lines = []
    for one in merged:
        parts = [f"{one.rows:,} scores, {one.new:,} of them new"]
        if one.kept:
            parts.append(f"{one.kept:,} differ from those in the store, which stay")
        if one.failed:
            parts.append(f"{one.failed:,} failed ones left out")
        lines.append(f"{one.metric}: {', '.join(parts)}{_devices(one.devices)}")
    lines.append(f"Merged into {run.store_path}")
    if not all(state.complete for state in shard_states(options.folder)):
        folder = shlex.quote(str(options.folder))
        lines.append(f"Not the whole job, blocks are missing: metaeval shards status {folder}")
    return Done(config=run, shown=(), verdict=lines, value=merged)


def _devices(names: Sequence[str]) -> str:
    """The models of device, where there are several: their scores can differ in the last digits."""
    return f"; on {len(names)} models of device: {', '.join(names)}" if len(names) > 1 else ""


def _verify(options: VerifyOptions, progress: MetricProgress | None) -> Done:
    from metaeval.runs.sharding import verify_shards

    replaced = ("data", "executor", "trust_config")
    settings = {name: getattr(options, name) for name in replaced if name in options.model_fields_set}
    checks = list(verify_shards(options.folder, settings, options.blocks, options.seed, progress))
    lines = []
    for one in checks:
        where = "the same model of device" if one.same_device else "another model of device"
        differing = f"{one.differing:,} differ, by up to {one.largest:.1e}" if one.differing else "all equal"
        lines.append(f"{one.metric}: {one.blocks:,} blocks, {one.pairs:,} pairs on {where}: {differing}")
    agree = all(one.agrees for one in checks)
    if not agree:
        lines.append("The scores differ by more than they may: do not merge these shards.")
    return Done(shown=(), verdict=lines, value=checks, exit_code=0 if agree else 1)


SLURM = Analysis(
    name="shards slurm",
    summary="Print a Slurm batch file that scores a job in shards.",
    about="""Nothing is scored. A task that is started again goes on where it was. Two minutes before its time is up it
finishes the blocks in hand and ends (75).""",
    examples=[
        "shards slurm -m autoais -d gensearch --tasks 64 --gpus 1 > job.sbatch",
        "shards slurm -m autoais -d gensearch --tasks 8 --gpus 4 --ray > job.sbatch",
        "shards status shards             (what is left: sbatch --array=...)",
        "shards merge shards --store results/scores.sqlite",
    ],
    options=SlurmOptions,
    run=_slurm,
)
STATUS = Analysis(
    name="shards status",
    summary="Show how far the shards are, and which tasks are left.",
    about="Exit code 1: blocks are missing.",
    examples=["shards status shards"],
    options=StatusOptions,
    run=_status,
)
MERGE = Analysis(
    name="shards merge",
    summary="Put the scores of shards into a score store.",
    about="""What the store has stays; merged again, nothing changes. A pair that two parts score differently is
refused.""",
    examples=["shards merge shards", "shards merge shards --store scores.sqlite"],
    options=MergeOptions,
    run=_merge,
)
VERIFY = Analysis(
    name="shards verify",
    summary="Score random blocks again here, and compare.",
    about="""On the same model of device no digit may differ; on another one scores may differ by 1e-5. Exit code 1:
they differ by more. --set changes settings of the executor only.""",
    examples=[
        "shards verify shards",
        "shards verify shards --blocks 20 --set seed=7",
        "shards verify shards --executor local -s executor.workers=2",
    ],
    options=VerifyOptions,
    run=_verify,
)
