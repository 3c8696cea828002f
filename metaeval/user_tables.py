"""Read people's tables (CSV, TSV, XLSX, JSON lines, Parquet, data frames), and write tables for people to fill in.

A spreadsheet is read as it looks: what a program would read as something else (a merged cell, a formula, a date that
was a fraction) ends in one sentence that names the cell and what to do about it.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.cell_tables import TypedTable, Wrong, is_blank
from metaeval.column_arrays import BLOCK, Cells
from metaeval.csv_encodings import decoded
from metaeval.display_text import count, visible
from metaeval.errors import UserError, shown
from metaeval.files import csv_text, write_text
from metaeval.parsing import json_objects, parquet_library, parquet_parts, parse_json
from metaeval.table_settings import chosen_encoding
from metaeval.xlsx_files import Line, sheet_lines, write_sheet

_log = logging.getLogger("metaeval")

TABLES = (".csv", ".tsv", ".xlsx")
"""Endings of files that are tables and nothing else."""


def unzipped_ending(path: Path) -> str:
    """Return the ending of a file's name in lower case, with its dot; a last .gz is ignored."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def any_table(table: Any, name: str) -> TypedTable:
    """Return a file, a data frame, or mappings with one field per column as a table. name: of one without a file."""
    return read_table(Path(table)) if isinstance(table, str | Path) else table_of(name, table)


def read_table(path: Path) -> TypedTable:
    """Read a file as a table; raises `UserError` if it is not a table of one header row and rows."""
    if not path.exists():
        raise UserError(f"Cannot read {path}: No such file; allowed: a table as CSV, TSV, XLSX, Parquet or JSON lines.")
    ending = unzipped_ending(path)
    if ending == ".xlsx":
        return _from_lines(path, "row", sheet_lines(path))
    if ending in (".csv", ".tsv", ".txt"):
        return _delimited(path, ending)
    if ending in (".xls", ".ods", ".numbers"):
        raise UserError(f"{path} is a spreadsheet of another kind ({ending}): save it as .xlsx or .csv.")
    if ending == ".parquet":
        return _parquet(path)
    records = list(json_objects(path, ""))
    return table_of(str(path), [fields for _, fields in records], [where for where, _ in records])


def table_of(name: str, records: Any, places: Sequence[str] = ()) -> TypedTable:
    """Return records as a table: mappings, or a data frame of pandas, polars, pyarrow or narwhals.

    places: description of each row's location. Raises `UserError` for no records, or records not of fields.
    """
    if hasattr(records, "to_native"):
        records = records.to_native()
    columns: Iterable[Cells]
    if hasattr(records, "to_pydict"):
        names, columns = records.schema.names, map(_arrow_cells, records.columns)
    elif hasattr(records, "to_dicts"):
        names = records.to_dict(as_series=False)
        columns = map(_cells, names.values())
    elif hasattr(records, "columns") and hasattr(records, "to_dict"):
        names, filled = records.columns, records.astype(object).where(records.notna(), None)
        columns = (_cells(filled.iloc[:, number].tolist()) for number in range(len(names)))
    else:
        listed = list(records) if isinstance(records, Iterable) else []
        if not all(isinstance(record, Mapping) for record in listed):
            listed = []
        names = dict.fromkeys(heading for record in listed for heading in record)
        columns = (_cells([record.get(heading) for record in listed]) for heading in names)
    cells = dict(zip(headings_of(names, name), columns, strict=True))
    return _not_empty(TypedTable(name, cells, places.__getitem__ if places else None))


def headings_of(names: Iterable[Any], where: str) -> list[str]:
    """Return the headings of a table's columns as text, stripped; `UserError` for one that appears twice."""
    headings = ["" if name is None else str(name).strip() for name in names]
    if twice := next((heading for heading in headings if heading and headings.count(heading) > 1), None):
        raise UserError(f"{where}: column {shown(twice)} appears twice: rename one of the two.")
    return headings


def _not_empty(table: TypedTable) -> TypedTable:
    if not table.size:
        raise UserError(
            f"{table.name} holds no rows: give a file, a data frame, or a list of mappings (one per row) with at "
            "least one row."
        )
    return table


def _cells(values: Sequence[Any]) -> Cells:
    return Cells.of([_cell_of(value) for value in values])


def _cell_of(value: Any) -> Any:
    """Return a record's value as a cell: None for blank values, a list for any kind of list or array."""
    if getattr(value, "ndim", 0) == 1:
        value = value.tolist()
    return None if is_blank(value) else list(value) if isinstance(value, tuple) else value


_LIST = re.compile(r"""\s*\[\s*["'{\]]""")


def cell_list(value: Any) -> list[Any] | None:
    """Return the list in a cell, also as JSON; None for another value; `MalformedError` for a broken JSON list."""
    if isinstance(value, str) and _LIST.match(value):
        value = parse_json(value)
    return value if isinstance(value, list) else None


def _delimited(path: Path, ending: str) -> TypedTable:
    text = decoded(path, chosen_encoding())
    first = text.split("\n", 1)[0]
    delimiter = "\t" if ending == ".tsv" else max(",;\t", key=lambda mark: (first.count(mark), mark == ","))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    short: list[int] = []

    def lines() -> Iterator[Line]:
        width = 0
        try:
            for cells in reader:
                width = width or len(cells)
                if 0 < len(cells) < width:
                    short.append(reader.line_num)
                yield reader.line_num, [cell if cell.strip() else None for cell in cells], []
        except csv.Error as error:
            raise UserError(f"{path} line {reader.line_num} is not CSV ({error}): save it again.") from error

    table = _from_lines(path, "line", lines())
    if short:
        counted = "1 row has" if len(short) == 1 else f"{count(len(short), 'row')} have"
        _log.warning("%s: %s fewer cells than the header (line %s): the last count as blank.", path, counted, short[0])
    return table


def _parquet(path: Path) -> TypedTable:
    parts: dict[str, list[Cells]] = {}
    before = 0
    for batch in parquet_parts(path):
        try:
            for heading, column in zip(headings_of(batch.schema.names, str(path)), batch.columns, strict=True):
                parts.setdefault(heading, []).append(_arrow_cells(column))
        except UnicodeDecodeError as error:
            rows = f"rows {before + 1:,} to {before + batch.num_rows:,}"
            raise UserError(f"{path} {rows}: a text is not UTF-8 ({error.reason}): save the file as UTF-8.") from error
        before += batch.num_rows
    return _not_empty(TypedTable(str(path), {heading: Cells.joined(cells) for heading, cells in parts.items()}))


def _arrow_cells(column: Any) -> Cells:
    """Return an Arrow column as cells; numbers, except integers with blanks, are not turned into Python objects."""
    types = parquet_library().types
    if types.is_floating(column.type) or (types.is_integer(column.type) and not column.null_count):
        numbers = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        return Cells(numbers.astype(np.float64, copy=False) if types.is_floating(column.type) else numbers)
    return _cells(column.to_pylist())


def _from_lines(path: Path, unit: str, lines: Iterable[Line]) -> TypedTable:
    """Return a table from lines, of which the first with text is the header. unit: "line" or "row", for messages."""
    filled = (line for line in lines if line[1].count(None) < len(line[1]))
    (top, header, places), first = next(filled, (0, [], [])), next(filled, None)
    if first is None:
        raise UserError(f"{path} holds no rows; allowed: a header line, and rows.")
    where = f"{path} {unit} {top}"
    for number, cell in enumerate(header):
        if isinstance(cell, Wrong):
            raise UserError(f"{places[number] if places else where} {cell.why}.")
    headings = headings_of(header, where)
    named = [heading for heading in headings if heading]
    if len(named) == 1 and sum(cell is not None for cell in first[1]) > 1:
        raise UserError(f"{where} holds a title, not headings ({shown(named[0])}): delete the rows above the headings.")
    numbers, parts = array("q"), {heading: list[Cells]() for heading in named}
    at = {heading: list[str]() for heading in named} if first[2] else {}
    rest = chain([first], filled)
    while block := list(islice(rest, BLOCK)):
        numbers.extend(number for number, _, _ in block)
        whole = [_padded(f"{path} {unit} {number}", headings, cells, texts) for number, cells, texts in block]
        for heading, *cells in zip(headings, *whole, strict=True):
            if heading:
                parts[heading].append(Cells.of(cells))
        for heading in at:
            at[heading] += [texts[headings.index(heading)] for _, _, texts in block]
    columns = {heading: Cells.joined(cells) for heading, cells in parts.items()}
    return TypedTable(str(path), columns, lambda row: f"{path} {unit} {numbers[row]}", at)


def _padded(where: str, headings: Sequence[str], cells: list[Any], places: Sequence[str]) -> list[Any]:
    """Return the cells of a line, padded to the number of headings; raises `UserError` for a cell without a heading."""
    if len(cells) > len(headings) or "" in headings:
        for number, cell in enumerate(cells):
            if cell is not None and (number >= len(headings) or not headings[number]):
                content = cell.why if isinstance(cell, Wrong) else str(cell)
                raise UserError(
                    f"{(places[number] if places else where)} has {shown(content, 30)} in a column without a "
                    "heading. Write one header row with a name for each column."
                )
    return [*cells[: len(headings)], *[None] * (len(headings) - len(cells))]


WRITTEN = (".csv", ".tsv", ".xlsx", ".jsonl")
"""Endings of the tables that are written."""


def write_table(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[Any]], choices: Mapping[str, Sequence[str]]
) -> None:
    """Write a table for people to fill in, atomically, in the format of the path's ending; no text acts as a formula.

    choices: allowed cells of a column, for formats that can enforce them. Raises `UserError` where openpyxl is missing.
    """
    ending = path.suffix.lower()
    if ending == ".jsonl":
        lines = [dict(zip(headings, row, strict=True)) for row in rows]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    elif ending == ".xlsx":
        write_sheet(path, headings, rows, choices)
    elif ending == ".csv":
        write_text(path, csv_text([headings, *rows]))
    else:
        in_lines = [
            [" ".join(visible(cell).split()) if isinstance(cell, str) else cell for cell in line]
            for line in (headings, *rows)
        ]
        write_text(path, csv_text(in_lines, newline="\n", delimiter="\t"))


def group_cure(table: TypedTable, fields: Iterable[str]) -> str:
    """Return advice to name the column of groups; it lists up to three headings of `fields` whose values repeat."""
    repeated = {heading: len(table.coded(heading).names) for heading in fields}
    fits = [f"{shown(name)} has {count(many, 'value')}" for name, many in repeated.items() if 1 < many < table.size / 2]
    known = f" ({', '.join(fits[:3])})" if fits else ""
    return f"Where rows share an article or a query, name its column: --map group=COLUMN{known}."
