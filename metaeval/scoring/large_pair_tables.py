"""Tables of pairs that may be larger than memory, scored window by window.

Such a table, which `metaeval score -d ratings --data TABLE` reads, has a column of sources and one of statements. A
window is a range of its rows that is planned and scored as a job of its own. Where a window begins depends on the rows
alone, so that the blocks, and with them the scores, are the same under every executor, number of shards, and after a
kill.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.cell_tables import TypedTable, text_of, warn_of_swap
from metaeval.column_arrays import NO_CELLS
from metaeval.column_roles import PAIRS, TEXTS, mapped
from metaeval.errors import UserError, shown
from metaeval.files import check_unchanged, marks_of, sha256_file
from metaeval.parsing import MalformedError, parquet_batches
from metaeval.scoring.contract import TextPair
from metaeval.user_tables import cell_list, parquet_headings, read_table

WINDOW_ROWS = 1_000_000
"""Most rows of a window."""

WINDOW_CHARACTERS = 100_000_000
"""Most characters of a window's texts, a source counted once; one pair may have more."""

BATCH = 10_000
"""Rows that are read at a time."""

_Progress = Callable[[str, int, int], None]

_FIRST = 1000
"""Number of first rows whose lengths of texts say whether the two columns are swapped."""


@dataclass
class TableWindow:
    """A window of a large table: ids and (source, statement) of its rows, in order. number: of the window, from 0."""

    number: int
    ids: list[str] = field(default_factory=list)
    texts: list[TextPair] = field(default_factory=list)


@dataclass(frozen=True)
class PairFile:
    """A large table of pairs that is scored window by window. columns: the heading of each role that has one.

    starts: the first row of each window, from 0. fingerprint: SHA-256 of the file. marks: file state at first reading.
    """

    path: Path
    columns: Mapping[str, str]
    fingerprint: str
    marks: Sequence[int]
    rows: int
    starts: tuple[int, ...]

    def windows(self) -> Iterator[TableWindow]:
        """Yield the windows in order; only one is in memory unless the caller keeps others.

        Raises `UserError` where the file has changed since it was first read.
        """
        check_unchanged(self.path, self.marks)
        window = TableWindow(-1)
        for begins, row_id, *texts in _placed(self.path, self.columns):
            if begins:
                check_unchanged(self.path, self.marks)
                if window.texts:
                    yield window
                window = TableWindow(window.number + 1)
            window.ids.append(row_id)
            window.texts.append((texts[0], texts[1]))
        check_unchanged(self.path, self.marks)
        yield window

    def shifted(self, progress: _Progress | None, number: int) -> _Progress | None:
        """Return a callback that reports window `number`'s progress to `progress` as that of the whole table."""
        if progress is None or len(self.starts) == 1:
            return progress
        start, end = (*self.starts, self.rows)[number : number + 2]

        def report(metric: str, done: int, total: int) -> None:
            progress(metric, end if done == total else start + done, self.rows)

        return report


def read_pair_file(path: Path, headings: Mapping[str, str]) -> PairFile:
    """Read a table of pairs once, to check it and find its windows. headings: by role; "" for a role without one.

    Raises `UserError` for a table without rows, a missing column, a row without a source or statement, and an id that
    two rows have.
    """
    marks = marks_of(path)
    parquet = path.suffix.lower() == ".parquet"
    table = TypedTable(str(path), dict.fromkeys(parquet_headings(path), NO_CELLS)) if parquet else read_table(path)
    columns = table.find(PAIRS, mapped(PAIRS, {role: name for role, name in headings.items() if name}), TEXTS)
    starts, hashes = list[int](), array("q")
    lengths: list[tuple[int, int]] = []
    for row, (begins, row_id, source, statement) in enumerate(_placed(path, columns)):
        if begins:
            starts.append(row)
        hashes.append(hash(row_id))
        if row < _FIRST:
            lengths.append((len(source), len(statement)))
    if not hashes:
        raise UserError(f"{path} holds no rows: give a table with at least one.")
    _check_ids(path, columns, hashes)
    warn_of_swap(str(path), columns, lengths)
    return PairFile(path, columns, sha256_file(path), marks, len(hashes), tuple(starts))


def _check_ids(path: Path, columns: Mapping[str, str], hashes: array[int]) -> None:
    """Raise `UserError` for an id that two rows have. hashes: of each row's id (to save memory); sorted in place."""
    ordered = np.frombuffer(hashes, dtype=np.int64)
    ordered.sort()
    twice = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    seen: dict[str, int] = {}
    for row, (_, row_id, *_) in enumerate(_placed(path, columns) if twice else (), start=1):
        if hash(row_id) in twice and (first := seen.setdefault(row_id, row)) != row:
            raise UserError(f"{path} row {row}: id {shown(row_id)} is also that of row {first}; keep one row per pair.")


def _placed(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[bool, str, str, str]]:
    """Yield for each row whether it begins a window, its id, source and statement; `UserError` for a blank text."""
    sources: dict[str, str] = {}
    rows = load = 0
    for number, (row_id, source, statement) in enumerate(_rows(path, columns), start=1):
        if not (isinstance(source, str) and isinstance(statement, str)):
            role, cell = ("statement", statement) if isinstance(source, str) else ("source", source)
            content = "blank" if cell is None else shown(cell)
            raise UserError(f"{path} row {number}: {columns[role]} is {content}; it must be a text.")
        size = len(statement) + (0 if source in sources else len(source))
        begins = number == 1 or rows == WINDOW_ROWS or load + size > WINDOW_CHARACTERS
        if begins:
            sources, rows, load, size = {}, 0, 0, len(statement) + len(source)
        rows, load = rows + 1, load + size
        yield begins, text_of(row_id) or f"row {number}", sources.setdefault(source, source), statement


def _rows(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the cells (id, source, statement) of each row; None for a blank one, and for all ids without a column."""
    if path.suffix.lower() != ".parquet":
        for row in read_table(path).rows:
            source, statement = (row.value(columns[role]) for role in ("source", "statement"))
            yield row.text(columns["id"]) if "id" in columns else None, _source(source), text_of(statement) or None
        return
    before = 0
    for batch in parquet_batches(path, list(dict.fromkeys(columns.values())), BATCH):
        try:
            cells = {role: batch.column(heading).to_pylist() for role, heading in columns.items()}
        except UnicodeDecodeError as error:
            rows = f"rows {before + 1:,} to {before + batch.num_rows:,}"
            raise UserError(f"{path} {rows}: a text is not UTF-8 ({error.reason}): save the file as UTF-8.") from error
        before += batch.num_rows
        sources = map(_source, cells["source"])
        yield from zip(cells.get("id") or [None] * batch.num_rows, sources, cells["statement"], strict=True)


def _source(cell: Any) -> Any:
    """Return the text of a source cell, None if empty; of a list of texts (also JSON), all, joined by blank lines."""
    with suppress(MalformedError):
        listed = cell_list(cell)
        cell = "\n\n".join(listed) if listed and all(isinstance(text, str) for text in listed) else cell
    return text_of(cell) or None if isinstance(cell, str) else cell
