"""Tables in memory: columns of cells, the search for the heading of each role, and errors that name a cell."""

from __future__ import annotations

import logging
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from metaeval.column_arrays import Cells, Coded, number_in, text_array
from metaeval.errors import UserError, did_you_mean, shown
from metaeval.table_settings import skips_bad_cells

_log = logging.getLogger("metaeval")

Rows = NDArray[np.intp]
IsCell = Callable[[Any], bool]


_VALUES = frozenset({"gold", "score", "level", "probability", "status", "tokens", "cut"})
_TEXTS = frozenset({"source", "statement", "text"})
"""Roles whose column cannot be shared: a value (`_VALUES`) with no other role, a text (`_TEXTS`) with no other text."""

# What programs write where they have no number.
_NO_NUMBER = frozenset("nan na n/a #n/a <na> nat null none nil".split())
_WORDS = re.compile(r"[\W_]+")
_OTHER_LOCALE = re.compile(r"[-+−]?(\d+|\d{1,3}([.,'’ \u00a0\u202f]\d{3})+)([.,٫．]\d+)?\s*[%٪％]?")
_ACCENTS = re.compile("[\u0300-\u036f]")
_BRACKETED = re.compile(r"\(.*?\)|\[.*?\]")
_GUARDED = re.compile(r"'[=+@\t\r\n＝＋－＠-]")


@dataclass(frozen=True, slots=True)
class Wrong:
    """The stand-in for a cell that cannot be read, as a formula. why: what it holds and what to do, as a clause."""

    why: str


@dataclass(frozen=True)
class Row:
    """One row of a table: its cells by heading. where: location of the row; places: of its cells, if they have any."""

    where: str
    cells: Mapping[str, Any]
    places: Mapping[str, str]

    def value(self, heading: str) -> Any:
        """Return a cell's value, None if it is blank or missing; raises `UserError` for a cell that is `Wrong`."""
        value = self.cells.get(heading)
        if isinstance(value, Wrong):
            raise UserError(f"{self.place(heading)} {value.why}.")
        return value

    def text(self, heading: str) -> str:
        """Return a cell as text (see `text_of`), "" if blank; raises `UserError` for a cell that is `Wrong`."""
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
        """Return the cells of a column; raises `UserError` for the first cell that is `Wrong`."""
        cells = self.cells[heading]
        if cells.array.dtype == np.object_:
            for row in np.flatnonzero(cells.which(lambda cell: isinstance(cell, Wrong))):
                self.row(int(row)).value(heading)
        return cells

    def texts(self, heading: str) -> Iterator[str]:
        """Yield each cell of a column as text (see `text_of`); raises `UserError` for the first that is `Wrong`."""
        return map(text_of, self.column(heading))

    def coded(self, heading: str) -> Coded[str]:
        """Return a column as text (see `text_of`), coded by its distinct texts; raises `UserError` as `column` does."""
        cells = self.column(heading)
        if not cells.are_numbers:
            return Coded.of(map(text_of, cells))
        values, codes = np.unique(cells.array, return_inverse=True)
        return Coded(text_array(map(text_of, Cells(values))), codes.astype(np.int32))

    def is_numbers(self, heading: str) -> bool:
        """Return whether a column holds only blanks and numbers (also as text, NaN, infinity), at least one number."""
        cells = [number_of(cell) for cell in self.cells[heading] if cell is not None]
        return bool(cells) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)

    def of_numbers(self, headings: Iterable[str], is_word: IsCell, otherwise: str = "") -> TypedTable:
        """Return the table after a check that the columns of numbers among `headings` hold numbers and blanks alone.

        A column is one of numbers if most of its filled cells are, also in forms that are not read (43 %); others stay
        as they are. is_word: whether a cell counts as a number although it is a word. otherwise: end of the error
        message, on a column that is meant as something else.

        Raises `UserError` for the first other cell (0,43; 43 %; 1e; #DIV/0!; None; digits that are not 0 to 9), unless
        the command skips bad cells, which are then blank, and counted in a warning.
        """
        return self.blanking({heading: self._bad_cells(heading, is_word) for heading in headings}, otherwise)

    def without_absent(self, headings: Iterable[str]) -> TypedTable:
        """Refuse words for a missing number (NaN, NA, none) and infinity in columns that otherwise hold only numbers.

        Raises `UserError` for the first such cell; where the command skips bad cells, returns the table with these
        cells blank. A column of nothing but "none" stays as it is: this can be the name of a level.
        """
        return self.blanking({heading: self._absent_cells(heading) for heading in headings})

    def _absent_cells(self, heading: str) -> Rows:
        """Return the numbers of the rows that `without_absent` refuses in a column; empty for any other column."""
        cells = self.cells[heading]
        other, endless = np.isinf(cells.plain), cells.which_others(_is_endless)
        absent = other.any() and bool((cells.which_others(_is_no_number) | endless)[other].all())
        few = endless.any() or np.count_nonzero(other) < np.count_nonzero(~cells.blank)
        return np.flatnonzero(other if absent and few else [])

    def _bad_cells(self, heading: str, is_word: IsCell) -> Rows:
        """Return the numbers of the rows that `of_numbers` refuses in a column; empty for a column not of numbers."""
        if (absent := self._absent_cells(heading)).size:
            return absent
        cells = self.cells[heading]
        filled = ~cells.blank & ~cells.which_others(is_missing)
        bad = filled & np.isinf(cells.plain) & ~cells.which_others(is_word)
        numbers = filled & (~bad | cells.which_others(_is_of_other_locale))
        most = 2 * np.count_nonzero(numbers) > np.count_nonzero(filled)
        return np.flatnonzero(bad if most else [])

    def blanking(self, bad: Mapping[str, Rows], otherwise: str = "") -> TypedTable:
        """Return the table with the cells `bad` (rows by heading) blank; `UserError` unless bad cells are skipped."""
        bad = {heading: rows for heading, rows in bad.items() if rows.size}
        if not bad:
            return self
        heading = min(bad, key=lambda name: int(bad[name][0]))
        row = self.row(int(bad[heading][0]))
        cell = row.cells[heading]
        if not skips_bad_cells():
            cure = "write numbers as 0.43 or 43" if _is_of_other_locale(cell) else "leave a cell without a number blank"
            what = shown(str(row.value(heading)), 40)
            skip = f"or add --set skip_bad_cells=true (in Python skip_bad_cells=True){otherwise}"
            raise row.wrong(heading, f"is {what}, in a column of numbers: {cure}, {skip}")
        counts = ", ".join(f"{rows.size:,} in {shown(name)}" for name, rows in bad.items())
        example = f"{row.place(heading)}, {shown(cell.why if isinstance(cell, Wrong) else str(cell), 40)}"
        _log.warning("%s: cells that are not numbers count as blank: %s (%s).", self.name, counts, example)
        return replace(self, cells={**self.cells, **{name: self.cells[name].blanked(bad[name]) for name in bad}})

    def like(self, names: Iterable[str]) -> list[str]:
        """Return the headings that equal one of the names, in the order of the names; `plain_heading` is compared.

        Headings that equal a name only without their part in brackets, as in "score (0-1)", come last.
        """
        whole = {plain_heading(heading): heading for heading in reversed(self.headings)}
        bare = {plain_heading(_BRACKETED.sub("", heading)): heading for heading in reversed(self.headings)}
        wanted = [plain_heading(name) for name in names]
        return list(dict.fromkeys(known[name] for known in (whole, bare) for name in wanted if name in known))

    def find(
        self, roles: Mapping[str, Sequence[str]], chosen: Mapping[str, str] | None, needed: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return the heading for each role that has one: the one in `chosen`, else the first of its usual names.

        A heading serves one role, unless `chosen` says otherwise. roles: usual names by role, best first. chosen:
        headings by role, as the user maps them; None where a user cannot. needed: roles that must have one. Raises
        `UserError` for an unknown heading, for one mapped to two roles that exclude each other, and for a required role
        without a heading.
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
            match = next((heading for heading in self.like(names) if heading not in taken), None)
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
    """Return advice on how to name the column for a role, on the command line and in Python, as a clause."""
    return f"add --map {role}=COLUMN (in Python: columns={{{role!r}: COLUMN}})"


def warn_of_swap(name: str, columns: Mapping[str, str], lengths: Sequence[tuple[int, int]]) -> None:
    """Warn if the median statement is more than twice as long as the median source: the columns may be swapped.

    name: of the table. columns: headings by role. lengths: (source, statement) of each pair, in characters.
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
    """Return a cell's value as text: stripped, 3.0 as "3", the items of a list as paragraphs; "" for None.

    An apostrophe before the beginning of a formula, with which tables are written, is taken off.
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list | tuple):
        return "\n\n".join(str(part) for part in value)
    text = str(value).strip()
    return text[1:] if _GUARDED.match(text) else text


def number_of(cell: Any) -> Any:
    """Return a text cell that holds a number as float (NaN and infinity too); return any other cell unchanged."""
    try:
        return number_in(cell) if isinstance(cell, str) else cell
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


def is_blank(value: object) -> bool:
    """Return whether a value stands for a blank cell: None, NaN, pandas' NA or NaT, or nothing but white space."""
    if isinstance(value, str):
        return not value.strip()
    is_nan = isinstance(value, float | Decimal) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_missing(cell: Any) -> bool:
    """Return whether a cell holds what programs write for a missing value, other than "none", which is a level."""
    return _is_no_number(cell) and plain_heading(str(cell)) != "none"


def _is_no_number(cell: Any) -> bool:
    """Return whether a cell holds what programs write for a missing number: NaN, NA, null, None, nil."""
    return str(cell).strip().casefold() in _NO_NUMBER


def _is_of_other_locale(cell: Any) -> bool:
    """Return whether a cell holds a number in a form that is not read: 43 %, 0,43, 1.234,5 or other digits."""
    return isinstance(cell, str) and bool(_OTHER_LOCALE.fullmatch(cell.strip()))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(shown(name, 30) for name in names)


def plain_heading(heading: str) -> str:
    """Return what is compared of a heading: its letters and digits, without case and accents."""
    return _WORDS.sub("", _ACCENTS.sub("", normalize("NFKD", heading).casefold()))
