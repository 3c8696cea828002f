"""Commands about jobs and what they leave behind: results and view, shards (and slurm, which runs them), stores."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import say, say_text, scoring_progress, show_records

if TYPE_CHECKING:
    from metaeval.database import Database, Verified

results = opt.group("Jobs that are done: list, show, rm.", "metaeval results show latest")

Job = Annotated[
    str, Argument(help="Job as 'results list' names it, the beginning of its name, or latest.", metavar="JOB")
]


@results.command("list")
@opt.takes("results")
def list_jobs(given: opt.Given) -> None:
    """List the jobs of a results folder, the newest first.

    \b
    Examples:
      metaeval results list
      metaeval results list --results elsewhere
    """
    from metaeval import groups

    folder = given.run().results
    if rows := groups.results.list(folder):
        show_records(rows, finished="finished (UTC)")
    else:
        say(f"No job in {folder}/: metaeval run makes one.")


@results.command("show")
@opt.takes("results")
def show_job(given: opt.Given, job: Job = "latest") -> None:
    """Print the tables of a job.

    \b
    Examples:
      metaeval results show
      metaeval results show mini-all-chunk
    """
    from metaeval import groups

    for line in groups.results.show(job, given.run().results).splitlines():
        say(line)


@results.command("rm")
@opt.takes("results")
def remove(given: opt.Given, jobs: Annotated[list[str], Argument(help="Jobs to delete.", metavar="JOB...")]) -> None:
    """Delete the files of jobs. Scores stay in the store.

    \b
    A folder that holds a file which the job did not write is left as it is.

    \b
    Examples:
      metaeval results rm latest
      metaeval results rm mini-all-chunk-1a2b3c4d
    """
    from metaeval import groups

    for folder, count in groups.results.rm(*jobs, results=given.run().results).items():
        say(f"Deleted: {folder}/ ({count} files)")


@opt.takes("results data trust_config")
def view(
    given: opt.Given,
    jobs: Annotated[
        list[str] | None,
        Argument(help="Jobs as 'results list' names them, or their folders (default: latest).", metavar="RESULT..."),
    ] = None,
    output: Annotated[Path, Option("--output", "-o", help="Page to write.", metavar="FILE")] = Path("view.html"),
    max_pairs: Annotated[
        int, Option(min=1, help="Most pairs of a job on the page; above it statements are drawn.", metavar="N")
    ] = 5000,
    explain: Annotated[
        str, Option(help="Metrics that read a model and are to explain their scores too.", metavar="NAMES")
    ] = "",
    show: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write a page to look at a job's pairs on: the explorer.

    It is one HTML file that needs no network. It shows where two metrics
    disagree, what the human marked, and what a metric looked at; pairs can be
    labelled on it. The texts are read again from the data. A metric that
    reads a model explains its scores only where --explain names it.

    \b
    Examples:
      metaeval view
      metaeval view wice-test-chunk -o wice.html --open
      metaeval view latest --explain minilm-bertscore
    """
    from metaeval.experiment.viewing import View, write_view

    config = given.run()
    asked = tuple(name.strip() for name in explain.split(",") if name.strip())
    with scoring_progress(quiet=False) as progress:
        wanted = View(config.data, max_pairs, asked, config.trust_config, progress)
        said = write_view(jobs or ["latest"], config.results, output, wanted)
    for line in said:
        say(line)
    size = f"{output.stat().st_size / 1e6:.1f} MB"
    say(f"Written: {output} ({size}). The texts are in it: share it where you may share them.")
    if show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


shards = opt.group("Jobs in shards: status, merge, verify.", "metaeval shards status shards")

Folder = Annotated[Path, Argument(help="Folder of shards ('metaeval score --shard').", metavar="FOLDER")]


@shards.command("status")
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


@shards.command("merge")
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


@shards.command("verify")
@opt.takes("data executor trust_config set quiet")
def verify_shards(
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
    from metaeval.experiment import sharding

    good = True
    with scoring_progress(given.quiet) as progress:
        for found in sharding.verify_shards(folder, given.settings, given.set, blocks, seed, progress):
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


stores = opt.group("Score store and reply store: verify, compact.", "metaeval store verify")

Replies = Annotated[
    Path | None, Option("--replies", help="Reply store (default: replies.sqlite in the cache folder).", metavar="FILE")
]


@stores.command("verify")
@opt.takes("results store")
def verify(given: opt.Given, replies: Replies = None) -> None:
    """Check every stored score and reply against its checksum.

    \b
    The score store, and the store of chat models' replies where there is one. A
    damaged row is never served: the next run that needs it scores it, or asks for
    it, again. Exit code 1: something is damaged.

    \b
    Examples:
      metaeval store verify
      metaeval store verify --store shared/scores.sqlite
    """
    from metaeval import groups

    verdicts = []
    for store in groups.stores(replies, **given.settings):
        found = store.verify()
        verdicts.append(found.sound)
        for line in _said(store, found):
            say(line)
    if not all(verdicts):
        raise typer.Exit(1)


def _said(store: Database, found: Verified) -> Iterator[str]:
    rows = (
        f"{found.rows:,} {store.table}, {found.damaged:,} damaged" if found.rows or not found.faults else "unreadable"
    )
    yield f"{store.path}: {rows} (schema {found.schema}, journal {found.journal})"
    for fault in found.faults:
        yield f"  the file's structure: {fault}"
    if found.faults:
        yield "  'metaeval store compact' copies what can be read into a new file."
    elif found.damaged:
        yield "  They are never served, but made anew when they are needed; 'metaeval store compact' deletes them."


@stores.command("compact")
@opt.takes("results store")
def compact(given: opt.Given, replies: Replies = None) -> None:
    """Delete damaged rows, and give unused space back to the disk.

    \b
    Where the file's structure is broken, what can be read is copied into a new
    file beside it (exit code 1).

    \b
    Example:
      metaeval store compact --store shared/scores.sqlite
    """
    from metaeval import groups

    broken = False
    for store in groups.stores(replies, **given.settings):
        done = store.compact()
        if done.saved:
            broken = True
            say(f"{store.path}: its structure is broken; what could be read is in {done.saved}: move it in place.")
            continue
        sizes = f"{done.before / 1e6:.1f} MB before, {done.after / 1e6:.1f} MB now"
        say(f"{store.path}: {done.removed:,} damaged {store.table} deleted; {sizes}")
    if broken:
        raise typer.Exit(1)
