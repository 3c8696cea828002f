"""Several results in one table: what each is called, and what their footers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.errors import UserError
from metaeval.report.footer import footer
from metaeval.report.grid import Note
from metaeval.report.number_format import one_line, plain
from metaeval.report.result import Result

_SHARED = ("data", "settings", "pairs", "ratings", "uncertainty", "perfect metric")


def named(results: Sequence[Result]) -> dict[str, Result]:
    """The results of one protocol under the names of their data sets; units are named where they differ.

    Raises `UserError` when two results would get the same name: a table has one column group for each.
    """
    several = len({result.unit for result in results}) > 1
    found: dict[str, Result] = {}
    for result in results:
        name = ", ".join(part for part in (plain(result.data.name), plain(result.data.split)) if part)
        name += f" ({result.unit})" if several else ""
        if name in found:
            raise UserError(f"Two {result.protocol} results are of {name}, unit {result.unit}: leave one out.")
        found[name] = result
    return found


def shared_footer(results: Mapping[str, Result]) -> tuple[Note, ...]:
    """The footers as one: what is true of all data sets is said once, all else under the data set's name."""
    footers = {name: {note.label: note for note in footer(result)} for name, result in results.items()}
    notes = []
    for label in _SHARED:
        said = {name: found[label] for name, found in footers.items() if label in found}
        if said and len(said) == len(results) and len(set(said.values())) == 1:
            notes.append(next(iter(said.values())))
        elif said:
            notes.append(Note(label, "", tuple((name, _flat(note)) for name, note in said.items())))
    return tuple(notes)


def signatures(results: Sequence[Result]) -> tuple[str, ...]:
    """The signatures of all metrics, data set after data set."""
    return tuple(one_line(row.signature) for result in results for row in result.rows if row.kind == "metric")


def _flat(note: Note) -> str:
    items = "; ".join(f"{names}: {text}" for names, text in note.items)
    return " ".join(part for part in (note.text, items) if part)
