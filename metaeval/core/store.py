"""A store: one SQLite file that several runs share, with a schema number, and rows that are checked when read."""

from __future__ import annotations

import contextlib
import logging
import re
import sqlite3
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

from metaeval.core.errors import UserError
from metaeval.core.files import declare

_log = logging.getLogger("metaeval")

MOUNTS = Path("/proc/mounts")
"""The table of mounted file systems."""

PATIENCE = 60.0
"""Seconds that a run waits for another one that writes."""

SCHEMA = 1
"""The number of the tables' schema, in SQLite's `user_version`; an empty file has 0."""

LOCAL = frozenset("ext2 ext3 ext4 xfs btrfs zfs f2fs apfs overlay tmpfs".split())
"""File systems of one machine, whose processes have the shared memory of a write-ahead log in common."""

_MAGIC = b"SQLite format 3\0"
_PAGE = 4096  # bytes; no store is smaller


class Store:
    """One SQLite file that several runs may share; used by one thread at a time.

    kind: what the file is called in sentences. option: the option that names another file. anew: what a run does
    about lost rows. table: the table whose rows are checked. creation: statements that create the tables. copies: by
    the query of rows of another file, the statement that adds them to this one.

    Raises `UserError` for errors of SQLite, for a file of another schema, and for a database of another kind.
    """

    kind: ClassVar[str]
    option: ClassVar[str]
    anew: ClassVar[str]
    table: ClassVar[str]
    creation: ClassVar[tuple[str, ...]]
    copies: ClassVar[dict[str, str]]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._wrote = False
        with self.sentences():
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; if this object wrote to it and it was then deleted or replaced, restore it first."""
        try:
            if self._wrote:
                with self.sentences():
                    self._restore_if_moved()
        finally:
            self._wrote = False
            self._connection.close()

    def _open(self) -> None:
        """Open or create the file, check its tables, choose its journal, and create missing tables."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite would write over a file of less than a page, whatever it holds. No other file is read here: to close it
        # would let go of the locks of whoever has it open in this process, and another run would delete their log.
        short = self.path.is_file() and 0 < self.path.stat().st_size < _PAGE
        if short and not self.path.read_bytes().startswith(_MAGIC):
            refusal = sqlite3.DatabaseError("file is not a database")
            refusal.sqlite_errorcode = sqlite3.SQLITE_NOTADB
            raise refusal
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        self._connection = connection
        try:
            # A flipped bit can break a text's UTF-8, which the row's checksum tells, and not an exception.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            if (system := file_system(self.path)) not in LOCAL:
                # Locked whole before it is read, a file in write-ahead mode is read without shared memory.
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and self.table not in tables:
                raise UserError(f"{self.path} is a database and no {self.kind.lower()}: give another {self.option}.")
            if (version := self.ask("PRAGMA user_version")) != SCHEMA and (tables or version):
                raise UserError(f"{self.path} has schema {version}, not {SCHEMA}: give another {self.option}.")
            declare("input", self.path)
            place = self.path.stat()
            self._place: tuple[int, int] | None = (place.st_dev, place.st_ino)
            self._choose_journal(system)
            connection.execute("PRAGMA temp_store=MEMORY")
            if version != SCHEMA:
                with connection:  # another run may do the same meanwhile
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in (*self.creation, f"PRAGMA user_version={SCHEMA}"):
                        connection.execute(statement)
        except BaseException:
            connection.close()
            raise

    def _choose_journal(self, system: str) -> None:
        """Use write-ahead logging, which commits 100 times as fast, on a file system that is known to be local."""
        if system in LOCAL:
            # Without SQLite's timeout it fails while another run switches or writes: either journal is safe.
            with contextlib.suppress(sqlite3.OperationalError):
                if self.ask("PRAGMA journal_mode=WAL") == "wal":
                    # NORMAL survives the death of the process; only a power cut can take what came last.
                    self._connection.execute("PRAGMA synchronous=NORMAL")
            return
        if self.ask("PRAGMA journal_mode=DELETE") != "delete":
            raise sqlite3.OperationalError(f"another run has it open with write-ahead logging (on {system})")
        self._connection.execute("PRAGMA locking_mode=NORMAL")
        self.ask("SELECT COUNT(*) FROM sqlite_master")  # the lock is let go at the next read
        self._place = None  # a network file system may number its files anew
        if system:
            _log.info(
                "%s %s is on a file system (%s) that machines may share: it is kept without write-ahead logging, which "
                "does not work there. A local file is faster (%s).",
                *(self.kind, self.path, system, self.option),
            )

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction: all of it takes effect, or nothing."""
        with self.sentences():
            self._restore_if_moved()
            self._wrote = True
            with self._connection as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection

    def _restore_if_moved(self) -> None:
        """Write what the file held to its path again if it was deleted or replaced: SQLite would use the lost file."""
        with contextlib.suppress(FileNotFoundError):
            place = self.path.stat()
            if self._place in (None, (place.st_dev, place.st_ino)):
                return
        # The lost file is closed first: to close it deletes the log that has its name.
        held = {statement: self._connection.execute(query).fetchall() for query, statement in self.copies.items()}
        self._connection.close()
        self._open()
        with self.writing() as connection:
            for statement, rows in held.items():
                connection.executemany(statement, rows)
        _log.warning(
            "%s %s was deleted or replaced while this run used it: what it held was written there again.",
            *(self.kind, self.path),
        )

    def ask(self, query: str, *values: Any) -> Any:
        """Return the first value of the first row of a query; None if there is no row."""
        row = self._connection.execute(query, values).fetchone()
        return row and row[0]

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn a failure of the file into a `UserError` of one sentence."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bits say in which way
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                advice = f"The file is damaged, or not a file of metaeval: move it away ({self.anew})"
            elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                advice = "Another run holds it: wait for that one"
            elif code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or isinstance(error, OSError):
                advice = "What it already holds is kept; make its folder one that can be written"
            else:
                advice = "What it already holds is kept; free space"
            raise UserError(
                f"{self.kind} {self.path}: {getattr(error, 'strerror', None) or error}. {advice}, or give "
                f"another file with {self.option}, then run the same command again."
            ) from error


def checksum(content: bytes) -> int:
    """Return a 64-bit checksum of a row's content, in SQLite's integer range."""
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)


def file_system(path: Path) -> str:
    """Return the type of the file system of a path, from the mount table; empty where there is no such table."""
    here, deepest = path.resolve(), (0, "")
    with contextlib.suppress(OSError):
        for line in MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            _, point, kind, *_ = line.split(" ")
            folder = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point))  # a blank is \040
            if here.is_relative_to(folder) and len(folder.parts) >= deepest[0]:  # of two at one place the later counts
                deepest = len(folder.parts), kind
    return deepest[1]
