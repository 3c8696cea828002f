"""How the running command, or call from Python, reads people's tables: encoding, and whether to skip bad cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The encoding that is given, and whether bad cells are skipped.
_READING: ContextVar[tuple[str, bool]] = ContextVar("metaeval-tables", default=("", False))


@contextmanager
def reading_tables(encoding: str = "", skip_bad_cells: bool = False) -> Iterator[None]:
    """Set how tables are read in this block. encoding: of CSV files ("": UTF-8, or what is detected).

    skip_bad_cells: leave cells that are not numbers blank, in columns of numbers, instead of an error.
    """
    token = _READING.set((encoding, skip_bad_cells))
    try:
        yield
    finally:
        _READING.reset(token)


def chosen_encoding() -> str:
    """Return the encoding that is given for CSV files; empty if none is."""
    return _READING.get()[0]


def skips_bad_cells() -> bool:
    """Return whether cells that are not numbers, in columns of numbers, are left blank."""
    return _READING.get()[1]
