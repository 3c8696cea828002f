"""Commands about a job in shards: status, merge, verify; and slurm, the batch file that runs one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import say, say_text
from metaeval.cli.progress import scoring_progress

app = opt.group("Jobs in shards: status, merge, verify.", "metaeval shards status shards")

Folder = Annotated[Path, Argument(help="Folder of shards ('metaeval score --shard').", metavar="FOLDER")]


@app.command("status")
def status(folder: Folder) -> None:
    """Show how far the shards of a folder are, and which tasks are left.

    \b
    Exit code 1: blocks are missing.

    \b
    Example:
      metaeval shards status shards
    """
    from metaeval.scoring.shards import shard_states

    states = shard_states(folder)
    for state in states:
        note = state.note
        place = ", ".join([f"{state.place.parent.name}/{state.place.name}", *map(str, note.windows)])
        say(f"{note.metric} ({place}): {state.progress}{_devices(state.devices)}")
        if state.missing:
            say(f"  left of {note.shards}: --array={state.array}")
    left = {(state.place.parent, table.table): (state.note, table) for state in states for table in state.unbegun}
    for note, table in left.values():
        of = f"{len(table.numbers):,} of {table.of:,}"
        say(f"{note.metric}: {of} windows are not begun: --array=0-{note.shards - 1}")
    if not all(state.complete for state in states):
        raise typer.Exit(1)
    say(f"Complete: metaeval shards merge {shlex.quote(str(folder))}")


@app.command("merge")
@opt.takes("results store")
def merge(given: opt.Given, folder: Folder) -> None:
    """Put the scores of shards into a score store.

    \b
    What the store has stays; merged again, nothing changes. A pair that two parts
    score differently is refused.

    \b
    Examples:
      metaeval shards merge shards
      metaeval shards merge shards --store scores.sqlite
    """
    from metaeval.scoring.shards import merge_shards, shard_states
    from metaeval.scoring.store import ScoreStore

    path = given.run().store_path
    with ScoreStore(path) as store:
        for found in merge_shards(folder, store):
            parts = [f"{found.rows:,} scores, {found.new:,} of them new"]
            if found.kept:
                parts.append(f"{found.kept:,} differ from those in the store, which stay")
            if found.failed:
                parts.append(f"{found.failed:,} failed ones left out")
            say(f"{found.metric}: {', '.join(parts)}{_devices(found.devices)}")
    say(f"Merged into {path}")
    if not all(state.complete for state in shard_states(folder)):
        say(f"Not the whole job, blocks are missing: metaeval shards status {shlex.quote(str(folder))}")


def _devices(names: Sequence[str]) -> str:
    """The models of device, where there are several: their scores can differ in the last digits."""
    return f"; on {len(names)} models of device: {', '.join(names)}" if len(names) > 1 else ""


@app.command("verify")
@opt.takes("data executor trust_config set quiet")
def verify(
    given: opt.Given,
    folder: Folder,
    blocks: Annotated[int, Option(help="Blocks of each metric that are scored again.", metavar="NUMBER")] = 3,
    seed: Annotated[int, Option(help="Seed from which they are drawn.", metavar="NUMBER")] = 0,
) -> None:
    """Score random blocks again here, and compare.

    \b
    On the same model of device no digit may differ; on another one scores may
    differ by 1e-5. Exit code 1: they differ by more. --set changes settings of
    the executor only.

    \b
    Examples:
      metaeval shards verify shards
      metaeval shards verify shards --blocks 20 --seed 7
      metaeval shards verify shards --executor local -s executor.workers=2
    """
    from metaeval.experiment.sharding import verify_shards

    good = True
    with scoring_progress(given.quiet) as progress:
        for found in verify_shards(folder, given.settings, given.set, blocks, seed, progress):
            where = "the same model of device" if found.same_device else "another model of device"
            differing = f"{found.differing:,} differ, by up to {found.largest:.1e}" if found.differing else "all equal"
            say(f"{found.metric}: {found.blocks:,} blocks, {found.pairs:,} pairs on {where}: {differing}")
            good = good and found.agrees
    if not good:
        say("NOT as it should be: do not merge these shards.")
        raise typer.Exit(1)


@opt.takes("config metrics dataset split data columns unit pool executor set")
def slurm(
    given: opt.Given,
    tasks: Annotated[int, Option(help="Tasks of the array, or with --ray nodes.", metavar="NUMBER")] = 8,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the shards.", metavar="FOLDER")] = Path("shards"),
    cpus: Annotated[int, Option(help="CPU cores of a task.", metavar="NUMBER")] = 4,
    gpus: Annotated[int, Option(help="GPUs of a task.", metavar="NUMBER")] = 0,
    time: Annotated[str, Option(help="Longest time of a task, as Slurm reads it.", metavar="TIME")] = "04:00:00",
    ray: Annotated[bool, Option("--ray", help="A Ray cluster in one allocation of --tasks nodes.")] = False,
) -> None:
    """Print a Slurm batch file that scores a job in shards.

    \b
    Nothing is scored. A task that is started again goes on where it was. Two
    minutes before its time is up it finishes the blocks in hand and ends (75).

    \b
    Examples:
      metaeval slurm -m autoais -d gensearch --tasks 64 --gpus 1 > job.sbatch
      metaeval slurm -m autoais -d gensearch --tasks 8 --gpus 4 --ray > job.sbatch
      sbatch job.sbatch
      metaeval shards status shards             (what is left: sbatch --array=...)
      metaeval shards merge shards --store results/scores.sqlite
    """
    from metaeval.experiment.sharding import batch_file

    say_text(batch_file(given.run(), given.words, tasks, out, cpus, gpus, time, ray), end="")
