"""The differences of two results or tables: numbers, counts and intervals, each named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metaeval.report.result import Row
from metaeval.report.table import Record, Scalar

_FIRST = ("system", "level", "scenario")  # words that a record's name begins with

IntervalEnds = tuple[float | None, float | None]
"""An interval's low and high."""


@dataclass(frozen=True)
class Change:
    """A difference between two rows of the same name, in the field or number `name`.

    first, second: as text; None on the side that does not have it. kind: "field" (`text` says what the field means),
    "value" or "count" (`by` is second minus first), "interval", "letters" (shared by metrics that are not significantly
    different), or "row" where only one side has the row.
    """

    kind: str
    name: str
    first: str | None
    second: str | None
    text: str = ""
    by: float | None = None


def missing(name: str, in_first: bool, other: bool) -> list[Change]:
    """Return the change for the row `name` if only one side has it; an empty list if both have. other: the second."""
    if in_first and other:
        return []
    return [Change("row", name, "there" if in_first else None, "there" if other else None)]


def row_changes(first: Row, other: Row) -> Iterator[Change]:
    """Yield the differences of two rows of results: counts, then by measure the value, the letters and the interval."""
    for count in ("scored", "unscored", "total"):
        before, after = getattr(first, count), getattr(other, count)
        if before != after:
            yield Change("count", count, f"{before:,}", f"{after:,}", by=float(after - before))
    for key in dict.fromkeys([*first.values, *other.values]):
        values = [row.values.get(key) for row in (first, other)]
        yield from _value_change(key, *(None if value is None else value.value for value in values))
        yield from _text_change("letters", key, first.letters.get(key), other.letters.get(key))
        yield from _text_change("interval", key, *(None if of is None else _ends((of.low, of.high)) for of in values))


def _value_change(name: str, before: float | None, after: float | None) -> Iterator[Change]:
    if before != after:
        by = None if before is None or after is None else after - before
        first, other = (None if value is None else f"{value:.6g}" for value in (before, after))
        yield Change("value", name, first, other, by=by)


def _text_change(kind: str, name: str, first: str | None, other: str | None) -> Iterator[Change]:
    if first != other:
        yield Change(kind, name, first, other)


def _ends(interval: IntervalEnds) -> str | None:
    low, high = interval
    return None if low is None or high is None else f"{low:.6g} to {high:.6g}"


def record_changes(ones: Sequence[Record], others: Sequence[Record]) -> Iterator[Change]:
    """Yield the differences between the records of two tables: records of one side, values and intervals."""
    first, second = numbers_of(ones), numbers_of(others)
    for record in dict.fromkeys([*first, *second]):
        if alone := missing(record, record in first, record in second):
            yield from alone
            continue
        before, other = first[record], second[record]
        for key in dict.fromkeys([*before.values, *other.values]):
            yield from _value_change(
                f"{record}: {key}" if key else record, before.values.get(key), other.values.get(key)
            )
        for key in dict.fromkeys([*before.intervals, *other.intervals]):
            ends = (_ends(numbers.intervals.get(key, (None, None))) for numbers in (before, other))
            yield from _text_change("interval", f"{record}: {key}" if key else record, *ends)


@dataclass(frozen=True)
class RecordValues:
    """A record's numbers by field ("" for the field `value`), and its intervals by the field of their number."""

    values: Mapping[str, float | None]
    intervals: Mapping[str, IntervalEnds]


def numbers_of(records: Sequence[Mapping[str, Scalar]]) -> dict[str, RecordValues]:
    """Return the numbers of each record of a table, by a key made of the record's texts (system m, overlap, recall).

    Where texts are not unique, the first whole number that makes them unique is added (round 2); if none does, the
    second and further records with the same texts get "#2" and so on.
    """
    keys = _name_fields(records)
    seen: Counter[str] = Counter()
    statistics: dict[str, RecordValues] = {}
    for record in records:
        words = [(key, record[key]) for key in keys if record[key] is not None]
        name = ", ".join(f"{key} {word}" if isinstance(word, int) else str(word) for key, word in words)
        seen[name] += 1
        values = {key: None if value is None else float(value) for key, value in record.items() if key not in keys}
        statistics[f"{name} #{seen[name]}" if seen[name] > 1 else name] = _values_and_intervals(values)
    return statistics


def _name_fields(records: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """Return the fields that say what a record is about: texts, and a whole number if they need one to be unique."""
    fields = sorted(records[0], key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST)) if records else []
    words = [field for field in fields if any(isinstance(record[field], str | bool) for record in records)]
    whole = [field for field in fields if all(type(record[field]) is int for record in records)]
    for keys in (words, *([*words, field] for field in whole)):
        if len({tuple(record[key] for key in keys) for record in records}) == len(records):
            return keys
    return words


def _values_and_intervals(values: Mapping[str, float | None]) -> RecordValues:
    """Return a record's numbers and its intervals: x_low and x_high are the ends of x's interval."""
    stems = [key.removesuffix("low") for key in values if key.endswith("low")]
    intervals = {stem: (f"{stem}low", f"{stem}high") for stem in stems if f"{stem}high" in values}
    ends = {end for both in intervals.values() for end in both}
    return RecordValues(
        {"" if key == "value" else key: value for key, value in values.items() if key not in ends},
        {stem.rstrip("_"): (values[low], values[high]) for stem, (low, high) in intervals.items()},
    )
