"""What two signatures, two result files or two jobs differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, FileOrName
from metaeval.config import ResultsSettings
from metaeval.declared import Flag

if TYPE_CHECKING:
    from metaeval.report.differences import Change
    from metaeval.runs.metrics import MetricProgress


class DiffOptions(ResultsSettings, DeclaredOptions):
    """Options of `results diff`."""

    first: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """Signature (in quotes), result file, or hash of a job."""
    second: Annotated[FileOrName, Flag("SIGNATURE|RESULT|HASH", argument=True)]
    """What it is compared with, of the same kind."""
    metric: Annotated[str | None, Flag("METRIC", "-m")] = None
    """Compare this row only."""


def _run(options: DiffOptions, progress: MetricProgress | None) -> Done:
    from metaeval.analyses.explaining.explain import is_file
    from metaeval.analyses.explaining.job_files import differences
    from metaeval.report.differences import missing
    from metaeval.report.notebook import Changes

    found, alone = differences(options.first, options.second, options.metric, options.results)
    changes = Changes()
    lines: list[str] = []
    for job, other, names in zip((options.first, options.second), (False, True), alone, strict=True):
        lines += [f"{name}: only in {job}" for name in names]
        changes.update({name: missing("file", not other, other) for name in names})
    for name, rows in found.items():
        lines += [*([f"{name}:"] if name else []), *_lines(rows, bool(name) or is_file(options.first))]
        changes.update({f"{row} ({name})" if name else row: changed for row, changed in rows.items()})
    return Done(shown=lines, value=changes, exit_code=1 if any(changes.values()) else 0)


def _lines(found: Mapping[str, Sequence[Change]], of_file: bool) -> list[str]:
    """What two signatures or files differ in."""
    from metaeval.analyses.explaining.job_files import APART, NUMBERS

    if not any(found.values()):
        rows = f", and every number of {len(found)} {'row' if len(found) == 1 else 'rows'}" if of_file else ""
        if NUMBERS in found:
            rows = ", and every number of the sheet"
        return [f"The same in every choice{rows}."]
    # Fields that all rows of several have changed alike are said once. The numbers of a sheet are no row.
    changed = [changes for name, changes in found.items() if name not in APART]
    fields = [change for change in changed[0] if change.kind == "field"] if len(changed) > 1 else []
    everywhere = [change for change in fields if all(change in changes for changes in changed)]
    own = {name: [change for change in changes if change not in everywhere] for name, changes in found.items()}
    shown = [(name, changes) for name, changes in [("all rows", everywhere), *own.items()] if changes]
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
    about="""In files (sheets too), rows of the same name are compared: their choices and their numbers; of jobs, the
files of one name. Exit code 0: no difference, 1: differences, 2: not readable.""",
    examples=[
        "results diff 'data:mini/all@6e...|unit:chunk|...' 'data:mini/all@6e...|unit:citation|...'",
        "results diff old/retrieval.json new/retrieval.json",
        "results diff old/retrieval.json new/retrieval.json --metric overlap",
        "results diff a8c8aa6f 1f03d2c4           (the hashes of two jobs)",
    ],
    options=DiffOptions,
    run=_run,
)
