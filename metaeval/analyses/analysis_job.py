"""The job of an analysis: its folder, its files, and the recipe with which it can be rerun."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import Any

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done
from metaeval.core.config import RunConfig
from metaeval.core.declared import flag_of
from metaeval.core.errors import Shown, UserError
from metaeval.core.files import sha256_file
from metaeval.report.result import Result, save_result
from metaeval.report.table_files import write_page, write_table
from metaeval.runs.evaluate import EvaluatedRun
from metaeval.runs.job import PAIRS, Command, close_job, job_folder, write_pairs, write_run
from metaeval.runs.metrics import FILE_PREFIX

RECIPE = "recipe"
"""The field of a manifest that holds the recipe."""


@dataclass(frozen=True)
class WrittenJob:
    """The files that were written for a job.

    folder: None if the output makes no job. failed: sentences about figures that could not be written. contents: text
    about the files of a job that `Done.job` wrote and described; `files` is empty then.
    """

    folder: Path | None
    files: list[Path]
    failed: list[str]
    contents: str = ""


def write_job(
    analysis: Analysis, options: DeclaredOptions, done: Done, recipe: Mapping[str, Any] | None = None
) -> WrittenJob:
    """Write the files that the user named, and the job, if any. recipe: the manifest's (None: made from `options`)."""
    for path, write_output in done.outputs.items():
        write_output(path)
    noted = {RECIPE: recipe or recipe_of(analysis.name, done.rerun_with or options, done.read)}
    if done.job:
        folder_of_job, contents = done.job(noted)
        return WrittenJob(folder_of_job, [], [], contents)
    command = Command(analysis.name, options.own)
    folder = folder_of(analysis, command, done)
    files: list[Path] = []
    failed: list[str] = []
    if folder is None:
        return WrittenJob(None, files, failed)
    for sheet in done.sheets:
        files += write_table(sheet, folder)
    for write in done.files:
        try:
            files += write(folder)
        except UserError as error:  # an optional package is missing: all else is written
            failed.append(f"No figure: {error}")
    if done.panel:
        files.append(folder / PAIRS)
        write_pairs(done.panel.source, done.panel.columns, files[-1])
    files += write_page(f"metaeval {analysis.name}", files, folder)
    data = [*done.data] or [sheet.data for sheet in done.sheets]
    close_job(done.config, command, folder, data, files, noted)
    return WrittenJob(folder, files, failed)


def write_result(result: Result, folder: Path) -> list[Path]:
    """Write a result under the name of its protocol, and return its path in a list."""
    path = folder / f"{result.protocol}.json"
    save_result(result, path)
    return [path]


def write_evaluated(
    config: RunConfig, outcome: EvaluatedRun, command: str, more: Mapping[str, Any]
) -> tuple[Path, str]:
    """Write the job of a run; return its folder, and a text about its files. more: further fields of the manifest."""
    written = write_run(config, outcome, command, more)
    names = ", ".join(path.stem for path in written if path.suffix == ".json")
    rows = "" if outcome.source is None else "; pairs.jsonl"
    return written[0].parent, f"report.html; {names}: json{rows}"


def folder_of(analysis: Analysis, command: Command, done: Done) -> Path | None:
    """Return the job's folder, named after the first table's data, or else `Done.identity`; None without both."""
    if done.sheets:
        first = done.sheets[0]
        parts = [first.data.name, *([first.data.split, str(first.settings["unit"])] if done.panel else [])]
        signatures = [line for sheet in done.sheets for line in sheet.signatures]
    elif done.identity:
        parts, signatures = list(done.identity[0]), [Shown(text) for text in done.identity[1]]
    else:
        return None
    parent = done.config.results / (analysis.folder or analysis.name.replace(" ", "-"))
    return job_folder(parent, parts, signatures, command, done.panel.config if done.panel else done.config)


def recipe_of(analysis: str, options: DeclaredOptions, read: Iterable[Path] = ()) -> dict[str, Any]:
    """Return the recipe of an analysis: its name, the options given, and SHA-256 by path of the files they name.

    read: further files that were read. Options are recorded as they were given, not as they were resolved: whether
    metrics were named decides which metrics of a rated set are evaluated. `trust_config` is not recorded.
    """
    names = set(options.model_fields_set) - {"trust_config"}
    values = options.model_dump(mode="json", include=names)
    for name in names & type(options).model_fields.keys():  # options that a dump leaves out
        value = getattr(options, name)
        if type(options).model_fields[name].exclude and value is not None:
            values[name] = str(value)
    files = {str(path): sha256_file(path) for path in (*files_of(options), *read)}
    return {"analysis": analysis, "options": values, "files": files}


def files_of(options: DeclaredOptions) -> Iterator[Path]:
    """Yield the existing input files, score files too, that the given options and extra settings name."""
    fields = type(options).model_fields
    outputs = {"results", "store"} | {name for name, field in fields.items() if flag_of(field).output}
    for name in sorted(options.model_fields_set - outputs):
        value = getattr(options, name)
        if name not in fields and isinstance(value, str) and isfile(value):
            value = Path(value)
        for part in value if isinstance(value, tuple) else (value,):
            is_file_name = isinstance(part, str) and part.startswith(FILE_PREFIX)
            path = Path(part.removeprefix(FILE_PREFIX)) if is_file_name else part
            if isinstance(path, Path) and path.is_file():
                yield path


def changed_files(recipe: Mapping[str, Any]) -> list[str]:
    """Return the paths of the files of a recipe that are missing or have changed since it was recorded."""
    files = recipe.get("files", {}).items()
    return [name for name, known in files if not Path(name).is_file() or sha256_file(Path(name)) != known]
