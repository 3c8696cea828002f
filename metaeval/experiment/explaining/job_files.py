"""What is explained or compared: a signature, a result file, or all files of a job, by its hash or as the latest."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isdir
from pathlib import Path

from metaeval.errors import UserError, unknown
from metaeval.experiment.explaining.comparing import compare
from metaeval.experiment.explaining.explain import holds_signatures, is_file, is_sheet, read_source
from metaeval.experiment.job_folder import LATEST, find_job, is_hash
from metaeval.experiment.manifest import NAME
from metaeval.experiment.suites.suite import recorded
from metaeval.report.differences import Change
from metaeval.report.result import Result, load_result


def sources_of(of: str, results: Path) -> list[str]:
    """The result files and sheets of the job that is meant; what is given itself where none is.

    A folder stands for the latest job in it; a table as text, CSV, Markdown or LaTeX for the file of its numbers; and
    any other file of a job, such as its report, for the job.
    """
    of = _beside(of)
    if not _is_job(of):
        return [of]
    job = find_job(Path(of), LATEST) if isdir(of) else find_job(results, of)
    own = [path for path in map(job.folder.joinpath, job.files) if holds_signatures(path)]
    found = [str(path) for path in own or recorded(job.folder) if holds_signatures(path)]
    if not found:
        raise UserError(f"{job.folder} holds no result file and no sheet.")
    return found


def results_of(of: str, results: Path) -> list[Result]:
    """The result in a file, or those of a job; `UserError` for a job that has none."""
    path = Path(of)
    if path.is_file() or path.suffix == ".json":
        return [load_result(path)]
    folder = path if path.is_dir() else find_job(results, of).folder
    found = [one for one in sorted(folder.glob("*.json")) if holds_signatures(one) and not is_sheet(one)]
    if not found:
        raise UserError(f"{folder} holds no result file; its tables, if there are any: 'metaeval results show'.")
    return [load_result(one) for one in found]


def row_signatures(of: str, paths: Sequence[str], metric: str | None) -> dict[tuple[str, str], str]:
    """The signatures of all rows, or of the metric's alone, by file and row; `UserError` where there is none."""
    if metric is not None and not is_file(paths[0]):
        raise UserError("A metric is named for a result file only; a signature has its own.")
    texts = {
        (path, name): text
        for path in paths
        for name, text in read_source(path, metric if len(paths) == 1 else None).signatures.items()
        if metric is None or name == metric
    }
    if not texts and metric is not None:
        raise unknown(f"row of {of}:", metric, {name for path in paths for name in read_source(path).signatures})
    if not texts:
        raise UserError(f"{of} holds no signature: what its numbers depend on stands in it under 'settings'.")
    return texts


def titled(paths: Sequence[str], path: str, row: str) -> str:
    """What a row is called beside those of the other files: with the file's name, and that of its job if need be."""
    if len(paths) < 2:
        return row
    several = len({Path(one).parent for one in paths}) > 1
    return f"{row} ({Path(path).parent.name}/{Path(path).stem})" if several else f"{row} ({Path(path).stem})"


def differences(
    one: str, other: str, metric: str | None, results: Path
) -> tuple[dict[str, dict[str, list[Change]]], list[list[str]]]:
    """What two signatures or files differ in, or the files of one name of two jobs; and what each job has alone.

    The differences are those of `compare` by the file's name, "" where no jobs are compared.
    """
    one, other = _beside(one), _beside(other)
    others = [given for given in (one, other) if not _is_job(given)]
    if len(others) == 2:
        return {"": compare(one, other, metric)}, [[], []]
    if others:
        raise UserError(f"{others[0]!r} is no job, and a job is compared with a job: give the hashes of both.")
    files = [_by_name(sources_of(job, results)) for job in (one, other)]
    shared = [name for name in files[0] if name in files[1]]
    if not shared:
        raise UserError(f"The jobs {one} and {other} have no result file of one name: there is nothing to compare.")
    found = {name.removesuffix(".json"): compare(files[0][name], files[1][name], metric) for name in shared}
    return found, [[name for name in own if name not in shared] for own in files]


def _is_job(of: str) -> bool:
    return (of == LATEST or is_hash(of) or isdir(of)) and not is_file(of)


def _beside(of: str) -> str:
    """The file of the numbers, where a table's other file is named, or the folder where a job's; else what is given."""
    if not is_file(of) or of.endswith(".json"):
        return of
    numbers = Path(of).with_suffix(".json")
    if numbers.is_file() and holds_signatures(numbers):
        return str(numbers)
    return str(Path(of).parent) if (Path(of).parent / NAME).is_file() else of


def _by_name(paths: Sequence[str]) -> dict[str, str]:
    """The files of a job by name, in several folders with that of the folder, but for its hash."""
    several = len({Path(path).parent for path in paths}) > 1
    return {
        f"{Path(path).parent.name.rpartition('-')[0]}/{Path(path).name}" if several else Path(path).name: path
        for path in paths
    }
