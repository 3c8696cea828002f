"""The cells of people's tables: those of a spreadsheet, texts, numbers, lists, blanks, and what stands for no number.

A sheet is read as it is stored, row by row: rows and cells without content cost nothing, however far away the last is.
"""

from __future__ import annotations

import ast
import datetime
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from metaeval.core.errors import UserError, shown
from metaeval.core.files import read_bytes, spreadsheet_library
from metaeval.core.parsing import MalformedError, most_expanded, parse_json

Cells = NDArray[Any]
"""(n,) cells of a column: floats (NaN if blank), whole numbers, or Python objects (None if blank)."""
Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]

# What programs write where they have no number.
_NO_NUMBER = frozenset("nan na n/a #n/a <na> nat null none nil".split())
_WORDS = re.compile(r"[\W_]+")
_OTHER_LOCALE = re.compile(r"[-+−]?(\d+|\d{1,3}([.,'’ \u00a0\u202f]\d{3})+)([.,٫．]\d+)?\s*[%٪％]?")
_ACCENTS = re.compile("[\u0300-\u036f]")
_GUARDED = re.compile(r"'[=+@\t\r\n＝＋－＠-]")


_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([^\"]{1,40})\"")


def sheet_lines(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Yield number and cells of each row that is not empty, of the only sheet of a file that has such rows.

    A cell with a formula, an error, a date or a time is the `UserError` that says so. Raises `UserError` for another
    format, a file that grows too large, none or several sheets with rows, and merged cells.
    """
    openpyxl = spreadsheet_library("save it as CSV")
    content = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
            if size > (most := most_expanded(len(content))):
                raise UserError(f"{path} grows to more than {most:,} bytes: save the sheet as CSV.")
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True)
            filled = [sheet for sheet in book.worksheets if _has_rows(sheet)]
            if not filled:
                raise UserError(f"{path} holds no rows; allowed: a header row, and rows.")
            if len(filled) > 1:
                names = ", ".join(shown(sheet.title) for sheet in filled)
                raise UserError(f"{path} has {len(filled)} sheets ({names}): save one in a file of its own.")
            # Merged ranges are in the sheet's XML alone.
            ranges, tail = list[bytes](), b""
            with archive.open(vars(filled[0])["_worksheet_path"]) as file:
                while block := file.read(1 << 20):
                    ranges += _MERGED.findall(tail + block)
                    tail = block[-100:]
            if ranges:
                merged = min(ranges).decode("ascii", "replace")
                raise UserError(f"{path} cells {merged} are merged: unmerge them, and write their text in each cell.")
            for number, cells in enumerate(filled[0].iter_rows(), start=1):
                if any(cell.value is not None and str(cell.value).strip() for cell in cells):
                    yield number, [_sheet_cell(path, cell) for cell in cells]
    except UserError:
        raise
    except Exception as error:  # openpyxl lets out whatever it stumbles over: KeyError, BadZipFile, ParseError ...
        raise UserError(f"{path} is not a readable .xlsx file ({type(error).__name__}): save it again.") from error


def _has_rows(sheet: Any) -> bool:
    """Return whether a sheet has content outside its first cell; the size that it declares is not used."""
    sheet.reset_dimensions()
    rows = enumerate(sheet.iter_rows())
    return any(cell.value is not None and (row or column) for row, cells in rows for column, cell in enumerate(cells))


def _sheet_cell(path: Path, cell: Any) -> Any:
    value = cell.value
    if cell.data_type == "f":
        why = f"holds a formula ({shown(str(value), 40)}): copy the column, and paste its values over it"
    elif cell.data_type == "e":
        why = f"holds the error {value}: mend it, or clear the cell"
    elif isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        what = f"a date ({value:%Y-%m-%d})" if isinstance(value, datetime.date) else f"a time ({value})"
        why = f"holds {what}, where text or a number is wanted: format the column as text, and type it again"
    else:
        return value
    return UserError(f"{path} cell {cell.coordinate} {why}.")


def cells_of(values: Any) -> Cells:
    """Return a column of an array, a data frame, or a sequence as cells; a list for any kind of list in a cell."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.str[1:] in ("f8", "f4", "i8", "i4") and not np.ma.isMaskedArray(values):
        return np.asarray(values, f"{kind.kind}8")
    if way := next((way for way in ("tolist", "to_list", "to_pylist") if hasattr(values, way)), ""):
        values = getattr(values, way)()
    cells: list[Any] = [None if is_blank(cell) else _plain_cell(cell) for cell in values]
    kinds = set(map(type, cells))
    if float in kinds and kinds <= {float, type(None)}:
        return np.array(cells, np.float64)
    return np.array(cells, np.int64) if kinds == {int} and all(abs(cell) < 2**63 for cell in cells) else objects(cells)


def _plain_cell(cell: Any) -> Any:
    return list(cell) if isinstance(cell, tuple) else cell.tolist() if hasattr(cell, "tolist") else cell


def objects(cells: Iterable[Any]) -> Cells:
    """Return Python values as an array of objects, (n,)."""
    listed = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    return np.fromiter(listed, np.object_, len(listed))


_LIST = re.compile(r"""\s*(?:array\(\s*)?\[\s*(?:["'{\]]|np\.str_\()""")
_ARRAY = re.compile(r"\s*array\((.*?)(?:,\s*dtype=[\w<>'|]+)?\)\s*", re.DOTALL)
_QUOTED = r"""(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")"""
_TUPLE = re.compile(rf"\s*\(\s*{_QUOTED}\s*,(?:\s*{_QUOTED}\s*,)*(?:\s*{_QUOTED})?\s*\)\s*", re.DOTALL)
_TEXTS_OF_PYTHON = re.compile(rf"\[\s*{_QUOTED}(?:(?:\s*,\s*|\s+){_QUOTED})*\s*,?\s*\]", re.DOTALL)


def cell_list(value: Any) -> list[Any] | None:
    """Return the list in a cell, also as JSON, or as Python or numpy print it; None for another value.

    Raises `MalformedError` for a text that begins as a list and is none. No code is run.
    """
    if isinstance(value, str) and _TUPLE.fullmatch(value):
        value = f"[{value.strip()[1:-1]}]"
    if not (isinstance(value, str) and _LIST.match(value)):
        return value if isinstance(value, list) else None
    try:
        listed: list[Any] = parse_json(value)
    except MalformedError as error:
        text = re.sub(rf"np\.str_\(({_QUOTED})\)", r"\1", value, flags=re.DOTALL).strip()
        text = array[1].strip() if (array := _ARRAY.fullmatch(text)) else text
        try:
            if _TEXTS_OF_PYTHON.fullmatch(text):  # numpy writes no commas, without which Python would join the texts
                return [ast.literal_eval(quoted) for quoted in re.findall(_QUOTED, text, re.DOTALL)]
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise error from None
        if not isinstance(listed, list) or ... in listed:  # numpy leaves out the middle of a long list
            raise
    return listed


def text_of(value: Any) -> str:
    """Return a cell's value as text: stripped, 3.0 as "3", the items of a list as paragraphs; "" for None and NaN.

    An apostrophe before the beginning of a formula, with which tables are written, is taken off.
    """
    if not isinstance(value, str):
        if isinstance(value, list | tuple):
            return "\n\n".join(map(str, value))
        whole = isinstance(value, float) and value.is_integer()
        value = "" if value is None or value != value else str(int(value) if whole else value)
    text: str = value.strip()
    return text[1:] if text[:1] == "'" and _GUARDED.match(text) else text


def number_in(value: Any) -> float:
    """Return a value as float; `ValueError` for other text, also for digits like ٣ and underscores as in 1_000."""
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):
        raise ValueError(value)
    return float(value)


def number_of(cell: Any) -> Any:
    """Return a text cell that holds a number as float (NaN and infinity too); return any other cell unchanged."""
    try:
        return number_in(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def plain_numbers(cells: Cells) -> Numbers:
    """Return the finite number in each cell (or in its text), (n,): NaN if blank, infinity for other content."""
    if cells.dtype != np.object_:
        return np.where(np.isinf(cells), math.inf, cells).astype(np.float64, copy=False)
    return each(_plain_number, cells).astype(np.float64)


def _plain_number(cell: Any) -> float:
    if is_blank(cell):
        return math.nan
    try:
        number = number_in(cell)
    except (TypeError, ValueError, OverflowError):
        return math.inf
    return number if math.isfinite(number) else math.inf


def distinct(cells: Cells) -> tuple[Cells, Indices]:
    """Return the distinct cells in the order of the first of each, and the index of each cell in them, (n,).

    Some may be equal.
    """
    listed = cells.tolist()
    # Objects of other types can be equal and not the same (1 and True), or have no hash; most ids are distinct.
    comparable = cells.dtype != np.object_ or {*map(type, listed)} <= {str, type(None)}
    if not comparable or len({*listed[:1000]}) > 900:
        return cells, np.arange(len(cells))
    index: dict[Any, int] = {}
    codes = np.fromiter((index.setdefault(cell, len(index)) for cell in listed), np.intp, len(listed))
    return objects(index).astype(cells.dtype), codes


def each(of: Callable[[Any], Any], cells: Cells) -> NDArray[Any]:
    """Return what a function returns for each cell, (n,); it is called once for each distinct text."""
    names, codes = distinct(cells)
    return objects(map(of, names.tolist()))[codes]


def is_finite(cell: Any) -> bool:
    """Return whether a cell is a finite number, or its text is one."""
    number = number_of(cell)
    return isinstance(number, int | float) and math.isfinite(number)


def is_endless(cell: Any) -> bool:
    """Return whether a cell is infinite or not-a-number, or its text is."""
    number = number_of(cell)
    return isinstance(number, float) and not math.isfinite(number)


def is_blank(value: Any) -> bool:
    """Return whether a value stands for a blank cell: None, NaN, pandas' NA or NaT, or nothing but white space."""
    if isinstance(value, str):
        return not value.strip()
    is_nan = isinstance(value, float | Decimal) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_missing(cell: Any) -> bool:
    """Return whether a cell holds what programs write for a missing value, other than "none", which is a level."""
    return is_no_number(cell) and plain_heading(str(cell)) != "none"


def is_no_number(cell: Any) -> bool:
    """Return whether a cell holds what programs write for a missing number: NaN, NA, null, None, nil."""
    return str(cell).strip().casefold() in _NO_NUMBER


def is_of_other_locale(cell: Any) -> bool:
    """Return whether a cell holds a number in a form that is not read: 43 %, 0,43, 1.234,5 or other digits."""
    return isinstance(cell, str) and bool(_OTHER_LOCALE.fullmatch(cell.strip()))


def plain_heading(heading: str) -> str:
    """Return what is compared of a heading: its letters and digits, without case and accents."""
    return _WORDS.sub("", _ACCENTS.sub("", normalize("NFKD", heading).casefold()))


def without_brackets(heading: str) -> str:
    """Return a heading without what stands in brackets."""
    for first, last in ("()", "[]"):
        end = heading.rfind(last) + 1  # without a last bracket, the search from each first one would go to the end
        heading = re.sub(rf"\{first}.*?\{last}", "", heading[:end]) + heading[end:]
    return heading
