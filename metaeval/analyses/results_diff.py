"""Differences of two signatures, two result files or two jobs."""

from __future__ import annotations

from typing import Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.config import ResultsSettings
from metaeval.declared import Flag


class DiffOptions(ResultsSettings, DeclaredOptions):
    """Options of `results diff`."""

    first: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """Signature (in quotes), result file, or hash of a job."""
    second: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """The other signature, file or job, of the same kind."""
    metric: Annotated[str | None, Flag("METRIC", "-m")] = None
    """Compare this row only."""


def _run(options: DiffOptions, progress: Progress) -> Done:
    from metaeval.analyses.explaining.differences import difference_lines, differences
    from metaeval.analyses.explaining.signature_fields import is_file
    from metaeval.analyses.explaining.signature_sources import folder_of
    from metaeval.report.notebook import Changes
    from metaeval.report.result_differences import missing
    from metaeval.runs.job_folder import altered_files

    changes_by_file, alone = differences(options.first, options.second, options.metric, options.results)
    changes = Changes()
    lines: list[str] = []
    for job, other, names in zip((options.first, options.second), (False, True), alone, strict=True):
        lines += [f"{name}: only in {job}" for name in names]
        changes.update({name: missing("file", not other, other) for name in names})
    for name, rows in changes_by_file.items():
        lines += [*([f"{name}:"] if name else []), *difference_lines(rows, bool(name) or is_file(options.first))]
        changes.update({f"{row} ({name})" if name else row: changed for row, changed in rows.items()})
    folders = [folder for name in (options.first, options.second) for folder in folder_of(name, options.results)]
    warnings = [sentence for folder in dict.fromkeys(folders) for sentence in altered_files(folder)]
    return Done(warnings=warnings, shown=lines, value=changes, exit_code=1 if any(changes.values()) else 0)


DIFF = Analysis(
    name="results diff",
    summary="Compare two signatures, two result files, or two jobs.",
    about="""Rows of the same name in two files are compared by their choices and their numbers, and so are the files of
one name in two jobs. The exit code is 0 without differences, 1 with differences, and 2 for unreadable files.""",
    examples=[
        "results diff 'data:mini/all@6e...|unit:chunk|...' 'data:mini/all@6e...|unit:citation|...'",
        "results diff old/retrieval.json new/retrieval.json",
        "results diff old/retrieval.json new/retrieval.json --metric overlap",
        "results diff a8c8aa6f 1f03d2c4           (the hashes of two jobs)",
    ],
    options=DiffOptions,
    run=_run,
)
