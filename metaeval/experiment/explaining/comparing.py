"""What two signatures or files differ in: choices and numbers, each named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from metaeval import signature as signatures
from metaeval.errors import UserError
from metaeval.experiment.explaining.explain import Source, is_file, read_choices, read_signature, read_source
from metaeval.experiment.explaining.fields import COMPOSITE, choice_meaning, meaning
from metaeval.experiment.sheet import Scalar, SheetFile
from metaeval.report.result import Row, Value

NUMBERS = "numbers"
"""The name under which the numbers of a sheet are compared."""

_SETTINGS = "settings"
APART = (NUMBERS, _SETTINGS)
"""Names of no row."""

_ELSEWHERE = frozenset({"resamples", "level"})  # settings of a sheet that signatures name otherwise
_FIRST = ("system", "level", "scenario")  # words that a record's name begins with
_NONE = frozenset({"as the profile", "paper"})  # options of a pipeline of which none was changed


@dataclass(frozen=True)
class Change:
    """What two rows of one name differ in: a field, or a number; None where only one of the two has it.

    kind: "field" (`text` says what the field means), "value" or "count" (`by` is other less one), "interval",
    "cluster" (of metrics that are not told apart), or "row" where only one side has the row.
    """

    kind: str
    name: str
    one: str | None
    other: str | None
    text: str = ""
    by: float | None = None


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
    found = _signatures(first, second)
    if first.sheet is not None and second.sheet is not None:
        found |= _sheets(first.sheet, second.sheet, row)
    return found


def _signatures(first: Source, second: Source) -> dict[str, list[Change]]:
    found: dict[str, list[Change]] = {}
    one, other = first.signatures, second.signatures
    if len(one) == len(other) == 1 and not first.rows:
        ((name, text),), ((other_name, other_text),) = one.items(), other.items()
        return {name if name == other_name else "": _fields(text, other_text)}
    for name in dict.fromkeys([*one, *other]):
        if name not in one or name not in other:
            found[name] = [Change("row", "row", _there(name in one), _there(name in other))]
            continue
        found[name] = _fields(one[name], other[name])
        if name in first.rows:
            found[name] += _numbers(first.rows[name], second.rows[name])
    return found


def _there(there: bool) -> str | None:
    return "there" if there else None


def _fields(one: str, other: str) -> list[Change]:
    """The fields that differ; of one that holds several choices, the choices."""
    sides = read_signature(one), read_signature(other)
    found: list[Change] = []
    for name, values in signatures.differences(*sides).items():
        choices = _choices(name, *values)
        for key, own in choices.items():
            said = [choice_meaning(name, key, one, of).text for one, of in zip(own, sides, strict=True) if one]
            found.append(Change("field", f"{name}.{key}", *own, _joined(said)))
        if not choices:
            found.append(Change("field", name, *values, _joined(_texts(name, values, sides))))
    return found


def _choices(name: str, one: str | None, other: str | None) -> dict[str, tuple[str | None, str | None]]:
    """The choices of a field that differ; none where it does not hold several on both sides."""
    if name not in COMPOSITE or one is None or other is None:
        return {}
    read = [read_choices(text) for text in (one, other)]
    whole = all(choices or text in _NONE for choices, text in zip(read, (one, other), strict=True))
    return signatures.differences(*read) if whole else {}


def _texts(name: str, values: Sequence[str | None], sides: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for value, fields in zip(values, sides, strict=True):
        if value is not None and (found := meaning(name, value, fields)):
            yield found.text


def _joined(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(text for text in texts if text))


def _numbers(one: Row, other: Row) -> Iterator[Change]:
    counts = [(count, getattr(one, count), getattr(other, count)) for count in ("scored", "unscored", "total")]
    for count, before, after in counts:
        if before != after:
            yield Change("count", count, f"{before:,}", f"{after:,}", by=float(after - before))
    for key in dict.fromkeys([*one.values, *other.values]):
        a, b = one.values.get(key), other.values.get(key)
        yield from _moved(key, *(None if value is None else value.value for value in (a, b)))
        places = [row.clusters.get(key) for row in (one, other)]
        if places[0] != places[1]:
            one_place, other_place = (None if place is None else str(place) for place in places)
            yield Change("cluster", key, one_place, other_place)
        if _interval(a) != _interval(b):
            yield Change("interval", key, _interval(a), _interval(b))


def _moved(name: str, before: float | None, after: float | None) -> Iterator[Change]:
    if before != after:
        by = None if before is None or after is None else after - before
        yield Change("value", name, _shown(before), _shown(after), by=by)


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def _interval(value: Value | None) -> str | None:
    return None if value is None else _ends(value.low, value.high)


def _ends(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.6g} to {high:.6g}"


def _sheets(one: SheetFile, other: SheetFile, row: str | None) -> dict[str, list[Change]]:
    """What is in a sheet beside its signatures: settings that these do not name, and numbers."""
    found: dict[str, list[Change]] = {}
    told = _told(one) | _told(other)
    sheets = (one, other)
    settings = [{name: str(value) for name, value in each.settings.items() if name not in told} for each in sheets]
    if not told:
        for own, sheet in zip(settings, sheets, strict=True):
            own["data"] = f"{sheet.data.name}/{sheet.data.split}@{sheet.data.fingerprint[:12]}"
    differing = signatures.differences(*settings)
    if differing:
        found[_SETTINGS] = [Change("field", name, *values) for name, values in differing.items()]
    if row is not None:
        return found
    found[NUMBERS] = []
    first, second = numbers_of(one.records), numbers_of(other.records)
    for name in dict.fromkeys([*first, *second]):
        if name not in first or name not in second:
            found[NUMBERS].append(Change("row", name, _there(name in first), _there(name in second)))
        else:
            found[NUMBERS] += _record(name, first[name], second[name])
    return found


def _record(name: str, one: Numbers, other: Numbers) -> Iterator[Change]:
    """What two records of one name differ in."""
    for key in dict.fromkeys([*one.values, *other.values]):
        yield from _moved(_of(name, key), one.values.get(key), other.values.get(key))
    for key in dict.fromkeys([*one.intervals, *other.intervals]):
        ends = [_ends(*numbers.intervals.get(key, (None, None))) for numbers in (one, other)]
        if ends[0] != ends[1]:
            yield Change("interval", _of(name, key), ends[0], ends[1])


def _of(record: str, number: str) -> str:
    return f"{record}: {number}" if number else record


def _told(sheet: SheetFile) -> set[str]:
    """The settings that every signature of a sheet names; none where it has no signature."""
    named = [set(read_signature(text)) for text in sheet.signatures]
    return set.intersection(*named) | _ELSEWHERE if named else set()


@dataclass(frozen=True)
class Numbers:
    """A record's numbers by name, "" for its value, and its intervals by the name of the number that they are of."""

    values: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float | None, float | None]]


def numbers_of(records: Sequence[Mapping[str, Scalar]]) -> dict[str, Numbers]:
    """The numbers of every record by their names, under the record's words (system m, overlap, recall).

    Where words do not tell records apart, the first whole number that does is taken for a word (round 2); else records
    of the same words are counted through.
    """
    keys = _keys(records)
    seen: Counter[str] = Counter()
    found: dict[str, Numbers] = {}
    for record in records:
        name = ", ".join(_word(key, record[key]) for key in keys if record[key] is not None)
        seen[name] += 1
        own = f"{name} #{seen[name]}" if seen[name] > 1 else name
        found[own] = _split({key: _number(value) for key, value in record.items() if key not in keys})
    return found


def _keys(records: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """The fields that say what a record is about."""
    fields = sorted(records[0], key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST)) if records else []
    words = [field for field in fields if any(isinstance(one[field], str | bool) for one in records)]
    whole = [field for field in fields if all(type(one[field]) is int for one in records)]
    for keys in (words, *([*words, field] for field in whole)):
        if len({tuple(one[key] for key in keys) for one in records}) == len(records):
            return keys
    return words


def _split(values: Mapping[str, float | None]) -> Numbers:
    low, high = "low", "high"
    stems = [
        key.removesuffix(low) for key in values if key.endswith(low) and f"{key.removesuffix(low)}{high}" in values
    ]
    ends = {f"{stem}{end}" for stem in stems for end in (low, high)}
    return Numbers(
        {"" if key == "value" else key: value for key, value in values.items() if key not in ends},
        {stem.rstrip("_"): (values[f"{stem}{low}"], values[f"{stem}{high}"]) for stem in stems},
    )


def _word(key: str, value: Scalar) -> str:
    return f"{key} {value}" if isinstance(value, int) else str(value)


def _number(value: Scalar) -> float | None:
    return None if value is None else float(value)
