"""Sources of explanations: the signatures, result files and tables that a job, a file or a text names."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isdir
from pathlib import Path

from metaeval.analyses.explaining.signature_fields import holds_signatures, is_file, read_signature, read_source
from metaeval.analyses.suites.suite_runs import recorded_result_files
from metaeval.errors import UserError, unknown
from metaeval.runs.job_folder import LATEST, NAME, done_jobs, find_job, is_hash


def sources_of(of: str, results: Path) -> list[str]:
    """Return the result files and tables that the user's text `of` names: those of a job, or one file or signature.

    A folder stands for the latest job in it; a table as text, CSV, Markdown or LaTeX for the file of its numbers;
    any other file of a job, such as its report, for the job. Raises `UserError` for a job without results and
    tables.
    """
    of = source_of_file(of)
    is_name = "|" not in of and (results / of / NAME).is_file()  # a signature can be longer than a path may be
    if not (is_job(of) or is_name):
        return [of]
    job = find_job(Path(of), LATEST) if isdir(of) else find_job(results, of)
    signed_files = [path for path in map(job.folder.joinpath, job.files) if holds_signatures(path)]
    paths = [str(path) for path in signed_files or recorded_result_files(job.folder) if holds_signatures(path)]
    if not paths:
        raise UserError(
            f"{job.folder} holds no result file and no table: choose another job (see 'metaeval results list')."
        )
    return paths


def jobs_with(signature: str, results: Path) -> list[Path]:
    """Return the folder of the latest job that holds this signature, in a list; empty where no job does."""
    wanted = read_signature(signature)
    for folder in dict.fromkeys(job.folder for job in done_jobs(results)):
        for path in sorted(folder.rglob("*.json")):
            if holds_signatures(path) and any(
                read_signature(text) == wanted for text in read_source(str(path)).signatures.values()
            ):
                return [path.parent]
    return []


def row_signatures(of: str, paths: Sequence[str], metric: str | None) -> dict[tuple[str, str], str]:
    """Return signatures by (file, row): of each row, or of one metric's rows; raises `UserError` if there is none.

    of: what the user named, for the message. paths: the files, or the signature, that it stands for.
    """
    if metric is not None and not is_file(paths[0]):
        raise UserError("METRIC selects a row of a result file, and a signature has no rows: leave METRIC out.")
    texts = {
        (path, name): text
        for path in paths
        for name, text in read_source(path, metric if len(paths) == 1 else None).signatures.items()
        if metric is None or name == metric
    }
    if not texts and metric is not None:
        raise unknown(f"row of {of}:", metric, {name for path in paths for name in read_source(path).signatures})
    if not texts:
        raise UserError(f"{of} holds no signature: see its field 'settings' for what its numbers depend on.")
    return texts


def unique_row_name(paths: Sequence[str], path: str, row: str) -> str:
    """Return the name of a row, with its file and job if `paths` has several, so that it is unique."""
    if len(paths) < 2:
        return row
    several = len({Path(name).parent for name in paths}) > 1
    return f"{row} ({Path(path).parent.name}/{Path(path).stem})" if several else f"{row} ({Path(path).stem})"


def folder_of(of: str, results: Path) -> list[Path]:
    """Return the folder of the job that a text names, or of the file, in a list; empty for a signature."""
    if is_job(of):
        return [(find_job(Path(of), LATEST) if isdir(of) else find_job(results, of)).folder]
    return [Path(of).parent] if is_file(of) else []


def is_job(of: str) -> bool:
    """Return whether a text is the hash of a job, `latest` or a folder, and not a file."""
    return (of == LATEST or is_hash(of) or isdir(of)) and not is_file(of)


def source_of_file(of: str) -> str:
    """Return the JSON file beside a table in another format, the folder of any other file of a job, else the text."""
    if not is_file(of) or of.endswith(".json"):
        return of
    numbers = Path(of).with_suffix(".json")
    if numbers.is_file() and holds_signatures(numbers):
        return str(numbers)
    return str(Path(of).parent) if (Path(of).parent / NAME).is_file() else of
