"""Further formats of the tables and rows of a completed job, made from its JSON files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.core.config import ResultsSettings
from metaeval.core.declared import Flag, Names
from metaeval.core.errors import UserError

ALL = "all"


def _labels(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    pairs = [str(part).partition("=") for part in value]
    if wrong := [name for name, equals, text in pairs if not (name and equals and text)]:
        raise ValueError(f"{wrong[0]!r} is not NAME=TEXT: give --labels overlap='word overlap'.")
    return {name: text for name, _, text in pairs}


Labels = Annotated[dict[str, str], BeforeValidator(_labels), Flag("NAME=TEXT", multiple=True)]
"""What tables print in place of names of metrics and data sets."""


class ResultsExportOptions(ResultsSettings, DeclaredOptions):
    """Options of `results export`."""

    job: Annotated[FileOrName, Flag("JOB", argument=True)] = "latest"
    """Job: latest, a name of 'results list', its beginning, or its hash."""
    format: Annotated[Names, Flag("FORMAT,...", "-f")] = (ALL,)
    """Formats: text, markdown, latex, csv, or all."""
    output: Annotated[Path | None, Flag("FOLDER", "-o", output=True)] = None
    """Folder to write to (default: that of the job)."""
    labels: Labels = {}  # noqa: RUF012
    """Text in place of the name of a metric or a data set, as in overlap='word overlap'. Repeatable."""


def _run(options: ResultsExportOptions, progress: Progress) -> Done:
    from metaeval.report.table_files import FORMATS, check_format, format_texts
    from metaeval.runs.job import find_job, written_files

    named_formats = [name for name in options.format if name != ALL]
    for name in named_formats:
        check_format(name)
    formats = list(dict.fromkeys(named_formats)) if ALL not in options.format else list(FORMATS)
    if not formats:
        raise UserError(f"No format is given: give --format {','.join(FORMATS)}, or all.")
    job = find_job(options.results, options.job)
    folder = options.output or job.folder
    texts: dict[Path, str] = {}
    for path in written_files(job.folder):
        if not (path.suffix == ".jsonl" and path.stem.startswith("pairs")):
            stem = folder / path.relative_to(job.folder).with_suffix("")
            by_ending = format_texts(path, formats, options.labels)
            texts |= {stem.with_name(stem.name + end): text for end, text in by_ending.items()}
    if not texts:
        raise UserError(f"{job.name} holds no table that can be written as {', '.join(formats)}: choose another job.")
    kinds = ", ".join(dict.fromkeys(path.suffix for path in texts))
    return Done(
        outputs={folder: partial(_write, job.folder, texts)},
        shown=(),
        written=[f"Written: {folder}/ ({len(texts)} files: {kinds})"],
        value=list(texts),
    )


def _write(job: Path, texts: Mapping[Path, str], folder: Path) -> Sequence[Path]:
    """Write the texts to their paths; if `folder` is that of the job, list them in its manifests (where it has any)."""
    from metaeval.core.files import sha256_file, write_text, write_texts
    from metaeval.runs.job import NAME, read_manifest

    written = write_texts(texts)
    for path in written if folder == job else ():
        if content := {**read_manifest(path.parent)}:
            content["exported"] = {**content.get("exported", {}), path.name: sha256_file(path)}
            write_text(path.parent / NAME, json.dumps(content, indent=1, sort_keys=True) + "\n", update=True)
    return written


EXPORT = Analysis(
    name="results export",
    summary="Write a job's tables as text, Markdown, LaTeX and CSV.",
    about="""They are made from the JSON files of the job; nothing is scored or computed again. Rows of citation
pipelines (.jsonl) become CSV.""",
    returns="list of Path: The written files.",
    examples=[
        "results export",
        "results export run-5b1641e1 --format latex",
        "results export latest --format markdown,csv --output paper/tables",
    ],
    options=ResultsExportOptions,
    run=_run,
)
