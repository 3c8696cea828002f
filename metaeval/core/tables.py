"""People's tables: one reader of CSV, TSV, XLSX, Parquet, JSON lines and data frames, whose columns have roles.

A table is a data frame of cells as the file has them: text, unless the file has types; no type is guessed. What a
program would read as something else (a merged cell, a formula, a decimal comma) ends in one sentence that names the
cell and what to do about it.
"""

from __future__ import annotations

import csv
import io
import logging
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice, zip_longest
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metaeval.core.cells import (
    Cells,
    Indices,
    Numbers,
    cell_list,
    cells_of,
    distinct,
    each,
    is_blank,
    is_endless,
    is_missing,
    is_no_number,
    is_of_other_locale,
    objects,
    plain_heading,
    plain_numbers,
    sheet_lines,
    text_of,
    without_brackets,
)
from metaeval.core.errors import UserError, count, did_you_mean, shown
from metaeval.core.files import MOST_BYTES, spreadsheet_library
from metaeval.core.headings import PAIRS, READING, TEXTS, Headings
from metaeval.core.parsing import MalformedError, decoded, json_objects, parquet_library, parquet_parts

if TYPE_CHECKING:
    from pandas import DataFrame

_log = logging.getLogger("metaeval")

IsCell = Callable[[Any], bool]

TABLES = (".csv", ".tsv", ".xlsx")
"""Endings of files that are tables and nothing else."""

_BLOCK = 256  # lines that are read at a time: of few lists at once, the garbage collector costs little
_INDEX = re.compile(r"|Unnamed: 0(\.\d+)*|__index_level_\d+__")  # as pandas writes it to CSV, again, and to Parquet
_VALUES = frozenset({"gold", "score", "level", "probability", "status", "tokens", "cut"})
_TEXTS = frozenset({"source", "statement", "text"})
"""Roles whose column cannot be shared: a value (`_VALUES`) with no other role, a text (`_TEXTS`) with no other text."""


@dataclass(frozen=True)
class Row:
    """One row of a table: its cells by heading. number: the row's, from 0."""

    table: UserTable
    number: int
    cells: Mapping[str, Any]

    @property
    def where(self) -> str:
        """The row's location in words."""
        return f"{self.table.name} {self.table.unit} {self.table.frame.index[self.number]}"

    def value(self, heading: str) -> Any:
        """Return a cell's value, None if it is blank or missing; raises `UserError` for a cell that cannot be read."""
        value = self.cells.get(heading)
        if isinstance(value, UserError):
            raise value
        return value

    def text(self, heading: str) -> str:
        """Return a cell as text (see `text_of`), "" if blank; raises `UserError` for a cell that cannot be read."""
        return text_of(self.value(heading))

    def place(self, heading: str) -> str:
        """Return a cell's location in words."""
        if letter := self.table.letters.get(heading):
            return f"{self.table.name} cell {letter}{self.table.frame.index[self.number]}"
        return f"{self.where}, column {shown(heading)}"

    def wrong(self, heading: str, why: str) -> UserError:
        """Return the error for a cell. why: what is wrong with it, and what to do, as a clause without a full stop."""
        return UserError(f"{self.place(heading)} {why}.")


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table of people's own. name: of the file, for messages.

    frame: cells by heading; its index has the numbers that the file gives its rows. A cell that cannot be read, as a
    formula, is the `UserError` that says so. unit: the word for a row. letters: of a spreadsheet's columns, by heading.
    """

    name: str
    frame: DataFrame
    unit: str = "row"
    letters: Mapping[str, str] = field(default_factory=dict)

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings, in order."""
        return tuple(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def rows(self) -> list[Row]:
        """All rows."""
        columns = [
            [None if cell != cell else cell for cell in column.tolist()]
            if column.dtype.kind == "f"
            else column.tolist()
            for column in (self.frame[heading].to_numpy() for heading in self.headings)
        ]
        cells = zip(*columns, strict=True)
        return [Row(self, number, dict(zip(self.headings, row, strict=True))) for number, row in enumerate(cells)]

    def row(self, number: int) -> Row:
        """Return the row with a number, from 0."""
        return replace(self, frame=self.frame.iloc[number : number + 1]).rows[0]

    def column(self, heading: str) -> Cells:
        """Return the cells of a column; raises `UserError` for the first cell that cannot be read."""
        cells: Cells = self.frame[heading].to_numpy()
        for cell in cells if self.letters else ():  # of a spreadsheet
            if isinstance(cell, UserError):
                raise cell
        return cells

    def texts(self, heading: str) -> Cells:
        """Return the cells of a column as texts (see `text_of`), (n,); raises `UserError` as `column` does."""
        return each(text_of, self.column(heading))

    @cached_property
    def _read(self) -> dict[str, tuple[Numbers, Cells, Indices]]:
        return {}

    def read(self, heading: str) -> tuple[Numbers, Cells, Indices]:
        """Return a column's `plain` numbers, the distinct cells with other content, and the index of each in them."""
        if heading not in self._read:
            cells: Cells = self.frame[heading].to_numpy()
            plain = plain_numbers(cells)
            self._read[heading] = plain, *distinct(cells[np.isinf(plain)])
        return self._read[heading]

    def plain(self, heading: str) -> Numbers:
        """Return the finite number in each cell (or in its text), (n,): NaN if blank, infinity for other content."""
        return self.read(heading)[0]

    def is_numbers(self, heading: str) -> bool:
        """Return whether a column holds only blanks and finite numbers (also as text), at least one number."""
        plain, cells = self.plain(heading), self.frame[heading]
        is_bool = cells.dtype == np.object_ and any(isinstance(cell, bool) for cell in cells)
        return bool(np.isfinite(plain).any()) and not np.isinf(plain).any() and not is_bool

    def checked(self, headings: Iterable[str], is_word: IsCell | None = None, otherwise: str = "") -> UserTable:
        """Return the table after a check that the columns of numbers among `headings` hold numbers and blanks alone.

        A column is one of numbers if most of its filled cells are, also in forms that are not read (43 %); others stay
        as they are. is_word: whether a cell counts as a number although it is a word; None: any word does, and only
        words for a missing number (NaN, NA, none) and infinity among numbers are refused. otherwise: end of the error
        message, on a column that is meant as something else.

        Raises `UserError` for the first other cell (0,43; 43 %; 1e; #DIV/0!; None; digits that are not 0 to 9), unless
        the command skips bad cells, which are then blank, and counted in a warning.
        """
        return self.blanking({heading: self._bad_rows(heading, is_word) for heading in headings}, otherwise)

    def _bad_rows(self, heading: str, is_word: IsCell | None) -> Indices:
        plain, names, codes = self.read(heading)
        rows, filled = np.flatnonzero(np.isinf(plain)), np.count_nonzero(~np.isnan(plain))

        def which(test: IsCell) -> NDArray[np.bool_]:
            return np.array([bool(test(name)) for name in names.tolist()], dtype=np.bool_)[codes]

        endless = which(is_endless)
        # A column of nothing but "none" stays as it is: this can be the name of a level.
        if (endless.any() or rows.size < filled) and (endless | which(is_no_number)).all():
            return rows
        if is_word is None:
            return rows[:0]
        missing = which(is_missing)
        bad = ~missing & ~which(is_word)
        numbers = filled - missing.sum() - (bad & ~which(is_of_other_locale)).sum()
        return rows[bad] if 2 * numbers > filled - missing.sum() else rows[:0]

    def blanking(self, bad: Mapping[str, Indices], otherwise: str = "") -> UserTable:
        """Return the table with the cells `bad` (rows by heading) blank; `UserError` unless bad cells are skipped."""
        bad = {heading: rows for heading, rows in bad.items() if rows.size}
        if not bad:
            return self
        heading = min(bad, key=lambda name: int(bad[name][0]))
        row = self.row(int(bad[heading][0]))
        cell = shown(str(row.cells[heading]), 40)
        if not READING.get()[1]:
            row.value(heading)
            other = is_of_other_locale(row.cells[heading])
            cure = "write numbers as 0.43 or 43" if other else "leave a cell without a number blank"
            skip = f"or add --set skip_bad_cells=true (in Python skip_bad_cells=True){otherwise}"
            raise row.wrong(heading, f"is {cell}, in a column of numbers: {cure}, {skip}")
        counts = ", ".join(f"{rows.size:,} in {shown(name)}" for name, rows in bad.items())
        example = f"{row.place(heading)}, {cell}"
        _log.warning("%s: cells that are not numbers count as blank: %s (%s).", self.name, counts, example)
        columns = {name: self.frame[name].to_numpy(np.object_, copy=True) for name in bad}
        for name, rows in bad.items():
            columns[name][rows] = None
        return self.replacing(columns)

    def replacing(self, columns: Mapping[str, Cells]) -> UserTable:
        """Return the table with other cells in some columns."""
        import pandas

        series = {name: pandas.Series(cells, self.frame.index, cells.dtype) for name, cells in columns.items()}
        return replace(self, frame=self.frame.assign(**series))

    @cached_property
    def _known(self) -> list[dict[str, str]]:
        """The headings by what is compared of them: whole, and without what stands in brackets."""
        return [
            {plain_heading(form(heading)): heading for heading in reversed(self.headings)}
            for form in (str, without_brackets)
        ]

    def like(self, names: Iterable[str]) -> list[str]:
        """Return the headings that equal one of the names, in the order of the names; `plain_heading` is compared.

        Headings that equal a name only without their part in brackets, as in "score (0-1)", come last.
        """
        wanted = [plain_heading(name) for name in names]
        return list(dict.fromkeys(known[name] for known in self._known for name in wanted if name in known))

    def find(self, roles: Headings, chosen: Mapping[str, str] | None, needed: Iterable[str] = ()) -> dict[str, str]:
        """Return the heading for each role that has one: the one in `chosen`, else the first of its usual names.

        A heading serves one role, unless `chosen` says otherwise. roles: usual names by role, best first. chosen:
        headings by role, as the user maps them; None where a user cannot. needed: roles that must have one. Raises
        `UserError` for an unknown heading, for one mapped to two roles that exclude each other, and for a required role
        without a heading.
        """
        mapped, listed = chosen or {}, ", ".join(shown(name, 30) for name in self.headings)
        for heading in mapped.values():
            if heading not in self.headings:
                hint = did_you_mean(heading, self.headings)
                raise UserError(f"{self.name} has no column {shown(heading)}.{hint} Columns: {listed}.")
        for first, other in combinations(mapped, 2):
            if mapped[first] == mapped[other] and (_VALUES & {first, other} or {first, other} <= _TEXTS):
                raise UserError(
                    f"{self.name}: {shown(mapped[first])} is given for {first} and {other}; columns: {listed}."
                )
        heading_by_role = dict(mapped)
        for role, names in roles.items():
            free = (heading for heading in self.like(names) if heading not in heading_by_role.values())
            if role not in heading_by_role and (match := next(free, None)) is not None:
                heading_by_role[role] = match
        if lacking := next((role for role in needed if role not in heading_by_role), None):
            usual = ", ".join(roles[lacking][:4])
            cure = "rename one" if chosen is None else f"rename one, or {name_column(lacking)}"
            raise UserError(f"{self.name} has no column for the {lacking} ({usual} ...) among {listed}: {cure}.")
        return heading_by_role

    def group_cure(self, fields: Iterable[str]) -> str:
        """Return advice to name the column of groups; it lists up to three headings of `fields` whose values repeat."""
        repeated = {heading: len({*self.texts(heading)}) for heading in fields}
        fits = [
            f"{shown(name)} has {count(many, 'value')}" for name, many in repeated.items() if 1 < many < len(self) / 2
        ]
        known = f" ({', '.join(fits[:3])})" if fits else ""
        return f"Where rows share an article or a query, name its column: --map group=COLUMN{known}."


def any_table(table: Any, name: str) -> UserTable:
    """Return a file, a data frame, or mappings with one field per column as a table. name: of one without a file."""
    return read_table(Path(table)) if isinstance(table, str | Path) else table_of(name, table)


def unzipped_ending(path: Path) -> str:
    """Return the ending of a file's name in lower case, with its dot; a last .gz is ignored."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_table(path: Path) -> UserTable:
    """Read a file as a table; raises `UserError` if it is not a table of one header row and rows."""
    if not path.exists():
        raise UserError(f"Cannot read {path}: No such file; allowed: a table as CSV, TSV, XLSX, Parquet or JSON lines.")
    ending = unzipped_ending(path)
    if ending == ".xlsx":
        letter = spreadsheet_library("save it as CSV").utils.get_column_letter
        return _from_lines(path, "row", sheet_lines(path), letter)
    if ending in (".csv", ".tsv", ".txt"):
        return _from_lines(path, "line", _delimited(path, ending))
    if ending in (".xls", ".ods", ".numbers"):
        raise UserError(f"{path} is a spreadsheet of another kind ({ending}): save it as .xlsx or .csv.")
    if ending == ".parquet":
        try:
            batches = list(parquet_parts(path))
            return table_of(str(path), parquet_library().Table.from_batches(batches) if batches else [])
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: a text is not UTF-8 ({error.reason}): save the file as UTF-8.") from error
    records = list(json_objects(path, ""))
    return table_of(str(path), [fields for _, fields in records], [where for where, _ in records])


def table_of(name: str, records: Any, places: Sequence[str] = ()) -> UserTable:
    """Return records as a table: mappings, or a data frame of pandas, polars, pyarrow or narwhals.

    places: location of each row, as FILE UNIT NUMBER. Raises `UserError` for no records, or records not of fields.
    """
    if hasattr(records, "to_native"):
        records = records.to_native()
    if hasattr(records, "to_pydict"):
        names, columns = records.schema.names, records.columns
    elif hasattr(records, "to_dicts"):
        names, columns = records.columns, records.get_columns()
    elif hasattr(records, "columns") and hasattr(records, "to_dict"):
        names, columns = records.columns, [records.iloc[:, place] for place in range(len(records.columns))]
    else:
        listed = list(records) if isinstance(records, Iterable) else []
        if not all(isinstance(record, Mapping) for record in listed):
            listed = []
        names = dict.fromkeys(heading for record in listed for heading in record)
        columns = [[record.get(heading) for record in listed] for heading in names]
    cells = list(map(cells_of, columns))
    numbers = [int(place.rpartition(" ")[2]) for place in places] or range(1, len(cells[0]) + 1 if cells else 1)
    return of_columns(name, headings_of(names, name), cells, numbers, places[0].split()[-2] if places else "row")


def headings_of(names: Iterable[Any], where: str) -> list[str]:
    """Return the headings of a table's columns as text, stripped; `UserError` for one that appears twice."""
    headings = ["" if name is None else str(name).strip() for name in names]
    if twice := next((heading for heading in headings if heading and headings.count(heading) > 1), None):
        raise UserError(f"{where}: column {shown(twice)} appears twice: rename one of the two.")
    return headings


def of_columns(
    name: str, headings: Sequence[str], columns: Iterable[Cells], numbers: Any, unit: str, letters: Any = ()
) -> UserTable:
    """Return a table without the columns of row numbers that pandas writes; `UserError` for one without rows."""
    import pandas

    letters, kept = dict(letters), list[tuple[str, Cells]]()
    for place, (heading, cells) in enumerate(zip(headings, columns, strict=True)):
        if _INDEX.fullmatch(heading) and (not place or heading.startswith("__")):
            read = plain_numbers(cells)
            empty = np.isnan(read).all()
            numbers_rows = np.unique(read).size == read.size and (np.isfinite(read) & (read >= 0)).all()
            if empty or (numbers_rows and (read % 1 == 0).all()):
                if not empty:
                    why = "holds row numbers, as pandas writes them, and is left out; a column of ids needs another"
                    _log.warning("%s: the column %s %s heading.", name, shown(heading), why)
                continue
            if not heading:
                row = int(np.argmax(~np.isnan(read)))
                raise _without_heading(name, unit, letters.get(""), numbers[row], cells[row])
        kept.append((heading, cells))
    frame = pandas.DataFrame(
        {place: pandas.Series(cells, dtype=cells.dtype, copy=False) for place, (_, cells) in enumerate(kept)},
        copy=False,
    )
    if not frame.size:
        raise UserError(f"{name} holds no rows; allowed: a header line, and rows (in Python also mappings).")
    frame.columns, frame.index = pandas.Index([heading for heading, _ in kept], dtype=object), pandas.Index(numbers)
    return UserTable(name, frame, unit, letters)


def _without_heading(name: str, unit: str, letter: str | None, number: int, cell: Any) -> UserError:
    place = f"cell {letter}{number}" if letter else f"{unit} {number}"
    why = "in a column without a heading. Write one header row with a name for each column."
    return cell if isinstance(cell, UserError) else UserError(f"{name} {place} has {shown(str(cell), 30)} {why}")


def _delimited(path: Path, ending: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of the lines of a delimited file; rows that are cut short are counted in a warning."""
    text = decoded(path, READING.get()[0])
    first = text.partition("\n")[0]
    delimiter = "\t" if ending == ".tsv" else max(",;\t", key=lambda mark: (first.count(mark), mark == ","))
    csv.field_size_limit(min(MOST_BYTES, 2**31 - 1))  # the file is bounded; a web page may be one cell
    file = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass")), "utf-8", "surrogatepass", newline="")
    del text
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    width, short = 0, list[int]()
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                width = width or len(cells)
                if len(cells) < width:
                    short.append(reader.line_num)
                yield reader.line_num, cells
    except csv.Error as error:
        raise UserError(f"{path} line {reader.line_num} is not CSV ({error}): save it again.") from error
    if short:
        counted = "1 row has" if len(short) == 1 else f"{count(len(short), 'row')} have"
        _log.warning("%s: %s fewer cells than the header (line %s): the last count as blank.", path, counted, short[0])


def _from_lines(
    path: Path, unit: str, lines: Iterator[tuple[int, list[Any]]], letter: Callable[[int], str] | None = None
) -> UserTable:
    """Return a table from lines that are not blank, of which the first is the header.

    unit: word for a line. letter: returns the letter of a spreadsheet's column by its number, from 1.
    """
    top, header = next(lines, (0, []))
    where = f"{path} {unit} {top}"
    if wrong := next((cell for cell in header if isinstance(cell, UserError)), None):
        raise wrong
    headings = headings_of(header, where)
    named = [place for place, heading in enumerate(headings) if heading or not place]
    numbers, parts = [np.zeros(0, np.intp)], {place: [objects([])] for place in named}
    while block := list(islice(lines, _BLOCK)):
        some, rows = zip(*block, strict=True)
        if len(named) == 1 and len(numbers) == 1 and sum(not is_blank(cell) for cell in rows[0]) > 1:
            title = shown("".join(headings))
            raise UserError(f"{where} holds a title, not headings ({title}): delete the rows above the headings.")
        numbers.append(np.array(some))
        for place, (_, *column) in enumerate(zip_longest(headings, *rows)):
            cells = objects(None if isinstance(cell, str) and not cell.strip() else cell for cell in column)
            if place in parts:
                parts[place].append(cells)
            elif (filled := np.flatnonzero(cells != None)).size:  # noqa: E711 - of each cell
                row = filled[0]
                raise _without_heading(str(path), unit, letter and letter(place + 1), some[row], cells[row])
    letters = {headings[place]: letter(place + 1) for place in named} if letter else {}
    columns = [np.concatenate(parts.pop(place)) for place in named]
    return of_columns(str(path), [headings[place] for place in named], columns, np.concatenate(numbers), unit, letters)


def name_column(role: str) -> str:
    """Return advice on how to name the column for a role, on the command line and in Python, as a clause."""
    return f"add --map {role}=COLUMN (in Python: columns={{{role!r}: COLUMN}})"


def pairs_in(table: UserTable, chosen: Mapping[str, str]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return the (source, statement) texts in each row, and headings by role; `UserError` where a text is missing."""
    columns = table.find(PAIRS, chosen, TEXTS)
    named = {*chosen.values(), *TEXTS}
    if guessed := [f"{role} from {shown(columns[role])}" for role in TEXTS if columns[role] not in named]:
        _log.warning("%s is scored so: %s.", table.name, ", ".join(guessed))
    pairs = [(_paragraphs(row, columns["source"]), _paragraphs(row, columns["statement"])) for row in table.rows]
    warn_of_swap(table.name, columns, [(len(source), len(statement)) for source, statement in pairs])
    return pairs, columns


def _paragraphs(row: Row, heading: str) -> str:
    """Return the text in a cell, of a list of texts (also as JSON) its paragraphs; `UserError` for anything else."""
    cell = row.value(heading)
    with suppress(MalformedError):
        listed = cell_list(cell)
        cell = "\n\n".join(listed) if listed and all(isinstance(text, str) for text in listed) else cell
    text = text_of(cell) if isinstance(cell, str) else ""
    if not text:
        raise row.wrong(heading, f"is {'blank' if cell in (None, '') else shown(cell)}; it must be a text")
    return text


def warn_of_swap(name: str, columns: Mapping[str, str], lengths: Sequence[tuple[int, int]]) -> None:
    """Warn if the median statement is more than twice as long as the median source: the columns may be swapped.

    name: of the table. columns: headings by role. lengths: (source, statement) of each pair, in characters.
    """
    source, statement = (median(side) for side in zip(*lengths, strict=True)) if lengths else (0, 0)
    if statement > 2 * source:
        statement_heading, other = columns["statement"], columns["source"]
        _log.warning(
            "%s: the statements (column %s) are longer than their sources (column %s), with %s characters against %s: "
            "where the two are swapped, add --map %s --map %s (in Python: columns=).",
            *(name, shown(statement_heading), shown(other), f"{statement:,.0f}", f"{source:,.0f}"),
            *(shlex.quote(f"statement={other}"), shlex.quote(f"source={statement_heading}")),
        )
