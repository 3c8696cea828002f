"""Rows of a table as files: CSV to look into, JSON lines to read on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from metaeval.experiment.sheet import Record
from metaeval.files import write_text


def write_row_files(
    rows: Sequence[Record], folder: Path, stem: str, columns: Sequence[str] = (), words: bool = False
) -> list[Path]:
    """Write STEM.csv and STEM.jsonl; the paths. Same rows, same bytes.

    columns: the CSV's header where there are no rows. words: truth values are True and False in the CSV, not 1 and 0.
    """
    written = []
    for suffix, text in ((".csv", _csv(rows, columns, words)), (".jsonl", _jsonl(rows))):
        path = folder / f"{stem}{suffix}"
        write_text(path, text)
        written.append(path)
    return written


def _csv(rows: Sequence[Record], columns: Sequence[str], words: bool) -> str:
    """With a header, even without rows; None is an empty field."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        numbers = {key: int(value) for key, value in row.items() if isinstance(value, bool) and not words}
        writer.writerow({**row, **numbers})
    # A lone surrogate, which JSON input may hold, has no UTF-8 form.
    return out.getvalue().encode("utf-8", "backslashreplace").decode("utf-8")


def _jsonl(rows: Sequence[Record]) -> str:
    return "".join(json.dumps(row, allow_nan=False, separators=(",", ":")) + "\n" for row in rows)
