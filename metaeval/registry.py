"""Names to things: metrics, data sets, protocols and pipelines are entry points, imported when they are asked for."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from metaeval.errors import UserError, unknown

Kind = Literal["metric", "dataset", "protocol", "pipeline"]
_GROUPS: dict[Kind, str] = {
    "metric": "metaeval.metrics",
    "dataset": "metaeval.datasets",
    "protocol": "metaeval.protocols",
    "pipeline": "metaeval.pipelines",
}
LIST_COMMAND: dict[Kind, str] = {
    "metric": "Type 'metaeval metrics list'.",
    "dataset": "Type 'metaeval data list'.",
    "protocol": "Or 'all'.",
    "pipeline": "",
}
"""What a sentence about an unknown name ends with."""
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def names(kind: Kind) -> list[str]:
    """Every registered name of a kind, sorted, without importing what they stand for."""
    return sorted(_entries(kind))


def find(kind: Kind, name: str, asked_in: Path | None = None) -> Any:
    """The object registered under `name`, or the one that 'module:attribute' points to, of whatever type.

    Raises `UserError` with the nearest name when nothing is registered under it, when two distributions claim the
    name, or when it cannot be imported; the sentence begins with `asked_in`, the file that holds the name, if any.
    """
    try:
        return _find(kind, name)
    except UserError as error:
        raise UserError(f"{asked_in}: {error}" if asked_in else str(error)) from error


def _find(kind: Kind, name: str) -> Any:
    entry = _entries(kind).get(name)
    if entry is None and _OBJECT.fullmatch(name):
        entry = EntryPoint(name, name, _GROUPS[kind])
        # A metric file beside the user's data is importable from where they stand, as `python -m` would have it.
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
    if entry is None:
        raise unknown(kind, name, names(kind), LIST_COMMAND[kind])
    try:
        return getattr(importlib.import_module(entry.module), entry.attr)
    except Exception as error:  # importing runs someone else's code: anything can come out of it
        where = "" if entry.value == name else f" ({entry.value})"
        kind_of_error = "" if isinstance(error, ModuleNotFoundError | AttributeError) else f"{type(error).__name__}: "
        hint = " It is looked for in the current folder and among installed packages." if entry.value == name else ""
        raise UserError(f"The {kind} {name!r}{where} cannot be imported: {kind_of_error}{error}.{hint}") from error


@cache
def _entries(kind: Kind) -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=_GROUPS[kind]):
        other = found.setdefault(entry.name, entry)
        # One distribution can be listed twice (an editable install beside its source); only a different target clashes.
        if other.value != entry.value:
            raise UserError(
                f"Two packages register the {kind} {entry.name!r}: {other.value} and {entry.value}. "
                "Uninstall one of them, or rename one entry point."
            )
    if not found:
        raise UserError("metaeval is not installed in this environment: type 'pip install -e .' in its folder.")
    return found
