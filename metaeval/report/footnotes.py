"""What qualifies single cells: undefined values, controls not beaten, orders of ties, pairs without a score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, product

from metaeval.report.grid import Note
from metaeval.report.number_format import numeral, plain, span, value_of
from metaeval.report.result import Column, Row, Value

LEVEL = "†"
TIED = "‡"
UNSCORED = "§"

# No q: Unicode has no superscript for it, and the terminal prints letters as superscripts.
_ALPHABET = "abcdefghijklmnoprstuvwxyz"

_Say = Callable[[Row, Sequence[Column]], str]


def letters(values: Iterable[Value]) -> dict[str, str]:
    """A letter for each distinct reason, in reading order; cells with the same reason share it."""
    names = _names()
    found: dict[str, str] = {}
    for value in values:
        reason = reason_of(value)
        if reason and reason not in found:
            found[reason] = next(names)
    return found


def reason_of(value: Value) -> str:
    """Why a value is undefined, or what its protocol notes about it; empty for a plain value."""
    if value.value is None:
        return plain(value.note) or "undefined, no reason recorded"
    return plain(value.note)


def marks(row: Row, column: Column, reasons: Mapping[str, str]) -> tuple[str, ...]:
    """The marks of one cell: controls, ties, unscored, then the letter of its reason."""
    value = value_of(row, column)
    reason = reason_of(value)
    found = (
        (LEVEL, bool(_rivals(row, column))),
        (TIED, _moves(value.ties, value, column)),
        (UNSCORED, _moves(value.bounds, value, column)),
        (reasons.get(reason, ""), bool(reason)),
    )
    return tuple(mark for mark, holds in found if holds)


def footnotes(
    rows: Sequence[Row], columns: Sequence[Column], reasons: Mapping[str, str], units: str
) -> tuple[Note, ...]:
    """The footnotes that `marks` points to, one for each mark in use."""
    notes = (
        Note(LEVEL, "interval does not lie above that of a control:", _items(rows, columns, _level)),
        Note(TIED, "the order of tied scores moves the value, [worst..best]:", _items(rows, columns, _ties)),
        Note(UNSCORED, f"{units} without a score could move the value, [worst..best]:", _items(rows, columns, _bounds)),
    )
    return (*(note for note in notes if note.items), *(Note(letter, reason) for reason, letter in reasons.items()))


def _names() -> Iterator[str]:
    for length in count(1):
        for parts in product(_ALPHABET, repeat=length):
            yield "".join(parts)


def _rivals(row: Row, column: Column) -> list[str]:
    """A control is never flagged against controls: it is what the metrics are held against."""
    return row.not_above.get(column.key, []) if row.kind == "metric" else []


def _moves(ends: tuple[float, float] | None, value: Value, column: Column) -> bool:
    """Whether a span says more than the printed value does."""
    return ends is not None and any(numeral(end, column) != numeral(value.value, column) for end in ends)


def _items(rows: Sequence[Row], columns: Sequence[Column], say: _Say) -> tuple[tuple[str, str], ...]:
    said = ((plain(row.metric), say(row, columns)) for row in rows)
    return tuple((name, text) for name, text in said if text)


def _level(row: Row, columns: Sequence[Column]) -> str:
    labels: dict[str, list[str]] = {}
    for column in columns:
        if rivals := _rivals(row, column):
            labels.setdefault(", ".join(plain(rival) for rival in rivals), []).append(plain(column.label))
    return "; ".join(f"{', '.join(columns_)} ({rivals})" for rivals, columns_ in labels.items())


def _ties(row: Row, columns: Sequence[Column]) -> str:
    return _spans([(column, value_of(row, column).ties, value_of(row, column)) for column in columns])


def _bounds(row: Row, columns: Sequence[Column]) -> str:
    return _spans([(column, value_of(row, column).bounds, value_of(row, column)) for column in columns])


def _spans(cells: list[tuple[Column, tuple[float, float] | None, Value]]) -> str:
    return ", ".join(
        f"{plain(column.label)} {span(ends, column)}"
        for column, ends, value in cells
        if ends is not None and _moves(ends, value, column)
    )
