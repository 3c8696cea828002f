"""Commands about jobs that are done: list, show, rm."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from metaeval.cli import options as opt
from metaeval.cli.output import say, show_records

app = opt.group("Jobs that are done: list, show, rm.", "metaeval results show latest")

Job = Annotated[
    str, Argument(help="Job as 'results list' names it, the beginning of its name, or latest.", metavar="JOB")
]


@app.command("list")
@opt.takes("results")
def list_jobs(given: opt.Given) -> None:
    """List the jobs of a results folder, the newest first.

    \b
    Examples:
      metaeval results list
      metaeval results list --results elsewhere
    """
    from metaeval.groups import results

    folder = given.run().results
    if rows := results.list(folder):
        show_records(rows, finished="finished (UTC)")
    else:
        say(f"No job in {folder}/: metaeval run makes one.")


@app.command("show")
@opt.takes("results")
def show(given: opt.Given, job: Job = "latest") -> None:
    """Print the tables of a job.

    \b
    Examples:
      metaeval results show
      metaeval results show mini-all-chunk
    """
    from metaeval.groups import results

    for line in results.show(job, given.run().results).splitlines():
        say(line)


@app.command("rm")
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
    from metaeval.groups import results

    for folder, count in results.rm(*jobs, results=given.run().results).items():
        say(f"Deleted: {folder}/ ({count} files)")
