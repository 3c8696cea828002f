"""Commands about how a number was made: explain, diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from metaeval.experiment.explaining.comparing import Change
    from metaeval.experiment.explaining.explain import Explained

_OF = Annotated[str, typer.Argument(help="Signature (in quotes), or result file.", metavar="SIGNATURE|RESULT")]


def explain(
    of: _OF,
    metric: Annotated[
        str | None, typer.Argument(help="Metric whose row of the file is explained.", metavar="[METRIC]")
    ] = None,
) -> None:
    """Explain a signature, and print the command that repeats it.

    Each field is shown with its meaning and the setting that changes it. A
    result file or sheet shows what all rows share, then what differs by row,
    and whether the file was changed since it was written.

    \b
    Examples:
      metaeval explain 'data:mini/all@6ebe8e46acd5|unit:chunk|...'
      metaeval explain results/mini-all-chunk/retrieval.json
      metaeval explain results/mini-all-chunk/retrieval.json overlap
    """
    from metaeval.errors import UserError
    from metaeval.experiment.explaining.explain import is_file, read_signature, read_source
    from metaeval.experiment.manifest import check

    if metric is not None and not is_file(of):
        raise UserError("A metric is named for a result file only; a signature has its own.")
    rows = {name: read_signature(text) for name, text in read_source(of, metric).signatures.items()}
    if not rows:
        raise UserError(f"{of} holds no signature: what its numbers depend on stands in it under 'settings'.")
    if is_file(of):
        typer.echo(f"{of}: {check(Path(of))}")
    first = next(iter(rows.values()))
    if len(rows) == 1:
        _spell(first)
        _again(first)
        return
    shared = {name: value for name, value in first.items() if all(row.get(name) == value for row in rows.values())}
    typer.echo("All rows:")
    _spell(shared, first)
    typer.echo("\nEach row's own:")
    _own(rows, shared)
    typer.echo("For the command that makes a row again, name its metric.")


def diff(
    one: _OF,
    other: _OF,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="Compare this row only.", metavar="METRIC")
    ] = None,
) -> None:
    """Compare two signatures, or two result files.

    In files (sheets too), rows of the same name are compared: their choices and
    their numbers. Exit code 0: no difference, 1: differences, 2: not readable.

    \b
    Examples:
      metaeval diff 'data:mini/all@6e...|unit:chunk|...' 'data:mini/all@6e...|unit:citation|...'
      metaeval diff old/retrieval.json new/retrieval.json
      metaeval diff old/retrieval.json new/retrieval.json --metric overlap
    """
    from metaeval.experiment.explaining.comparing import NUMBERS, compare
    from metaeval.experiment.explaining.explain import is_file

    found = compare(one, other, metric)
    if not any(found.values()):
        rows = f", and every number of {len(found)} {'row' if len(found) == 1 else 'rows'}" if is_file(one) else ""
        if NUMBERS in found:
            rows = ", and every number of the sheet"
        typer.echo(f"The same in every choice{rows}.")
        return
    everywhere = _everywhere(found)
    if everywhere:
        typer.echo("all rows")
        _changes(everywhere)
    for name, changes in found.items():
        own = [change for change in changes if change not in everywhere]
        if own:
            typer.echo(name or "signatures")
            _changes(own)
    raise typer.Exit(1)


def _everywhere(found: Mapping[str, Sequence[Change]]) -> list[Change]:
    """The fields that all rows of several have changed alike: said once. The numbers of a sheet are no row."""
    from metaeval.experiment.explaining.comparing import APART

    rows = [changes for name, changes in found.items() if name not in APART]
    if len(rows) < 2:
        return []
    return [change for change in rows[0] if change.kind == "field" and all(change in changes for changes in rows[1:])]


def _changes(changes: Sequence[Change]) -> None:
    from metaeval.cli.output import aligned

    rows = [
        (
            f"{change.name} ({change.kind})" if change.kind in ("interval", "cluster") else change.name,
            f"{_said(change.one)} -> {_said(change.other)}",
            change.text if change.by is None else f"by {change.by:+.6g}",
        )
        for change in changes
    ]
    for line in aligned(rows, indent="  "):
        typer.echo(line)


def _said(value: str | None) -> str:
    return "(none)" if value is None else value


def _spell(fields: Mapping[str, str], of: Mapping[str, str] | None = None) -> None:
    """Print fields; of: the signature that they are of, where it has others too."""
    from metaeval.cli.output import show_list

    rows = [row for found in _explained(fields, of) for row in _lines(found)]
    show_list(("field", "value", "what it says", "set by"), rows)


def _explained(fields: Mapping[str, str], of: Mapping[str, str] | None) -> list[Explained]:
    from metaeval.experiment.explaining.explain import explain as explain_fields

    return [found for found in explain_fields(of or fields) if found.name in fields]


def _lines(found: Explained) -> list[tuple[str, str, str, str]]:
    """A field's line; of one that holds several choices, a line for each below it."""
    value = "" if found.parts else found.value
    parts = [(f"  {part.name}", part.value, part.text, part.setting) for part in found.parts]
    return [(found.name, value, found.text, found.setting), *parts]


def _own(rows: Mapping[str, Mapping[str, str]], shared: Mapping[str, str]) -> None:
    from metaeval.cli.output import show_list

    lines = [
        (name, *line[:3])
        for name, fields in rows.items()
        for found in _explained({key: value for key, value in fields.items() if key not in shared}, fields)
        for line in _lines(found)
    ]
    show_list(("row", "field", "value", "what it says"), lines)


def _again(fields: Mapping[str, str]) -> None:
    import shlex

    from metaeval.experiment.explaining.recipe import recipe

    made = recipe(fields)
    typer.echo(f"\nThe number again:\n  {shlex.join(made.words)}")
    for caveat in made.caveats:
        typer.echo(f"  - {caveat}")
