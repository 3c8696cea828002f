"""The jobs of a results folder: listed, shown and deleted."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import InstanceOf

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.analyses.results_export import Labels
from metaeval.core import registry
from metaeval.core.config import ResultsSettings, RunConfig
from metaeval.core.declared import Flag
from metaeval.core.errors import Shown, UserError
from metaeval.report.result import Result

if TYPE_CHECKING:
    from metaeval.runs.job import DoneJob


class ResultsListOptions(DeclaredOptions):
    """Options of `results list`."""

    results: Annotated[Path, Flag("FOLDER")] = Path("results")
    """Folder for results (default: results)."""


def _list(options: ResultsListOptions, progress: Progress) -> Done:
    from metaeval.report.table import Table
    from metaeval.runs.job import done_jobs

    rows = []
    for job in done_jobs(options.results):
        name = job.command.replace(" ", ".")
        takes = registry.find("analysis", name).options.model_fields if name in registry.names("analysis") else {}
        # A job's metrics are its own, or the settings' defaults of a command without metrics.
        scored = tuple(job.metrics) != RunConfig().metrics or not takes or {"metrics", "metric"} & takes.keys()
        gone = sum(not (job.folder / name).is_file() for name in job.files)
        rows.append(
            {
                "job": job.name,
                "command": job.command,
                "metrics": ", ".join(job.metrics if scored else ()),
                "files": f"{len(job.files)}, {gone} gone" if gone else str(len(job.files)),
                "finished": f"{job.finished[:16]}Z",
            }
        )
    none = [f"No job in {options.results}/: metaeval run makes one."]
    return Done(value=Table(records=rows), verdict=[] if rows else none)


LIST = Analysis(
    name="results list",
    summary="List the jobs of a results folder, the newest first.",
    returns="Table: A row for each job.",
    examples=["results list", "results list --results elsewhere"],
    options=ResultsListOptions,
    run=_list,
)


class ResultsShowOptions(ResultsSettings, DeclaredOptions):
    """Options of `results show`."""

    untyped = frozenset({"controls"})

    job: Annotated[InstanceOf[Result] | FileOrName, Flag("FILE|JOB", argument=True)] = "latest"
    """Result file, or job: latest, a name of 'results list', its beginning, its hash (in Python also a result)."""
    format: Annotated[Literal["terminal", "markdown", "latex", "csv"], Flag("FORMAT", "-f")] = "terminal"
    """Format: terminal, markdown, latex or csv."""
    controls: Annotated[bool, Flag()] = False
    """LaTeX: with the controls too."""
    labels: Labels = {}  # noqa: RUF012
    """Text in place of the name of a metric or a data set, as in overlap='word overlap'. Repeatable."""


def _show(options: ResultsShowOptions, progress: Progress) -> Done:
    from metaeval.report.notebook import NotebookText
    from metaeval.report.result import load_result
    from metaeval.report.result_tables import lay_out
    from metaeval.report.table_files import printed, table_text, tables_in
    from metaeval.runs.job import altered_files, find_job

    warnings: list[str] = []
    named, form = options.job, "text" if options.format == "terminal" else options.format
    most = 1 if form == "csv" else None  # the first has every value
    if isinstance(named, Result):
        tables = [lay_out(named)]
    elif Path(named).is_file() or named.endswith(".json"):
        tables = tables_in(Path(named))[:most] or [lay_out(load_result(Path(named)))]
    else:
        job = find_job(options.results, named)
        # What is printed is compared with what was written; the pairs, which may be many, are not read for it.
        files, warnings = [job.folder / name for name in job.files], altered_files(job.folder, (".json",))
        if form == "text":
            head = f"{job.name}: metaeval {job.command}, {job.finished}"
            shown = printed(files, options.labels).values()
            parts = [head, *map(str.rstrip, shown), "\n".join(_provenance(job.folder))]
            text = NotebookText("\n\n".join(parts) + f"\nFiles: {job.folder}/")
            return Done(value=text, warnings=warnings)
        tables = [table for path in files for table in tables_in(path)[:most]]
        if not tables:
            raise UserError(f"{job.name} holds no table that can be written as {form}: choose another job.")
    text = NotebookText("\n".join(table_text(table, form, options.controls, options.labels) for table in tables))
    return Done(shown=tables if form == "text" else text, whole=True, value=text, warnings=warnings)


def _provenance(folder: Path) -> list[str]:
    """Return lines with what the manifest says of how a job was made: command, settings, data and versions."""
    from metaeval.analyses.analysis_job import RECIPE, changed_files
    from metaeval.analyses.command_words import command_of
    from metaeval.runs.job import lost_objects, read_manifest

    noted = read_manifest(folder)
    recipe, lost = noted.get(RECIPE), lost_objects(noted)
    lines = [f"No command repeats this job, because {lost}." if lost else "The manifest records no command."]
    if isinstance(recipe, dict) and not lost:
        try:
            lines = [f"Command: {shlex.join(['metaeval', *command_of(recipe)])}"]
        except UserError as error:  # a command of another version, or of a package that is not installed here
            lines = [f"No command repeats this job: {error}"]
        lines += [f"{name} is missing or has changed." for name in changed_files(recipe)]
    analysis = noted.get("analysis")
    known = {
        "Settings": analysis.get("settings") if isinstance(analysis, dict) else None,
        "Data": noted.get("data"),
        "Versions": noted.get("versions"),
    }
    for label, values in known.items():
        if isinstance(values, dict) and values:
            lines.append(f"{label}: {', '.join(f'{name} {value}' for name, value in values.items())}")
    return [str(Shown(line)) for line in lines]


SHOW = Analysis(
    name="results show",
    summary="Print a job's tables and what made them, or a result file.",
    returns="str: The tables as text.",
    examples=[
        "results show",
        "results show mini-all-chunk",
        "results show results/latest/classification.json",
        "results show results/latest/retrieval.json --format latex > retrieval.tex",
    ],
    options=ResultsShowOptions,
    run=_show,
)


def remove_job(results: Path, job: DoneJob) -> int:
    """Delete a job's folder, and return the number of deleted files.

    Raises `UserError`, and deletes nothing, where the folder holds a file that no manifest lists, or one that changed,
    unless it is what a killed run left of a file; and one that says what is left where a file cannot be deleted.
    """
    from metaeval.core.files import UNFINISHED
    from metaeval.runs.job import LATEST, NAME, Kept, check, listed_files, read_manifest, written_files

    # Manifests are deleted last: what is left of a job is still found as a job.
    inside = sorted(job.folder.rglob("*"), key=lambda path: (path.name == NAME, path))
    folders = [path for path in reversed(inside) if path.is_dir() and not path.is_symlink()]
    files = [path for path in inside if path not in folders]
    manifests = [path for path in files if path.name == NAME]
    # A killed run leaves .NAME.RANDOM.unfinished, where NAME is a file of the job or an export of one.
    listed = [name for path in manifests for name in listed_files(read_manifest(path.parent))]
    stems = "|".join(re.escape(Path(name).stem) for name in (NAME, *listed))
    unfinished = re.compile(rf"\.({stems})\.\w+\.\w+{re.escape(UNFINISHED)}")
    unchanged = {path for path in written_files(job.folder) if path.name == NAME or check(path) is Kept.SAME}
    strange = {
        path.relative_to(job.folder).as_posix()
        for path in {*files}.difference(manifests, unchanged)
        if not unfinished.fullmatch(path.name)
    }
    if strange:
        raise UserError(f"{job.folder} holds {min(strange)}, which is not as the job wrote it: nothing was deleted.")
    pointer = results / LATEST
    try:
        for path in files:
            path.unlink()
        for folder in (*folders, job.folder):
            folder.rmdir()
        if pointer.is_symlink() and not pointer.exists():
            pointer.unlink()
    except OSError as error:
        left = [path.relative_to(job.folder).as_posix() for path in files if os.path.lexists(path)]
        named = f" ({', '.join([*left[:3], *(['...'] if left[3:] else [])])})" if left else ""
        raise UserError(
            f"Cannot delete {error.filename or job.folder}: {error.strerror or error}. {len(left)} of {len(files)} "
            f"files of {job.folder} are left{named}: type the same command again once they can be deleted."
        ) from error
    return len(files)


class ResultsRmOptions(ResultsSettings, DeclaredOptions):
    """Options of `results rm`."""

    jobs: Annotated[tuple[FileOrName, ...], Flag("JOB...", multiple=True, argument=True, required=True)] = ()
    """Jobs to delete, as 'results list' names them."""


def _rm(options: ResultsRmOptions, progress: Progress) -> Done:
    from metaeval.runs.job import find_job

    jobs = [find_job(options.results, name) for name in options.jobs]
    deleted = {job.folder: remove_job(options.results, job) for job in {job.name: job for job in jobs}.values()}
    return Done(shown=[f"Deleted: {folder}/ ({count} files)" for folder, count in deleted.items()], value=deleted)


RM = Analysis(
    name="results rm",
    summary="Delete the files of jobs; scores stay in the store.",
    about="A folder that holds a file which the job did not write is left as it is.",
    returns="dict of Path to int: Number of deleted files by folder.",
    examples=["results rm latest", "results rm mini-all-chunk-1a2b3c4d"],
    options=ResultsRmOptions,
    run=_rm,
)
