"""Commands about how a number was made: explain, diff."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import aligned, say, show_described

if TYPE_CHECKING:
    from metaeval.report.differences import Change

_OF = Annotated[
    str, Argument(help="Signature (in quotes), result file, or hash of a job.", metavar="SIGNATURE|RESULT|HASH")
]


@opt.takes("results")
def explain(
    given: opt.Given,
    of: _OF,
    metric: Annotated[
        str | None, Argument(help="Metric whose row of the file is explained.", metavar="[METRIC]")
    ] = None,
) -> None:
    """Explain a signature, and print the command that repeats it.

    Each field is shown with its meaning and the setting that changes it. A
    result file or sheet shows what all rows share, then what differs by row,
    and whether the file was changed since it was written. The hash of a job,
    with which its folder's name ends, stands for all its files; so does latest.

    \b
    Examples:
      metaeval explain 'data:mini/all@ac743a5d0949|unit:chunk|...'
      metaeval explain results/latest/retrieval.json
      metaeval explain results/latest/retrieval.json overlap
      metaeval explain 5b1641e1 overlap
      metaeval explain latest
    """
    from metaeval.experiment.explaining.explain import is_file, read_signature
    from metaeval.experiment.explaining.job_files import row_signatures, sources_of, titled
    from metaeval.experiment.job_folder import check

    paths = sources_of(of, given.run().results)
    texts = row_signatures(of, paths, metric)
    rows = {titled(paths, path, name): _leaves(read_signature(text)) for (path, name), text in texts.items()}
    # Of a table's other file too, which may have been changed while its numbers were not.
    kept = {path: str(check(Path(path))) for path in dict.fromkeys([*paths, of]) if is_file(path)}
    for line in dict.fromkeys(kept.values()):
        same = [path for path in kept if kept[path] == line]
        say(f"{', '.join(same)}: {line if len(same) == 1 else line.replace('the file', 'each file', 1)}")
    first = next(iter(rows.values()))
    shared = {name: leaf for name, leaf in first.items() if all(row.get(name) == leaf for row in rows.values())}
    if len(rows) > 1:
        say("All rows:")
    show_described(_OF_FIELDS, list(shared.values()))
    if len(paths) > 1 and metric is None:
        names = ", ".join(dict.fromkeys(name for _, name in texts))
        say(f"For what a row has of its own, and its command, name it: metaeval explain {of} ROW ({names}).")
        return
    if len(rows) > 1:
        _say_own({name: [leaf for key, leaf in row.items() if key not in shared] for name, row in rows.items()})
    if len(rows) > 1 and metric is None:
        say("For the command that makes a row again, name its metric.")
        return
    _say_recipes([read_signature(text) for text in texts.values()])


_OF_FIELDS = ("field", "value", "what it says", "set by")

Leaf = tuple[str, str, str, str]


def _leaves(fields: Mapping[str, str]) -> dict[str, Leaf]:
    """The lines of a signature: field, value, what it says, setting; of a field with several choices one for each."""
    from metaeval.experiment.explaining.explain import explain as explain_fields

    found: dict[str, Leaf] = {}
    for one in explain_fields(fields):
        found[one.name] = (one.name, "" if one.parts else one.value, one.text, one.setting)
        for part in one.parts:
            found[f"{one.name}.{part.name}"] = (f"  {part.name}", part.value, part.text, part.setting)
    return found


def _say_own(own: Mapping[str, Sequence[Leaf]]) -> None:
    """What rows have of their own: each field's words once, then a line a row."""
    lines = [leaf for leaves in own.values() for leaf in leaves]
    fields = {name.strip(): (name.strip(), "", text, setting) for name, _, text, setting in lines}
    say("")
    say("Each row's own:")
    show_described(_OF_FIELDS, list(fields.values()))
    say("")
    values = {row: "  ".join(f"{name.strip()}:{value}" for name, value, *_ in found) for row, found in own.items()}
    for field in fields:
        named = [row for row in values if values[row] == f"{field}:{row}"]
        if len(named) > 1:
            values[", ".join(named)] = f"{field} of this name"
            values = {row: value for row, value in values.items() if row not in named}
    for row, value in values.items():
        say(f"{row}: {value}")


def _say_recipes(rows: Sequence[Mapping[str, str]]) -> None:
    """The commands that repeat these rows, and what they cannot promise."""
    from metaeval.experiment.explaining.recipe import recipe

    made = [recipe(fields) for fields in rows]
    say("")
    say("The number again:" if len(made) == 1 else "The numbers again:")
    for one in made:
        say(f"  {shlex.join(one.words)}")
    for caveat in dict.fromkeys(caveat for one in made for caveat in one.caveats):
        say(f"  - {caveat}")


@opt.takes("results")
def diff(
    given: opt.Given,
    one: _OF,
    other: _OF,
    metric: Annotated[str | None, Option("--metric", "-m", help="Compare this row only.", metavar="METRIC")] = None,
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
    from metaeval.experiment.explaining.job_files import differences

    found, alone = differences(one, other, metric, given.run().results)
    for job, names in zip((one, other), alone, strict=True):
        for name in names:
            say(f"{name}: only in {job}")
    changed = any(alone)
    for name, changes in found.items():
        if name:
            say(f"{name}:")
        changed = _say_changes(changes, bool(name) or is_file(one)) or changed
    if changed:
        raise typer.Exit(1)


def _say_changes(found: Mapping[str, Sequence[Change]], of_file: bool) -> bool:
    """Print what two signatures or files differ in; whether they do."""
    from metaeval.experiment.explaining.job_files import APART, NUMBERS

    if not any(found.values()):
        rows = f", and every number of {len(found)} {'row' if len(found) == 1 else 'rows'}" if of_file else ""
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
