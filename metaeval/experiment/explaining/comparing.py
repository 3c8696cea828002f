"""What two signatures or files differ in: choices and numbers, each named."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval import signature as signatures
from metaeval.errors import UserError
from metaeval.experiment.explaining.explain import Source, choice_meaning, is_file, meaning, read_signature, read_source
from metaeval.report.differences import Change, missing, record_changes, row_changes
from metaeval.report.sheet import SheetFile

NUMBERS = "numbers"
"""The name under which the numbers of a sheet are compared."""

_SETTINGS = "settings"
APART = (NUMBERS, _SETTINGS)
"""Names of no row."""

_ELSEWHERE = frozenset({"resamples", "level", "method"})  # settings of a sheet that signatures name otherwise
_NONE = frozenset({"as the profile", "paper"})  # options of a pipeline of which none was changed


def compare(one: str, other: str, row: str | None = None) -> dict[str, list[Change]]:
    """What two signatures or files differ in, by the name of the row; an empty list says: nothing.

    Rows of the same name are compared; the only row of each side is compared whatever its name. A row that one file
    alone has is a change itself. Of two sheets, the numbers stand under `NUMBERS`.

    Raises `UserError` for what cannot be read, and for two that do not hold the same.
    """
    first, second = read_source(one, row), read_source(other, row)
    if is_file(one) != is_file(other):
        raise UserError("A signature and a result file: compare two of a kind (metaeval explain RESULT prints one's).")
    if first.kind != second.kind:
        raise UserError(
            f"{one} holds {first.kind} and {other} {second.kind}: only numbers of the same table can be compared."
        )
    found = _rows(first, second)
    if first.sheet is not None and second.sheet is not None:
        found |= _sheets(first.sheet, second.sheet, row)
    return found


def _rows(first: Source, second: Source) -> dict[str, list[Change]]:
    one, other = first.signatures, second.signatures
    if len(one) == len(other) == 1 and not first.rows:
        ((name, text),), ((other_name, other_text),) = one.items(), other.items()
        return {name if name == other_name else "": _fields(text, other_text)}
    found: dict[str, list[Change]] = {}
    for name in dict.fromkeys([*one, *other]):
        found[name] = missing("row", name in one, name in other) or _fields(one[name], other[name])
        if name in first.rows and name in second.rows:
            found[name] += row_changes(first.rows[name], second.rows[name])
    return found


def _fields(one: str, other: str) -> list[Change]:
    """The fields that differ; of one that holds several choices, the choices."""
    sides = read_signature(one), read_signature(other)
    found: list[Change] = []
    for name, values in signatures.differences(*sides).items():
        choices = _choices(name, *values)
        for key, own in choices.items():
            said = [choice_meaning(name, key, value, of) for value, of in zip(own, sides, strict=True) if value]
            found.append(_field(f"{name}.{key}", own, [one.text for one in said]))
        if not choices:
            known = [meaning(name, value, of) for value, of in zip(values, sides, strict=True) if value is not None]
            found.append(_field(name, values, [one.text for one in known if one]))
    return found


def _field(name: str, values: tuple[str | None, str | None], texts: Sequence[str]) -> Change:
    return Change("field", name, *values, " / ".join(filter(None, dict.fromkeys(texts))))


def _choices(name: str, one: str | None, other: str | None) -> dict[str, tuple[str | None, str | None]]:
    """The choices of a field that differ; none where it does not hold several on both sides."""
    if name not in signatures.COMPOSITE or one is None or other is None:
        return {}
    read = [signatures.read_choices(text) for text in (one, other)]
    whole = all(choices or text in _NONE for choices, text in zip(read, (one, other), strict=True))
    return signatures.differences(*read) if whole else {}


def _sheets(one: SheetFile, other: SheetFile, row: str | None) -> dict[str, list[Change]]:
    """What is in a sheet beside its signatures: settings that these do not name, and numbers."""
    told = _told(one) | _told(other)
    settings = []
    for sheet in (one, other):
        settings.append({name: str(value) for name, value in sheet.settings.items() if name not in told})
        if not told:
            settings[-1]["data"] = f"{sheet.data.name}/{sheet.data.split}@{sheet.data.fingerprint[:12]}"
    differing = [Change("field", name, *values) for name, values in signatures.differences(*settings).items()]
    found = {_SETTINGS: differing} if differing else {}
    if row is None:
        found[NUMBERS] = list(record_changes(one.records, other.records))
    return found


def _told(sheet: SheetFile) -> set[str]:
    """The settings that every signature of a sheet names; none where it has no signature."""
    named = [set(read_signature(text)) for text in sheet.signatures]
    return set.intersection(*named) | _ELSEWHERE if named else set()
