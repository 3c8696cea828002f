"""Tables of people's own: CSV, TSV, XLSX, JSON lines, Parquet or data frames; columns found by what they are for.

A spreadsheet is read as it looks: what a program would read as something else (a merged cell, a formula, a date that
was a fraction) ends in one sentence that names the cell and what to do about it.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import logging
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from metaeval.errors import UserError, did_you_mean, shown
from metaeval.files import atomic_write, csv_text, read_bytes, write_text
from metaeval.reading import json_objects, parquet_rows, read_text
from metaeval.shown import visible

_log = logging.getLogger("metaeval")

PLAIN_NUMBERS = "write numbers with a decimal point and without %"

TABLES = (".csv", ".tsv", ".xlsx")
"""Endings of files that are tables and nothing else."""

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
    """A cell that cannot be taken at its word. why: what it holds, and what to do about it, as a clause."""

    why: str


@dataclass(frozen=True)
class Row:
    """One row: its cells by heading, and the words for its place."""

    where: str
    cells: Mapping[str, Any]
    places: Mapping[str, str]

    def value(self, heading: str) -> Any:
        """The value of a cell; None where it is blank. Raises `UserError` for a cell that is `Wrong`."""
        value = self.cells.get(heading)
        if isinstance(value, Wrong):
            raise UserError(f"{self.place(heading)} {value.why}.")
        return value

    def text(self, heading: str) -> str:
        """The text of a cell, without white space around it; numbers as they are typed; empty where it is blank."""
        return text_of(self.value(heading))

    def place(self, heading: str) -> str:
        """The words for a cell's place."""
        return self.places.get(heading, f"{self.where}, column {shown(heading)}")

    def wrong(self, heading: str, why: str) -> UserError:
        """The error for a cell. why: what is wrong with it, and what to do, as a clause without a full stop."""
        return UserError(f"{self.place(heading)} {why}.")


@dataclass(frozen=True)
class Table:
    """Rows under headings. name: of the file, for messages."""

    name: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]

    def is_numbers(self, heading: str) -> bool:
        """Whether a column holds numbers and blanks alone, and at least one number."""
        cells = [number_of(cell) for row in self.rows if (cell := row.cells.get(heading)) is not None]
        return bool(cells) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)

    def odd_cell(self, heading: str, is_usual: Callable[[Any], bool]) -> Row | None:
        """The first row whose cell is not what most cells of the column are; None where all are, or most are not."""
        filled = [row for row in self.rows if row.cells.get(heading) is not None]
        odd = [row for row in filled if not is_usual(row.cells[heading])]
        return odd[0] if odd and 2 * len(odd) < len(filled) else None

    def unread_number(self, heading: str) -> Row | None:
        """The first row of a column that holds numbers as no program reads them, 43 % or 0,43; None for any other."""
        filled = [row for row in self.rows if row.cells.get(heading) is not None]
        odd = [row for row in filled if _PERCENT_OR_COMMA.fullmatch(str(row.cells[heading]).strip())]
        others = [row for row in filled if is_finite(row.cells[heading])]
        return odd[0] if odd and len(odd) + len(others) == len(filled) else None

    def check_numbers(self, heading: str) -> None:
        """Raise `UserError` for a column of numbers where some cells say that there is none, as NaN, NA or None do.

        One of them would turn the whole column into text, and none is a level's word, too. Of any other column nothing
        is said.
        """
        filled = [(row, number_of(cell)) for row in self.rows if (cell := row.cells.get(heading)) is not None]
        odd = [(row, cell) for row, cell in filled if not is_finite(cell)]
        endless = any(isinstance(cell, float) for _, cell in odd)
        absent = all(isinstance(cell, float) or str(cell).strip().casefold() in _NO_NUMBER for _, cell in odd)
        if odd and absent and (endless or len(odd) < len(filled)):
            row = odd[0][0]
            said = shown(str(row.cells[heading]), 40)
            raise row.wrong(heading, f"is {said}, in a column of numbers: leave a cell without a number blank")

    def find(
        self, roles: Mapping[str, Sequence[str]], given: Mapping[str, str] | None, needed: Iterable[str] = ()
    ) -> dict[str, str]:
        """The heading of each role that has one: as given, else the first of its usual names.

        roles: usual names by role, best first. given: headings by role, as the user maps them; None where the user
        cannot. Raises `UserError` for an unknown heading, for one that cannot have two of its roles, and for a role
        that is needed and has none.
        """
        mapped = given or {}
        for heading in mapped.values():
            if heading not in self.headings:
                hint = did_you_mean(heading, self.headings)
                raise UserError(f"{self.name} has no column {shown(heading)}.{hint} Columns: {_listed(self.headings)}.")
        for one, other in combinations(mapped, 2):
            if mapped[one] == mapped[other] and (_VALUES & {one, other} or {one, other} <= _TEXTS):
                raise UserError(
                    f"{self.name}: the column {shown(mapped[one])} is named for the {one} and for the {other}: name "
                    f"another column for one of them. Columns: {_listed(self.headings)}."
                )
        found = dict(mapped)
        taken = set(mapped.values())
        for role, names in roles.items():
            if role in found:
                continue
            known = {_plain(heading): heading for heading in reversed(self.headings) if heading not in taken}
            match = next((known[_plain(name)] for name in names if _plain(name) in known), None)
            if match is not None:
                found[role] = match
                taken.add(match)
        for role in needed:
            if role not in found:
                usual = ", ".join(roles[role][:4])
                cure = "rename one" if given is None else f"rename one, or {name_column(role)}"
                raise UserError(
                    f"{self.name} has no column for the {role} ({usual} ...); its columns are "
                    f"{_listed(self.headings)}: {cure}."
                )
        return found


def name_column(role: str) -> str:
    """How a column is named for a role, on the command line and in Python."""
    return f"add --map {role}=COLUMN (in Python: columns={{{role!r}: COLUMN}})"


def warn_of_swap(name: str, columns: Mapping[str, str], lengths: Sequence[tuple[int, int]]) -> None:
    """Warn of statements that are far longer than their sources, as they are where the two columns are swapped.

    columns: headings by role. lengths: of the source and the statement of some rows.
    """
    if not lengths:
        return
    source, statement = (median(side) for side in zip(*lengths, strict=True))
    if statement > 2 * source > 0:
        one, other = columns["statement"], columns["source"]
        _log.warning(
            "%s: the statements (column %s) are longer than their sources (column %s), with %s characters against %s: "
            "where the two are swapped, add --map %s --map %s (in Python: columns=).",
            *(name, shown(one), shown(other), f"{statement:,.0f}", f"{source:,.0f}"),
            *(shlex.quote(f"statement={other}"), shlex.quote(f"source={one}")),
        )


def text_of(value: Any) -> str:
    """The text of a cell's value, as `Row.text` gives it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, list | tuple):
        return "\n\n".join(str(one) for one in value)
    text = str(value).strip()
    return text[1:] if _GUARDED.match(text) else text


def number_of(cell: Any) -> Any:
    """A cell as the number that its text is; any other cell as it is, for whoever refuses it."""
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def is_finite(cell: Any) -> bool:
    """Whether a cell is a finite number, or a text of one."""
    number = number_of(cell)
    return isinstance(number, int | float) and math.isfinite(number)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(shown(name, 30) for name in names)


def _plain(heading: str) -> str:
    return _WORDS.sub("", heading.casefold())


def read_mapping(pairs: Sequence[str], roles: Iterable[str]) -> dict[str, str]:
    """ROLE=COLUMN texts as headings by role; `UserError` for another text, and for a role that is none of these."""
    found, known = {}, list(roles)
    for pair in pairs:
        role, equals, heading = (part.strip() for part in pair.partition("="))
        if not equals or not role or not heading:
            raise UserError(f"--map {pair}: allowed: ROLE=COLUMN, for example --map level=Verdict.")
        if role not in known:
            raise UserError(f"--map {pair}: no such role.{did_you_mean(role, known)} Roles: {_listed(known)}.")
        found[role] = heading
    return found


def run_columns(given: Any) -> Any:
    """The headings by role of a run, from ROLE=COLUMN texts or a mapping; `UserError` for a role that is none.

    What is neither comes back as it is: it is no value of the setting.
    """
    pairs = [f"{role}={heading}" for role, heading in given.items()] if isinstance(given, Mapping) else given
    if not isinstance(pairs, list | tuple) or not all(isinstance(pair, str) for pair in pairs):
        return given
    return read_mapping(pairs, dict.fromkeys((*SCORE_ROLES, *RATING_ROLES, *TEXT_ROLES)))


def any_table(given: Any, name: str) -> Table:
    """The table of a file, a data frame, or mappings with one field a column. name: of what has none, for messages."""
    return read_table(Path(given)) if isinstance(given, str | Path) else table_of(name, given)


def read_table(path: Path) -> Table:
    """The table of a file. Raises `UserError` for a file that is no table of one header row and rows."""
    if not path.exists():
        raise UserError(f"Cannot read {path}: No such file; allowed: a table as CSV, TSV, XLSX, Parquet or JSON lines.")
    ending = path.suffix.lower()
    if ending == ".xlsx":
        return _sheet(path)
    if ending in (".csv", ".tsv", ".txt"):
        return _delimited(path, ending)
    if ending in (".xls", ".ods", ".numbers"):
        raise UserError(f"{path} is a spreadsheet of another kind ({ending}): save it as .xlsx or .csv.")
    if ending == ".parquet":
        return table_of(str(path), parquet_rows(path))
    found = list(json_objects(path, ""))
    return table_of(str(path), [fields for _, fields in found], [where for where, _ in found])


def table_of(name: str, records: Any, places: Sequence[str] | None = None) -> Table:
    """The table of records: mappings, or a data frame of pandas, polars, pyarrow or narwhals. places: words for each.

    Raises `UserError` for what holds no rows of fields.
    """
    if hasattr(records, "to_native"):
        records = records.to_native()
    if hasattr(records, "to_pylist"):
        records = records.to_pylist()
    elif hasattr(records, "to_dicts"):
        records = records.to_dicts()
    elif hasattr(records, "columns") and hasattr(records, "to_dict"):
        records = records.astype(object).where(records.notna(), None).to_dict("records")
    listed = list(records) if isinstance(records, Iterable) else []
    if not listed or not all(isinstance(one, Mapping) for one in listed):
        raise UserError(f"{name} holds no rows: give a file, a data frame, or mappings with one field a column.")
    headings = tuple(dict.fromkeys(str(heading) for one in listed for heading in one))
    where = places or [f"{name} row {number}" for number in range(1, len(listed) + 1)]
    cells = ({str(heading): None if _is_blank(value) else value for heading, value in one.items()} for one in listed)
    return Table(name, headings, tuple(Row(place, one, {}) for place, one in zip(where, cells, strict=True)))


def _is_blank(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and value != value)


def _delimited(path: Path, ending: str) -> Table:
    text = read_text(path, "save it as UTF-8 (in a spreadsheet: CSV UTF-8)")
    first = text.split("\n", 1)[0]
    delimiter = "\t" if ending == ".tsv" else max(",;\t", key=lambda mark: (first.count(mark), mark == ","))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines: list[tuple[str, list[Any], list[str]]] = []
    try:
        for cells in reader:
            lines.append((f"{path} line {reader.line_num}", [cell if cell.strip() else None for cell in cells], []))
    except csv.Error as error:
        raise UserError(
            f"{path} line {reader.line_num} is not CSV ({error}): save it anew from the spreadsheet."
        ) from error
    return _from_lines(path, lines)


def _openpyxl(otherwise: str) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"A .xlsx file needs openpyxl, not installed here: type \"pip install 'metaeval[xlsx]'\", or {otherwise}."
        ) from error
    return openpyxl


def _sheet(path: Path) -> Table:
    openpyxl = _openpyxl("save it as CSV")
    try:
        book = openpyxl.load_workbook(io.BytesIO(read_bytes(path)))
    except UserError:
        raise
    except Exception as error:  # openpyxl lets out whatever it stumbles over: KeyError, BadZipFile, ParseError ...
        raise UserError(
            f"{path} is not a readable .xlsx file ({type(error).__name__}): save it anew, or as .csv."
        ) from error
    filled = [sheet for sheet in book.worksheets if sheet.max_row > 1 or sheet.max_column > 1]
    if not filled:
        raise UserError(f"{path} holds no rows; allowed: a header row, and rows.")
    if len(filled) > 1:
        names = ", ".join(shown(sheet.title) for sheet in filled)
        raise UserError(f"{path} has {len(filled)} sheets ({names}): save the one that you mean in a file of its own.")
    (sheet,) = filled
    if sheet.merged_cells.ranges:
        merged = min(str(one) for one in sheet.merged_cells.ranges)
        raise UserError(f"{path} cells {merged} are merged: unmerge them, and write their text in each cell.")
    lines = (
        (f"{path} row {number}", [_cell(cell) for cell in cells], [f"{path} cell {cell.coordinate}" for cell in cells])
        for number, cells in enumerate(sheet.iter_rows(), start=1)
    )
    return _from_lines(path, list(lines))


def _cell(cell: Any) -> Any:
    value = cell.value
    if cell.data_type == "f":
        return Wrong(f"holds a formula ({shown(str(value), 40)}): copy the column, and paste its values over it")
    if cell.data_type == "e":
        return Wrong(f"holds the error {value}: mend it, or clear the cell")
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        what = f"a date ({value:%Y-%m-%d})" if isinstance(value, datetime.date) else f"a time ({value})"
        return Wrong(f"holds {what}, where text or a number is wanted: format the column as text, and type it again")
    return None if _is_blank(value) else value


def _from_lines(path: Path, lines: Sequence[tuple[str, list[Any], list[str]]]) -> Table:
    """The table whose first line with text is the header. A line: its place, its cells, and the places of these."""
    filled = [line for line in lines if any(cell is not None for cell in line[1])]
    if len(filled) < 2:
        raise UserError(f"{path} holds no rows; allowed: a header line, and rows.")
    (where, header, places), *rest = filled
    headings = []
    for number, cell in enumerate(header):
        if isinstance(cell, Wrong):
            raise UserError(f"{places[number] if places else where} {cell.why}.")
        headings.append("" if cell is None else str(cell).strip())
    named = [heading for heading in headings if heading]
    if len(named) == 1 and len(headings) > 1 and sum(cell is not None for cell in rest[0][1]) > 1:
        raise UserError(
            f"{where} holds a title and no headings ({shown(named[0])}): delete the rows above the headings."
        )
    if twice := next((one for one in named if named.count(one) > 1), None):
        raise UserError(f"{where}: column {shown(twice)} stands twice: rename one of the two.")
    rows = []
    for place, cells, at in rest:
        extra = next(
            (n for n, cell in enumerate(cells) if cell is not None and (n >= len(headings) or not headings[n])), None
        )
        if extra is not None:
            said = cells[extra].why if isinstance(cells[extra], Wrong) else str(cells[extra])
            raise UserError(
                f"{at[extra] if at else place} holds {shown(said, 30)} under no heading: two header rows, or a cell "
                "too many? Leave one header row with a name for each column."
            )
        pairs = [(heading, n) for n, heading in enumerate(headings) if heading]
        values = {heading: cells[n] if n < len(cells) else None for heading, n in pairs}
        rows.append(Row(place, values, {heading: at[n] for heading, n in pairs if n < len(at)}))
    return Table(str(path), tuple(named), tuple(rows))


WRITTEN = (".csv", ".tsv", ".xlsx", ".jsonl")
"""Endings of the tables that are written."""

_LONGEST_CELL = 32_767


def write_table(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[Any]], choices: Mapping[str, Sequence[str]]
) -> None:
    """Write a table for people to fill in, whole or not at all; its ending says how. No text in it is a formula.

    choices: what a column's cells are chosen from, where the format can say so. Raises `UserError` where openpyxl is
    missing.
    """
    ending = path.suffix.lower()
    if ending == ".jsonl":
        lines = [dict(zip(headings, row, strict=True)) for row in rows]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    elif ending == ".xlsx":
        _write_sheet(path, headings, rows, choices)
    elif ending == ".csv":
        write_text(path, csv_text([headings, *rows]))
    else:
        text = ["\t".join(" ".join(visible(str(cell)).split()) for cell in line) for line in (headings, *rows)]
        write_text(path, "\n".join([*text, ""]))


def _write_sheet(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[Any]], choices: Mapping[str, Sequence[str]]
) -> None:
    openpyxl = _openpyxl("write .csv")
    styles, illegal = openpyxl.styles, openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE
    book = openpyxl.Workbook()
    sheet = book.active
    for number, row in enumerate([headings, *rows], start=1):
        for place, value in enumerate(row, start=1):
            cell = sheet.cell(number, place)
            if not isinstance(value, str):
                cell.value = value
                continue
            cell.value = illegal.sub(" ", visible(value, keep="\t\n"))[:_LONGEST_CELL]
            cell.data_type = "s"  # whatever it begins with
            cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
            cell.font = styles.Font(bold=number == 1)
    for place, heading in enumerate(headings, start=1):
        letter = openpyxl.utils.get_column_letter(place)
        longest = max((len(str(row[place - 1])) for row in rows), default=0)
        sheet.column_dimensions[letter].width = min(max(longest, len(heading), 8) + 2, 80)
        if heading in choices:
            listed, kinds = ",".join(choices[heading]), openpyxl.worksheet.datavalidation
            choice = kinds.DataValidation(type="list", formula1=f'"{listed}"', allow_blank=True)
            choice.add(f"{letter}2:{letter}{len(rows) + 1}")
            sheet.add_data_validation(choice)
    sheet.freeze_panes = "A2"
    written = io.BytesIO()
    book.save(written)
    with atomic_write(path) as file:
        file.write(written.getvalue())
