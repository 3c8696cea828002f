"""Differences between two signatures, result files or jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval import signature as signatures
from metaeval.analyses.explaining.signature_fields import (
    SignatureSource,
    choice_meaning,
    is_file,
    meaning,
    read_signature,
    read_source,
)
from metaeval.analyses.explaining.signature_sources import is_job, source_of_file, sources_of
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.report.result_differences import Change, missing, record_changes, row_changes
from metaeval.report.table import Table
from metaeval.report.terminal import aligned

NUMBERS = "numbers"
"""The key, in the result of `compare`, of differing numbers of tables."""

_SETTINGS = "settings"
APART = (NUMBERS, _SETTINGS)
"""Keys in the result of `compare` that are not names of rows."""

_ELSEWHERE = frozenset({"resamples", "level", "method"})  # settings of a table that have other names in signatures
_NONE = frozenset({"as the profile", "paper"})  # values of a pipeline's options when all are defaults


def compare(first: str, second: str, row: str | None = None) -> dict[str, list[Change]]:
    """Return the differences of two signatures or files by the name of the row; a row without one has an empty list.

    Rows of the same name are compared, but two signatures, or the only signatures of two tables, whatever their names
    ("" if these differ). A row that only one file has is a difference. Two tables are also compared by their settings
    ("settings") and, if `row` is None, by their numbers (`NUMBERS`). row: compare this row only.

    Raises `UserError` for unreadable files, and for two sources of different kinds.
    """
    first_source, second_source = read_source(first, row), read_source(second, row)
    if is_file(first) != is_file(second):
        raise UserError(
            "A signature and a result file cannot be compared: give two signatures or two result files "
            "('metaeval results explain RESULT' prints the signatures of a file)."
        )
    if first_source.kind != second_source.kind:
        raise UserError(
            f"{first} holds {first_source.kind}, and {second} holds {second_source.kind}: give two results of one "
            "protocol, or two tables of one name."
        )
    changes = _rows(first_source, second_source)
    if first_source.sheet is not None and second_source.sheet is not None:
        changes |= _sheets(first_source.sheet, second_source.sheet, row)
    return changes


def _rows(first: SignatureSource, second: SignatureSource) -> dict[str, list[Change]]:
    first_texts, second_texts = first.signatures, second.signatures
    if len(first_texts) == len(second_texts) == 1 and not first.rows:
        ((name, text),), ((other_name, other_text),) = first_texts.items(), second_texts.items()
        return {name if name == other_name else "": _fields(text, other_text)}
    changes: dict[str, list[Change]] = {}
    for name in dict.fromkeys([*first_texts, *second_texts]):
        changes[name] = missing("row", name in first_texts, name in second_texts) or _fields(
            first_texts[name], second_texts[name]
        )
        if name in first.rows and name in second.rows:
            changes[name] += row_changes(first.rows[name], second.rows[name])
    return changes


def _fields(first: str, second: str) -> list[Change]:
    """Return the fields in which two signatures differ; of a field with several choices, the choices that differ."""
    sides = read_signature(first), read_signature(second)
    changes: list[Change] = []
    for name, values in signatures.differences(*sides).items():
        choices = _choices(name, *values)
        for key, choice_values in choices.items():
            meanings = [
                choice_meaning(name, key, value, of) for value, of in zip(choice_values, sides, strict=True) if value
            ]
            changes.append(_field(f"{name}.{key}", choice_values, [part.text for part in meanings]))
        if not choices:
            known = [meaning(name, value, of) for value, of in zip(values, sides, strict=True) if value is not None]
            changes.append(_field(name, values, [part.text for part in known if part]))
    return changes


def _field(name: str, values: tuple[str | None, str | None], texts: Sequence[str]) -> Change:
    return Change("field", name, *values, " / ".join(filter(None, dict.fromkeys(texts))))


def _choices(name: str, first: str | None, second: str | None) -> dict[str, tuple[str | None, str | None]]:
    """Return the choices, each with both values, in which two values of a field differ; {} if one holds no choices."""
    if name not in signatures.COMPOSITE or first is None or second is None:
        return {}
    read = [signatures.read_choices(text) for text in (first, second)]
    whole = all(choices or text in _NONE for choices, text in zip(read, (first, second), strict=True))
    return signatures.differences(*read) if whole else {}


def _sheets(first: Table, second: Table, row: str | None) -> dict[str, list[Change]]:
    """Return what the signatures of two tables do not show: differing settings and, if `row` is None, numbers."""
    named_settings = _settings_in_signatures(first) | _settings_in_signatures(second)
    settings = []
    for sheet in (first, second):
        settings.append({name: str(value) for name, value in sheet.settings.items() if name not in named_settings})
        if not named_settings:
            settings[-1]["data"] = f"{sheet.data.name}/{sheet.data.split}@{sheet.data.fingerprint[:12]}"
    differing = [Change("field", name, *values) for name, values in signatures.differences(*settings).items()]
    changes = {_SETTINGS: differing} if differing else {}
    if row is None:
        changes[NUMBERS] = list(record_changes(first.records, second.records))
    return changes


def _settings_in_signatures(sheet: Table) -> set[str]:
    """Return the names of settings that every signature of a table shows; empty for a table without signatures."""
    named = [set(read_signature(text)) for text in sheet.signatures]
    return set.intersection(*named) | _ELSEWHERE if named else set()


def difference_lines(rows: Mapping[str, Sequence[Change]], of_file: bool) -> list[str]:
    """Return the differences from `compare` as lines of text; without any difference, one line that says so.

    of_file: whether files were compared, and not signatures.
    """
    if not any(rows.values()):
        numbers = "the table" if NUMBERS in rows else count(len(rows), "row")
        return [f"The same in every choice{f', and every number of {numbers}' if of_file or NUMBERS in rows else ''}."]
    # A difference that all of several rows share is shown once. `APART` are not rows.
    changed = [changes for name, changes in rows.items() if name not in APART]
    fields = [change for change in changed[0] if change.kind == "field"] if len(changed) > 1 else []
    everywhere = [change for change in fields if all(change in changes for changes in changed)]
    row_changes = {name: [change for change in changes if change not in everywhere] for name, changes in rows.items()}
    shown = [(name, changes) for name, changes in [("all rows", everywhere), *row_changes.items()] if changes]
    return [line for name, changes in shown for line in (name or "signatures", *_table(changes))]


def _table(changes: Sequence[Change]) -> list[str]:
    rows = []
    for change in changes:
        name = f"{change.name} ({change.kind})" if change.kind in ("interval", "letters") else change.name
        first, second = ("(none)" if value is None else value for value in (change.first, change.second))
        rows.append((name, f"{first} -> {second}", change.text if change.by is None else f"by {change.by:+.6g}"))
    return aligned(rows, indent="  ")


def differences(
    first: str, second: str, metric: str | None, results: Path
) -> tuple[dict[str, dict[str, list[Change]]], list[list[str]]]:
    """Compare two signatures, files or jobs; also return the files that only the first, and only the second, job has.

    The differences are those of `compare` by the file's name ("" for signatures and files). Jobs are compared file
    by file. metric: compare only this metric's row. results: folder of the jobs. Raises `UserError` as `compare` does,
    and where a job is compared with a file, or the jobs have no file of the same name.
    """
    first, second = source_of_file(first), source_of_file(second)
    others = [text for text in (first, second) if not is_job(text)]
    if len(others) == 2:
        return {"": compare(first, second, metric)}, [[], []]
    if others:
        raise UserError(f"{others[0]!r} is not a job: to compare jobs, give the hashes of two.")
    files = []
    for job in (first, second):
        paths = [Path(path) for path in sources_of(job, results)]
        # By name, in several folders with that of the folder, but for its hash.
        several = len({path.parent for path in paths}) > 1
        folders = [f"{path.parent.name.rpartition('-')[0]}/" if several else "" for path in paths]
        files.append({f"{folder}{path.name}": str(path) for folder, path in zip(folders, paths, strict=True)})
    shared = [name for name in files[0] if name in files[1]]
    if not shared:
        raise UserError(f"The jobs {first} and {second} share no name of a result file: give two jobs of one command.")
    changes = {name.removesuffix(".json"): compare(files[0][name], files[1][name], metric) for name in shared}
    return changes, [[name for name in names if name not in shared] for names in files]
