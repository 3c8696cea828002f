"""The notes of single cells: footnotes behind a number, and asides below it.

Footnotes tell undefined values, controls that are not beaten, orders of ties and pairs without a score. Asides give a
value's share of what it could have reached, and what others published for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as numbers
from itertools import product

from metaeval.report.grid import Note, numeral, plain, short, span, value_of
from metaeval.report.result import Column, Result, Row, Value

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
    rows: Sequence[Row], columns: Sequence[Column], reasons: Mapping[str, str], units: str, level: str
) -> tuple[Note, ...]:
    """The footnotes that `marks` points to, one for each mark in use; level: what `LEVEL` means."""
    ties, bounds = (partial(_spans, kind=kind) for kind in ("ties", "bounds"))
    notes = (
        Note(LEVEL, f"{level}:", _items(rows, columns, _level)),
        Note(TIED, "the order of tied scores moves the value, [worst..best]:", _items(rows, columns, ties)),
        Note(UNSCORED, f"{units} without a score could move the value, [worst..best]:", _items(rows, columns, bounds)),
    )
    return (*(note for note in notes if note.items), *(Note(letter, reason) for reason, letter in reasons.items()))


def not_above(by_test: bool) -> str:
    """What the mark of a control that is not beaten means."""
    return "not shown to be above a control" if by_test else "interval does not lie above that of a control"


def tests_controls(result: Result) -> bool:
    """Whether controls were beaten by a test, and not by intervals as in results of old."""
    return result.significance is not None and result.significance.controls is not None


def _names() -> Iterator[str]:
    for length in numbers(1):
        for parts in product(_ALPHABET, repeat=length):
            yield "".join(parts)


def _rivals(row: Row, column: Column) -> list[str]:
    """A control is never flagged against controls: it is what the metrics are held against."""
    return row.not_above.get(column.key, []) if row.kind == "metric" else []


def _moves(ends: tuple[float, float] | None, value: Value, column: Column) -> bool:
    """Return whether an end of the span is printed differently from the value."""
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


def _spans(row: Row, columns: Sequence[Column], kind: str) -> str:
    values = [(column, value_of(row, column)) for column in columns]
    spans = [(column, getattr(value, kind), value) for column, value in values]
    return ", ".join(
        f"{plain(column.label)} {span(ends, column)}" for column, ends, value in spans if _moves(ends, value, column)
    )


_REACH = (
    "share of the most that the same scores, with their own ties, could reach against this gold; "
    "nothing is said where that is 1"
)
_PAPER = "published value of the same metric on the same data"


def asides(row: Row, column: Column) -> tuple[str, ...]:
    """The asides of one cell, the ceiling's first; controls have none, being yardsticks themselves."""
    return tuple(said for said in (_reach(row, column), _paper(row, column)) if said)


def aside_notes(result: Result) -> tuple[Note, Note]:
    """The footer lines that explain the asides in use, of ceilings and of published values, by their first."""
    cells = [(row, column) for row in result.rows for column in result.columns]
    reach = next(filter(None, (_reach(row, column) for row, column in cells)), "")
    paper = next(filter(None, (_paper(row, column) for row, column in cells)), "")
    source = plain(result.published)
    return (
        Note("ceiling", f"{reach}: {_REACH}" if reach else ""),
        Note("published", f"{paper}: {_PAPER}{f' ({source})' if source else ''}" if paper else ""),
    )


def _reach(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.value is None or value.ceiling is None:
        return ""
    ceiling = numeral(value.ceiling, column)
    if value.ceiling <= 0 or ceiling == numeral(1.0, column):
        return ""
    percent = round(100 * value.value / value.ceiling)
    # The share is 100 only where the two numbers print alike.
    if percent >= 100 and numeral(value.value, column) != ceiling:
        percent = 99 if value.value < value.ceiling else 101
    return f"{percent} % of {short(ceiling)}"


def _paper(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.published is None:
        return ""
    return f"paper {short(numeral(value.published, column))}"
