"""Commands about what runs leave behind: jobs (results, view), and stored scores and replies (store)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import say, show_records
from metaeval.cli.progress import scoring_progress

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
