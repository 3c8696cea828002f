"""What the loaders of rated sets share: numbers out of rows, and the rows of a published CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from metaeval.corpus.loaders.rows import Row
from metaeval.errors import UserError


def finite(row: Row, name: str) -> float:
    """A finite number, or a string that reads as one."""
    value = row.fields.get(name)
    if name in row.fields and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if isfinite(number):
            return number
    elif name not in row.fields:
        row.identifier(name)  # tells what the row has instead
    raise row.error(name, "a finite number")


def finite_or_none(row: Row, name: str) -> float | None:
    """A finite number, or None where the field holds null or an empty string; absent is an error all the same."""
    return None if row.fields.get(name, 0) in (None, "") else finite(row, name)


def csv_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a published CSV file with a header line.

    Raises `UserError` when the file cannot be read, is not UTF-8, or a row is longer or shorter than the header.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = reader.fieldnames or ()
            for fields in reader:
                where = f"{path} line {reader.line_num}"
                if None in fields or None in fields.values():
                    raise UserError(f"{where} does not hold one value for each of {', '.join(header)}.")
                yield Row(where, fields)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}): fetch the published file again.") from error
    except (OSError, csv.Error) as error:
        raise UserError(f"Cannot read {path}: {error}. Fetch the published file again.") from error
