"""The commands about jobs in shards: a Slurm batch file, progress, merging, and checks of scores."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from metaeval import config as groups
from metaeval.analyses.analysis import Analysis, AnalysisOptions, DeclaredOptions, Done, Progress
from metaeval.analyses.command_words import words_of
from metaeval.analyses.score import ScoreOptions
from metaeval.config import RunConfig
from metaeval.declared import Flag
from metaeval.display_text import count


class SlurmOptions(
    groups.TrustSettings,
    groups.ExecutorSettings,
    groups.MetricOptionSettings,
    groups.MetricSettings,
    groups.PairSettings,
    groups.DataSettings,
    groups.DatasetSettings,
    AnalysisOptions,
):
    """Options of `shards slurm`."""

    untyped = frozenset({"columns", "executor", "pool"})

    tasks: Annotated[int, Flag("NUMBER")] = 8
    """Tasks of the array, or with --ray nodes."""
    output: Annotated[Path, Flag("FOLDER", "-o")] = Path("shards")
    """Folder for the shards."""
    cpus: Annotated[int, Flag("NUMBER")] = 4
    """CPU cores of a task."""
    gpus: Annotated[int, Flag("NUMBER")] = 0
    """GPUs of a task."""
    time: Annotated[str, Flag("TIME")] = "04:00:00"
    """Longest time of a task, as Slurm reads it."""
    ray: Annotated[bool, Flag()] = False
    """A Ray cluster in one allocation of --tasks nodes."""
    mem: Annotated[str, Flag("SIZE", hidden=True)] = ""
    """Memory of a node, as Slurm reads it: 16G (default: Slurm's)."""
    at_once: Annotated[int, Flag("NUMBER", hidden=True)] = 0
    """Most tasks of the array that run side by side (0: all)."""
    setup: Annotated[str, Flag("LINES", hidden=True)] = ""
    """Shell lines before the command, which activate an environment."""


def _slurm(options: SlurmOptions, _: Progress) -> Done:
    from metaeval.report.notebook import NotebookText
    from metaeval.runs.shard_tasks import batch_file

    run, settings = options.run(), [name for name in RunConfig.model_fields if name in type(options).model_fields]
    words = words_of(options, settings, ScoreOptions)
    resources = options.tasks, options.output, options.cpus, options.gpus, options.time, options.ray
    text = batch_file(run, words, *resources, options.mem, options.at_once, options.setup)
    return Done(config=run, shown=(), verdict=text.splitlines(), value=NotebookText(text))


ShardFolder = Annotated[
    Path, Flag("FOLDER", argument=True), Field(description="Folder of shards ('metaeval score --shard').")
]


class StatusOptions(DeclaredOptions):
    """Options of `shards status`."""

    folder: ShardFolder


class MergeOptions(groups.StoreSettings, groups.ResultsSettings, DeclaredOptions):
    """Options of `shards merge`."""

    folder: ShardFolder


class VerifyOptions(groups.TrustSettings, groups.ExecutorSettings, DeclaredOptions):
    """Options of `shards verify`."""

    untyped = frozenset({"seed"})

    folder: ShardFolder
    data: Annotated[Path | None, Flag("PATH")] = None
    """Folder that holds the published files (jsonl, ratings: your file)."""
    blocks: Annotated[int, Flag("NUMBER", hidden=True)] = 3
    """Blocks of each metric that are scored again."""
    seed: Annotated[int, Flag("NUMBER")] = 0
    """Seed from which these blocks are drawn."""


def _status(options: StatusOptions, _: Progress) -> Done:
    from metaeval.remote_files import location
    from metaeval.scoring.shards import shard_states

    folder = location(options.folder)
    states = shard_states(folder)
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
        lines.append(f"Complete: metaeval shards merge {shlex.quote(str(folder))}")
    return Done(shown=(), verdict=lines, value=states, exit_code=0 if complete else 1)


def _merge(options: MergeOptions, _: Progress) -> Done:
    from metaeval.files import UNFINISHED
    from metaeval.remote_files import location
    from metaeval.scoring.score_store import ScoreStore
    from metaeval.scoring.shards import merge_shards, shard_states

    run, folder = options.run(), location(options.folder)
    with ScoreStore(run.store_path) as store:
        merged = list(merge_shards(folder, store))
    lines = []
    for part in merged:
        parts = [f"{count(part.rows, 'score')}, {part.new:,} of them new"]
        if part.kept:
            parts.append(f"{part.kept:,} differ from those in the store, which stay")
        if part.failed:
            parts.append(f"{part.failed:,} failed ones left out")
        lines.append(f"{part.metric}: {', '.join(parts)}{_devices(part.devices)}")
    lines.append(f"Merged into {run.store_path}")
    if not all(state.complete for state in shard_states(folder)):
        lines.append(f"Blocks of the job are missing; type metaeval shards status {shlex.quote(str(folder))}")
    elif isinstance(folder, Path):
        for left in folder.glob(f"*/*/.part-*{UNFINISHED}"):  # of tasks that were killed while they wrote
            left.unlink(missing_ok=True)
    return Done(config=run, shown=(), verdict=lines, value=merged)


def _devices(names: Sequence[str]) -> str:
    """Return a text that names the models of device (GPU, CPU) if there are several; "" otherwise."""
    return f"; on {len(names)} models of device: {', '.join(names)}" if len(names) > 1 else ""


def _verify(options: VerifyOptions, progress: Progress) -> Done:
    from metaeval.runs.shard_tasks import verify_shards

    replaced = ("data", "executor", "trust_config")
    settings = {name: getattr(options, name) for name in replaced if name in options.model_fields_set}
    checks = list(verify_shards(options.folder, settings, options.blocks, options.seed, progress))
    lines = []
    for check in checks:
        where = "the same model of device" if check.same_device else "another model of device"
        differing = f"{check.differing:,} differ, by up to {check.largest:.1e}" if check.differing else "all equal"
        lines.append(
            f"{check.metric}: {count(check.blocks, 'block')}, {count(check.pairs, 'pair')} on {where}: {differing}"
        )
    agree = all(check.agrees for check in checks)
    if not agree:
        lines.append("The scores differ by more than they may: do not merge these shards.")
    return Done(shown=(), verdict=lines, value=checks, exit_code=0 if agree else 1)


SLURM = Analysis(
    name="shards slurm",
    summary="Print a Slurm batch file that scores a job in shards.",
    about="""Nothing is scored. A task that is started again continues where it stopped. Two minutes before its time is
up it finishes the current blocks and ends with exit code 75.""",
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
    about="The exit code is 1 where blocks are missing.",
    examples=["shards status shards"],
    options=StatusOptions,
    run=_status,
)
MERGE = Analysis(
    name="shards merge",
    summary="Put the scores of shards into a score store.",
    about="""Scores in the store stay as they are, and merging twice changes nothing. A pair with different scores in
two parts is refused.""",
    examples=["shards merge shards", "shards merge shards --store scores.sqlite"],
    options=MergeOptions,
    run=_merge,
)
VERIFY = Analysis(
    name="shards verify",
    summary="Score random blocks again here, and compare.",
    about="""On the same model of device no digit may differ; on another one scores may differ by 1e-5. The exit
code is 1 where they differ by more. --set changes settings of the executor only.""",
    examples=[
        "shards verify shards",
        "shards verify shards --blocks 20 --set seed=7",
        "shards verify shards --executor local -s executor.workers=2",
    ],
    options=VerifyOptions,
    run=_verify,
)
