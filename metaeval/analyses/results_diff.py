"""Differences of two signatures, two result files or two jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName, Progress
from metaeval.config import ResultsSettings
from metaeval.declared import Flag

if TYPE_CHECKING:
    from metaeval.report.differences import Change


class DiffOptions(ResultsSettings, DeclaredOptions):
    """Options of `results diff`."""

    first: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """Signature (in quotes), result file, or hash of a job."""
    second: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """The other signature, file or job, of the same kind."""
    metric: Annotated[str | None, Flag("METRIC", "-m")] = None
    """Compare this row only."""


def _run(options: DiffOptions, progress: Progress) -> Done:
    from metaeval.analyses.explaining.explain import is_file
    from metaeval.analyses.explaining.job_files import differences
    from metaeval.report.differences import missing
    from metaeval.report.notebook import Changes

    changes_by_file, alone = differences(options.first, options.second, options.metric, options.results)
    changes = Changes()
    lines: list[str] = []
    for job, other, names in zip((options.first, options.second), (False, True), alone, strict=True):
        lines += [f"{name}: only in {job}" for name in names]
        changes.update({name: missing("file", not other, other) for name in names})
    for name, rows in changes_by_file.items():
        lines += [*([f"{name}:"] if name else []), *_lines(rows, bool(name) or is_file(options.first))]
        changes.update({f"{row} ({name})" if name else row: changed for row, changed in rows.items()})
    return Done(shown=lines, value=changes, exit_code=1 if any(changes.values()) else 0)


def _lines(rows: Mapping[str, Sequence[Change]], of_file: bool) -> list[str]:
    from metaeval.analyses.explaining.job_files import APART, NUMBERS
    from metaeval.report.table import count

    if not any(rows.values()):
        numbers = "the sheet" if NUMBERS in rows else count(len(rows), "row")
        return [f"The same in every choice{f', and every number of {numbers}' if of_file or NUMBERS in rows else ''}."]
    # A difference that all of several rows share is shown once. `APART` are not rows.
    changed = [changes for name, changes in rows.items() if name not in APART]
    fields = [change for change in changed[0] if change.kind == "field"] if len(changed) > 1 else []
    everywhere = [change for change in fields if all(change in changes for changes in changed)]
    row_changes = {name: [change for change in changes if change not in everywhere] for name, changes in rows.items()}
    shown = [(name, changes) for name, changes in [("all rows", everywhere), *row_changes.items()] if changes]
    return [line for name, changes in shown for line in (name or "signatures", *_table(changes))]


def _table(changes: Sequence[Change]) -> list[str]:
    from metaeval.report.terminal import aligned

    rows = []
    for change in changes:
        name = f"{change.name} ({change.kind})" if change.kind in ("interval", "cluster") else change.name
        first, second = ("(none)" if value is None else value for value in (change.first, change.second))
        rows.append((name, f"{first} -> {second}", change.text if change.by is None else f"by {change.by:+.6g}"))
    return aligned(rows, indent="  ")


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
