"""Tables in memory: columns of cells under headings, which are found by what they are for, and errors by cell."""

from __future__ import annotations

import logging
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from metaeval.column_arrays import Cells, Coded, text_array
from metaeval.errors import UserError, did_you_mean, shown

_log = logging.getLogger("metaeval")

PLAIN_NUMBERS = "write numbers with a decimal point and without %"

SCORE_ROLES: Mapping[str, Sequence[str]] = {
    "pair_id": ("pair_id", "pair", "rating_id", "citation_id", "id", "item"),
    "score": ("score", "scores", "value", "prediction"),
    "status": ("status",),
    "tokens": ("tokens",),
    "cut": ("cut",),
}
"""What the columns of scores are for, with their usual names."""

RATING_ROLES: Mapping[str, Sequence[str]] = {
    "id": ("id", "rating_id", "item_id", "item"),
    "gold": ("gold", "human", "level", "label", "rating"),
    "group": ("group", "article", "document", "query", "input"),
    "pair": ("pair", "pair_id"),
    "system": ("system", "model", "generator"),
    "subset": ("subset",),
    "text": ("text",),
    "annotator": ("annotator", "rater", "coder", "worker", "worker_id", "annotator_id"),
}
"""What the columns of ratings are for, with their usual names."""

TEXT_ROLES: Mapping[str, Sequence[str]] = {
    "source": ("source", "passage", "document", "evidence", "context", "reference", "page", "premise", "snippet"),
    "statement": ("statement", "claim", "sentence", "hypothesis", "assertion", "fact"),
}
"""What the columns of a pair's texts are for, with their usual names."""

_VALUES = frozenset({"gold", "score", "level", "probability", "status", "tokens", "cut"})
_TEXTS = frozenset({"source", "statement", "text"})
"""Roles whose column has no other use: values, and texts beside another text. A text or an id may also be a group."""

# What programs write where they have no number.
_NO_NUMBER = frozenset("nan na n/a #n/a null none nil".split())
_WORDS = re.compile(r"[\W_]+")
_PERCENT_OR_COMMA = re.compile(r"[-+]?\d+([.,]\d+)?\s*%|[-+]?\d+,\d+")
_GUARDED = re.compile(r"'[=+@\t\r\n＝＋－＠-]")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A cell that cannot be read. why: what it holds and what to do about it, as a clause."""

    why: str


@dataclass(frozen=True)
class Row:
    """One row of a table: its cells by heading, and the description of its location."""

    where: str
    cells: Mapping[str, Any]
    places: Mapping[str, str]

    def value(self, heading: str) -> Any:
        """Return the value of a cell, None if blank; raises `UserError` for a cell that is `Wrong`."""
        value = self.cells.get(heading)
        if isinstance(value, Wrong):
            raise UserError(f"{self.place(heading)} {value.why}.")
        return value

    def text(self, heading: str) -> str:
        """Return the text of a cell without surrounding white space, numbers as typed; empty if blank."""
        return text_of(self.value(heading))

    def place(self, heading: str) -> str:
        """Return the description of a cell's location, for messages."""
        return self.places.get(heading, f"{self.where}, column {shown(heading)}")

    def wrong(self, heading: str, why: str) -> UserError:
        """Return the error for a cell. why: what is wrong with it, and what to do, as a clause without a full stop."""
        return UserError(f"{self.place(heading)} {why}.")


@dataclass(frozen=True)
class TypedTable:
    """A table as columns of cells under headings. name: of the file, for messages.

    place: returns the description of a row's location by its number, from 0 (None: "NAME row 1" and so on).
    cell_places: by heading, the location of each cell, if cells have locations of their own.
    """

    name: str
    cells: Mapping[str, Cells]
    place: Callable[[int], str] | None = None
    cell_places: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the headings, in order."""
        return tuple(self.cells)

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return max(map(len, self.cells.values()), default=0)

    @cached_property
    def rows(self) -> list[Row]:
        """Return all rows."""
        return [self._row(number, cells) for number, cells in enumerate(zip(*self.cells.values(), strict=True))]

    def row(self, number: int) -> Row:
        """Return the row with a number, from 0."""
        return self._row(number, [cells[number] for cells in self.cells.values()])

    def _row(self, number: int, cells: Iterable[Any]) -> Row:
        where = self.place(number) if self.place else f"{self.name} row {number + 1}"
        places = {heading: words[number] for heading, words in self.cell_places.items()}
        return Row(where, dict(zip(self.cells, cells, strict=True)), places)

    def column(self, heading: str) -> Cells:
        """Return the cells of a column; raises `UserError` for a cell that is `Wrong`."""
        cells = self.cells[heading]
        if cells.array.dtype == np.object_:
            for row in np.flatnonzero(cells.which(lambda cell: isinstance(cell, Wrong))):
                self.row(int(row)).value(heading)
        return cells

    def texts(self, heading: str) -> Iterator[str]:
        """Yield the text of each cell of a column, as `Row.text` returns it; raises `UserError` as `column` does."""
        return map(text_of, self.column(heading))

    def coded(self, heading: str) -> Coded[str]:
        """Return the texts of a column as codes of the distinct texts."""
        cells = self.column(heading)
        if not cells.are_numbers:
            return Coded.of(map(text_of, cells))
        values, codes = np.unique(cells.array, return_inverse=True)
        return Coded(text_array(map(text_of, Cells(values))), codes.astype(np.int32))

    def is_numbers(self, heading: str) -> bool:
        """Return whether a column holds only numbers and blanks, and at least one number."""
        cells = [number_of(cell) for cell in self.cells[heading] if cell is not None]
        return bool(cells) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)

    def odd_cell(self, heading: str, is_usual: Callable[[Any], bool]) -> Row | None:
        """Return the first row whose cell is not usual if most cells of the column are; else None.

        is_usual: returns whether a cell is usual.
        """
        filled = ~self.cells[heading].blank
        odd = np.flatnonzero(filled & ~self.cells[heading].which(is_usual))
        return self.row(int(odd[0])) if odd.size and 2 * odd.size < np.count_nonzero(filled) else None

    def unread_number(self, heading: str) -> Row | None:
        """Return the first row of a column with numbers in an unreadable form (43 %; 0,43); None for others."""
        cells = self.cells[heading]
        odd = np.flatnonzero(cells.which(lambda cell: bool(_PERCENT_OR_COMMA.fullmatch(str(cell).strip()))))
        if not odd.size or odd.size + np.count_nonzero(cells.which(is_finite)) < np.count_nonzero(~cells.blank):
            return None
        return self.row(int(odd[0]))

    def check_numbers(self, heading: str) -> None:
        """Raise `UserError` for a column of numbers with cells that stand for missing numbers (NaN, NA or None).

        One such cell would turn the whole column into text, although "none" is also the word of a level.
        """
        cells = self.cells[heading]
        odd = np.flatnonzero(np.isinf(cells.plain))
        if not odd.size:
            return
        endless, absent = cells.which_others(_is_endless)[odd], cells.which_others(_is_no_number)[odd]
        if (endless | absent).all() and (endless.any() or odd.size < np.count_nonzero(~cells.blank)):
            row = self.row(int(odd[0]))
            cell_text = shown(str(row.cells[heading]), 40)
            raise row.wrong(heading, f"is {cell_text}, in a column of numbers: leave a cell without a number blank")

    def find(
        self, roles: Mapping[str, Sequence[str]], chosen: Mapping[str, str] | None, needed: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return the heading for each role that has one: the one in `chosen`, else the first of its usual names.

        roles: usual names by role, best first. chosen: headings by role, as the user maps them; None where the user
        cannot. Raises `UserError` for an unknown heading, for one that cannot have two of its roles, and for a required
        role without a heading.
        """
        mapped = chosen or {}
        for heading in mapped.values():
            if heading not in self.headings:
                hint = did_you_mean(heading, self.headings)
                raise UserError(f"{self.name} has no column {shown(heading)}.{hint} Columns: {_listed(self.headings)}.")
        for first, other in combinations(mapped, 2):
            if mapped[first] == mapped[other] and (_VALUES & {first, other} or {first, other} <= _TEXTS):
                raise UserError(
                    f"{self.name}: column {shown(mapped[first])} is given both for the {first} and for the "
                    f"{other}: give another column for one of them. Columns: {_listed(self.headings)}."
                )
        heading_by_role = dict(mapped)
        taken = set(mapped.values())
        for role, names in roles.items():
            if role in heading_by_role:
                continue
            known = {_plain(heading): heading for heading in reversed(self.headings) if heading not in taken}
            match = next((known[_plain(name)] for name in names if _plain(name) in known), None)
            if match is not None:
                heading_by_role[role] = match
                taken.add(match)
        for role in needed:
            if role not in heading_by_role:
                usual = ", ".join(roles[role][:4])
                cure = "rename one" if chosen is None else f"rename one, or {name_column(role)}"
                raise UserError(
                    f"{self.name} has no column for the {role} ({usual} ...); its columns are "
                    f"{_listed(self.headings)}: {cure}."
                )
        return heading_by_role


def name_column(role: str) -> str:
    """Return the advice how to name a column for a role, on the command line and in Python."""
    return f"add --map {role}=COLUMN (in Python: columns={{{role!r}: COLUMN}})"


def warn_of_swap(name: str, columns: Mapping[str, str], lengths: Sequence[tuple[int, int]]) -> None:
    """Warn if statements are far longer than their sources, as they are if the two columns are swapped.

    columns: headings by role. lengths: of the source and the statement of some rows.
    """
    if not lengths:
        return
    source, statement = (median(side) for side in zip(*lengths, strict=True))
    if statement > 2 * source > 0:
        statement_heading, other = columns["statement"], columns["source"]
        _log.warning(
            "%s: the statements (column %s) are longer than their sources (column %s), with %s characters against %s: "
            "where the two are swapped, add --map %s --map %s (in Python: columns=).",
            *(name, shown(statement_heading), shown(other), f"{statement:,.0f}", f"{source:,.0f}"),
            *(shlex.quote(f"statement={other}"), shlex.quote(f"source={statement_heading}")),
        )


def text_of(value: Any) -> str:
    """Return the text of a cell's value, as `Row.text` does."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list | tuple):
        return "\n\n".join(str(part) for part in value)
    text = str(value).strip()
    return text[1:] if _GUARDED.match(text) else text


def number_of(cell: Any) -> Any:
    """Return a cell as a number if its text is one; return any other cell unchanged."""
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def is_finite(cell: Any) -> bool:
    """Return whether a cell is a finite number, or its text is one."""
    number = number_of(cell)
    return isinstance(number, int | float) and math.isfinite(number)


def _is_endless(cell: Any) -> bool:
    """Return whether a cell is infinite or not-a-number, or its text is."""
    number = number_of(cell)
    return isinstance(number, float) and not math.isfinite(number)


def _is_no_number(cell: Any) -> bool:
    """Return whether a cell holds what programs write for a missing number."""
    return str(cell).strip().casefold() in _NO_NUMBER


def _listed(names: Iterable[str]) -> str:
    return ", ".join(shown(name, 30) for name in names)


def _plain(heading: str) -> str:
    return _WORDS.sub("", heading.casefold())
