"""XLSX files and written tables: the rows of a spreadsheet's one sheet, and tables for people to fill in.

A sheet is read as it is stored, row by row: rows and cells without content cost nothing, however far away the last is.
"""

from __future__ import annotations

import codecs
import datetime
import io
import json
import logging
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError, install_extra, shown, visible
from metaeval.core.files import atomic_write, csv_text, read_bytes, write_text
from metaeval.core.parsing import MalformedError, gunzipped, most_expanded

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?ref=\"([^\"]{1,40})\"")


def _openpyxl(otherwise: str) -> Any:
    """Return the package openpyxl; raises `UserError` if it is not installed. otherwise: what to do without it."""
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"A .xlsx file needs openpyxl, which is not installed here: type {install_extra('xlsx')}, or {otherwise}."
        ) from error
    return openpyxl


def sheet_lines(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Yield number and cells of each row that is not empty, of the only sheet of a file that has such rows.

    A cell with a formula, an error, a date or a time is the `UserError` that says so. Raises `UserError` for another
    format, a file that grows too large, none or several sheets with rows, and merged cells.
    """
    openpyxl = _openpyxl("save it as CSV")
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
                raise UserError(
                    f"{path} has {len(filled)} sheets ({names}): save the one that you mean in a file of its own."
                )
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
                    yield number, [_cell(path, cell) for cell in cells]
    except UserError:
        raise
    except Exception as error:  # openpyxl lets out whatever it stumbles over: KeyError, BadZipFile, ParseError ...
        raise UserError(f"{path} is not a readable .xlsx file ({type(error).__name__}): save it again.") from error


def _has_rows(sheet: Any) -> bool:
    """Return whether a sheet has content outside its first cell; the size that it declares is not used."""
    sheet.reset_dimensions()
    rows = enumerate(sheet.iter_rows())
    return any(cell.value is not None and (row or column) for row, cells in rows for column, cell in enumerate(cells))


def _cell(path: Path, cell: Any) -> Any:
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


WRITTEN = (".csv", ".tsv", ".xlsx", ".jsonl")
"""Endings of the tables that are written."""


def write_table(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[Any]], choices: Mapping[str, Sequence[str]]
) -> None:
    """Write a table for people to fill in, atomically, in the format of the path's ending; no text acts as a formula.

    choices: allowed cells by heading, for formats that can enforce them. Raises `UserError` where openpyxl is missing.
    """
    ending = path.suffix.lower()
    if ending == ".jsonl":
        lines = [dict(zip(headings, row, strict=True)) for row in rows]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    elif ending == ".csv":
        write_text(path, csv_text([headings, *rows]))
    elif ending == ".xlsx":
        _write_sheet(path, headings, rows, choices)
    else:
        in_lines = [
            [" ".join(visible(cell).split()) if isinstance(cell, str) else cell for cell in line]
            for line in (headings, *rows)
        ]
        write_text(path, csv_text(in_lines, newline="\n", delimiter="\t"))


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
            cell.value = illegal.sub(" ", visible(value, keep="\t\n"))  # openpyxl cuts what a cell cannot hold
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
    with atomic_write(path) as file:  # around the saving, which writes temporary files: a full disk is one sentence
        book.save(file)


_log = logging.getLogger("metaeval")

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_USUAL = "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp932 gb18030 big5 cp949 mac_roman".split()
_SAMPLE = 1 << 16
_WORD = re.compile(rb"[^\x00-\x2c;\x7f]*[\x80-\xff][^\x00-\x2c;\x7f]*")
_SAVE = "save it as UTF-8 (in a spreadsheet: CSV UTF-8), or name its encoding with --set encoding=NAME"


def decoded(path: Path, encoding: str = "") -> str:
    """Return the text of a file, decompressed if gzipped, without a byte-order mark.

    encoding: of the file; empty: that of its byte-order mark, else UTF-8, else what its bytes look like, and a warning.
    Raises `UserError` for a file that cannot be read, an unknown encoding, and bytes that are not text in it.
    """
    try:
        content = gunzipped(read_bytes(path, _SAVE))
    except MalformedError as error:
        raise UserError(f"Cannot read {path}: {error}; {_SAVE}.") from error
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        return _text(content, encoding or marked)
    except LookupError as error:
        raise UserError(f"--set encoding={shown(encoding)} is unknown; allowed: Python's, such as cp1252.") from error
    except UnicodeError as error:
        place = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        likely, others = ("", []) if encoding else _likely(content)
        if not likely:
            raise UserError(f"{path} is not {encoding or 'UTF-8'} text ({place}): {_SAVE}.") from error
    word = _WORD.search(content)
    example = f" ({shown(word[0][:40].decode(likely, 'replace'))})" if word else ""
    also = f", and could be {' or '.join(others)}" if others else ""
    _log.warning("%s is not UTF-8: it is read as %s%s%s; --set encoding=NAME decides.", path, likely, example, also)
    return _text(content, likely)


def _text(content: bytes, encoding: str) -> str:
    return content.decode(encoding).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _likely(content: bytes) -> tuple[str, list[str]]:
    """Return the encoding that bytes look like ("" if none fits), and the others that fit as well.

    Lines that are not ASCII decide. Encodings that fit equally come in the order of `_USUAL`, the most used first.
    """
    from charset_normalizer import from_bytes  # most files are UTF-8 and spared its start

    lines = [line for line in content.split(b"\n") if not line.isascii()]
    matches = from_bytes(b"\n".join(lines)[:_SAMPLE], cp_isolation=_USUAL)
    best = matches.best()
    if best is None:
        return "", []
    alike = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    names = [min(match.could_be_from_charset, key=_USUAL.index) for match in alike]
    fitting = [name for name in sorted(names, key=_USUAL.index) if _decodes(content, name)]
    return (fitting[0], fitting[1:]) if fitting else ("", [])


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeError:
        return False
    return True
