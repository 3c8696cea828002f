"""Commands about how a number was made: explain, diff."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metaeval.cli import options as opt
from metaeval.cli.output import aligned, say, show_list
from metaeval.errors import UserError, unknown

if TYPE_CHECKING:
    from metaeval.report.differences import Change

_OF = Annotated[str, typer.Argument(help="Signature (in quotes), or result file.", metavar="SIGNATURE|RESULT")]


@opt.takes("results")
def explain(
    given: opt.Given,
    of: Annotated[
        str,
        typer.Argument(help="Signature (in quotes), result file, or hash of a job.", metavar="SIGNATURE|RESULT|HASH"),
    ],
    metric: Annotated[
        str | None, typer.Argument(help="Metric whose row of the file is explained.", metavar="[METRIC]")
    ] = None,
) -> None:
    """Explain a signature, and print the command that repeats it.

    Each field is shown with its meaning and the setting that changes it. A
    result file or sheet shows what all rows share, then what differs by row,
    and whether the file was changed since it was written. The hash of a job,
    with which its folder's name ends, stands for all its files.

    \b
    Examples:
      metaeval explain 'data:mini/all@ac743a5d0949|unit:chunk|...'
      metaeval explain results/latest/retrieval.json
      metaeval explain results/latest/retrieval.json overlap
      metaeval explain 5b1641e1 overlap
    """
    from metaeval.experiment.explaining.explain import is_file, read_signature
    from metaeval.experiment.job_folder import is_hash
    from metaeval.experiment.manifest import check

    paths = _files_of_job(given, of) if is_hash(of) and not is_file(of) else [of]
    if metric is not None and not is_file(paths[0]):
        raise UserError("A metric is named for a result file only; a signature has its own.")
    texts = _signatures(of, paths, metric)
    several = len(paths) > 1
    folders = len({Path(path).parent for path in paths}) > 1
    rows = {
        f"{name} ({_file(path, folders)})" if several else name: read_signature(text)
        for (path, name), text in texts.items()
    }
    for path in paths:
        if is_file(path):
            say(f"{path}: {check(Path(path))}")
    first = next(iter(rows.values()))
    shared = {name: value for name, value in first.items() if all(row.get(name) == value for row in rows.values())}
    if len(rows) > 1:
        say("All rows:")
    show_list(("field", "value", "what it says", "set by"), _lines(first, shared), fit=False)
    if several and metric is None:
        names = ", ".join(dict.fromkeys(name for _, name in texts))
        say(f"For what a row has of its own, and its command, name it: metaeval explain {of} ROW ({names}).")
        return
    if len(rows) > 1:
        say("")
        say("Each row's own:")
        own = {name: _lines(fields, fields.keys() - shared.keys()) for name, fields in rows.items()}
        lines = [(name, *line[:3]) for name, found in own.items() for line in found]
        show_list(("row", "field", "value", "what it says"), lines, fit=False)
    if len(rows) > 1 and metric is None:
        say("For the command that makes a row again, name its metric.")
        return
    _say_recipes(rows.values())


def _signatures(of: str, paths: Sequence[str], metric: str | None) -> dict[tuple[str, str], str]:
    """The signatures of all rows, or of the metric's alone, by file and row; `UserError` where there is none."""
    from metaeval.experiment.explaining.explain import read_source

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


def _say_recipes(rows: Collection[Mapping[str, str]]) -> None:
    """The commands that repeat these rows, and what they cannot promise."""
    from metaeval.experiment.explaining.recipe import recipe

    made = [recipe(fields) for fields in rows]
    say("")
    say("The number again:" if len(made) == 1 else "The numbers again:")
    for one in made:
        say(f"  {shlex.join(one.words)}")
    for caveat in dict.fromkeys(caveat for one in made for caveat in one.caveats):
        say(f"  - {caveat}")


def _file(path: str, folders: bool) -> str:
    """What a file is called beside others; folders: those of several jobs."""
    return f"{Path(path).parent.name}/{Path(path).stem}" if folders else Path(path).stem


def _files_of_job(given: opt.Given, hash_of_job: str) -> list[str]:
    """The result files and sheets of a job."""
    from metaeval.experiment.explaining.explain import holds_signatures
    from metaeval.experiment.job_folder import find_job
    from metaeval.experiment.suites.suite import recorded

    job = find_job(given.run().results, hash_of_job)
    own = [path for path in map(job.folder.joinpath, job.files) if holds_signatures(path)]
    found = [str(path) for path in own or recorded(job.folder) if holds_signatures(path)]
    if not found:
        raise UserError(f"{job.folder} holds no result file and no sheet.")
    return found


def _lines(fields: Mapping[str, str], wanted: Collection[str]) -> list[tuple[str, str, str, str]]:
    """The lines of wanted fields; of one that holds several choices, a line for each below it."""
    from metaeval.experiment.explaining.explain import explain as explain_fields

    lines = []
    for found in explain_fields(fields):
        if found.name in wanted:
            lines.append((found.name, "" if found.parts else found.value, found.text, found.setting))
            lines += [(f"  {part.name}", part.value, part.text, part.setting) for part in found.parts]
    return lines


@opt.takes("results")
def diff(
    given: opt.Given,
    one: _OF,
    other: _OF,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="Compare this row only.", metavar="METRIC")
    ] = None,
) -> None:
    """Compare two signatures, two result files, or two jobs.

    In files (sheets too), rows of the same name are compared: their choices and
    their numbers; of jobs, the files of one name. Exit code 0: no difference,
    1: differences, 2: not readable.

    \b
    Examples:
      metaeval diff 'data:mini/all@6e...|unit:chunk|...' 'data:mini/all@6e...|unit:citation|...'
      metaeval diff old/retrieval.json new/retrieval.json
      metaeval diff old/retrieval.json new/retrieval.json --metric overlap
      metaeval diff a8c8aa6f 1f03d2c4           (the hashes of two jobs)
    """
    from metaeval.experiment.explaining.explain import is_file
    from metaeval.experiment.job_folder import is_hash

    if not all(is_hash(job) and not is_file(job) for job in (one, other)):
        changed = _diff(one, other, metric)
    else:
        files = [_by_name(_files_of_job(given, job)) for job in (one, other)]
        shared = [name for name in files[0] if name in files[1]]
        for number, own in enumerate(files):
            for name in (name for name in own if name not in shared):
                say(f"{name}: only in {(one, other)[number]}")
        if not shared:
            raise UserError(f"The jobs {one} and {other} have no result file of one name: there is nothing to compare.")
        changed = len(shared) < max(map(len, files))
        for name in shared:
            say(f"{name.removesuffix('.json')}:")
            changed = _diff(files[0][name], files[1][name], metric) or changed
    if changed:
        raise typer.Exit(1)


def _by_name(paths: Sequence[str]) -> dict[str, str]:
    """The files of a job by name, in several folders with that of the folder, but for its hash."""
    several = len({Path(path).parent for path in paths}) > 1
    return {
        f"{Path(path).parent.name.rpartition('-')[0]}/{Path(path).name}" if several else Path(path).name: path
        for path in paths
    }


def _diff(one: str, other: str, metric: str | None) -> bool:
    """Print what two signatures or files differ in; whether they do."""
    from metaeval.experiment.explaining.comparing import APART, NUMBERS, compare
    from metaeval.experiment.explaining.explain import is_file

    found = compare(one, other, metric)
    if not any(found.values()):
        rows = f", and every number of {len(found)} {'row' if len(found) == 1 else 'rows'}" if is_file(one) else ""
        if NUMBERS in found:
            rows = ", and every number of the sheet"
        say(f"The same in every choice{rows}.")
        return False
    # Fields that all rows of several have changed alike are said once. The numbers of a sheet are no row.
    changed = [changes for name, changes in found.items() if name not in APART]
    fields = [change for change in changed[0] if change.kind == "field"] if len(changed) > 1 else []
    everywhere = [change for change in fields if all(change in changes for changes in changed)]
    own = {name: [change for change in changes if change not in everywhere] for name, changes in found.items()}
    for name, changes in [("all rows", everywhere), *own.items()]:
        if changes:
            say(name or "signatures")
            _show(changes)
    return True


def _show(changes: Sequence[Change]) -> None:
    rows = []
    for change in changes:
        name = f"{change.name} ({change.kind})" if change.kind in ("interval", "cluster") else change.name
        one, other = ("(none)" if value is None else value for value in (change.one, change.other))
        rows.append((name, f"{one} -> {other}", change.text if change.by is None else f"by {change.by:+.6g}"))
    for line in aligned(rows, indent="  "):
        say(line)
