"""A store: one SQLite file that several runs share, with a schema number, and rows that are checked when read."""

from __future__ import annotations

import contextlib
import logging
import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

from metaeval.core.errors import UserError
from metaeval.core.files import declare

_log = logging.getLogger("metaeval")

MOUNTS = Path("/proc/mounts")
"""The table of mounted file systems; on systems without it every file system is taken for a local one."""

PATIENCE = 60.0
"""Seconds that a run waits for another one that writes."""

SCHEMA = 1
"""The number of the tables' schema, in SQLite's `user_version`; an empty file has 0."""

_MAGIC = b"SQLite format 3\0"
_PAGE = 4096  # bytes; no store is smaller

_NETWORK = frozenset(
    """nfs nfs3 nfs4 cifs smb smb2 smb3 smbfs 9p afs ceph lustre gpfs beegfs glusterfs ocfs2 gfs2 davfs ncpfs coda
    vboxsf fuse.sshfs fuse.s3fs fuse.rclone fuse.gcsfuse fuse.glusterfs fuse.ceph fuse.cephfs fuse.davfs
    fuse.davfs2 fuse.juicefs fuse.mfs fuse.vmhgfs-fuse""".split()
)


class Database(ABC):
    """One SQLite file that several runs may share; used by one thread at a time.

    kind: what the file is called in sentences. option: the option that names another file. anew: what a run does
    about lost rows. table: the table whose rows are checked. creation: statements that create the tables.

    Raises `UserError` for errors of SQLite, for a file of another schema, and for a database of another kind.
    """

    kind: ClassVar[str]
    option: ClassVar[str]
    anew: ClassVar[str]
    table: ClassVar[str]
    creation: ClassVar[tuple[str, ...]]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._wrote = False
        with self._sentences():
            self._open()

    @abstractmethod
    def _take(self, other: sqlite3.Connection) -> None:
        """Add the readable rows of another database of the same schema to this one; rows that exist here are kept."""

    def close(self) -> None:
        """Close the file; if this object wrote to it and it was then deleted or replaced, restore it first."""
        try:
            if self._wrote:
                self._wrote = False
                with self._sentences():
                    self._restore_if_moved()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def _open(self) -> None:
        """Open or create the file, check its tables, choose its journal, and create missing tables."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite would write over a file of less than a page, whatever it holds. No other file is opened here: to close
        # it would let go of the locks of whoever has it open in this process, and another run would delete their log.
        if self.path.is_file() and 0 < self.path.stat().st_size < _PAGE:
            with self.path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    refusal = sqlite3.DatabaseError("file is not a database")
                    refusal.sqlite_errorcode = sqlite3.SQLITE_NOTADB
                    raise refusal
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        self._connection = connection
        try:
            # A flipped bit can break a text's UTF-8, which the row's checksum tells, and not an exception.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            self._check_tables()
            declare("input", self.path)
            place = self.path.stat()
            self._place: tuple[int, int] | None = (place.st_dev, place.st_ino)
            self._choose_journal()
            connection.execute("PRAGMA temp_store=MEMORY")
            if self._ask("PRAGMA user_version") != SCHEMA:
                with self._transaction():  # another run may do the same meanwhile
                    for statement in (*self.creation, f"PRAGMA user_version={SCHEMA}"):
                        connection.execute(statement)
        except BaseException:
            connection.close()
            raise

    def _check_tables(self) -> None:
        """Raise `UserError` for a database of another kind, and for one of another schema."""
        tables = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and self.table not in tables:
            raise UserError(f"{self.path} is a database, but not a {self.kind.lower()}: give another {self.option}.")
        if (version := int(self._ask("PRAGMA user_version"))) != SCHEMA and (tables or version):
            raise UserError(
                f"{self.kind} {self.path} was written by another version of metaeval (schema {version}; this version "
                f"reads {SCHEMA}): update metaeval, or give another file with {self.option}."
            )

    def _choose_journal(self) -> None:
        """Use write-ahead logging, except on a network file system, where SQLite does not support it.

        The log's index is shared memory, which processes on two machines do not have in common.
        """
        system = file_system(self.path)
        if system not in _NETWORK:
            self._write_ahead()
            # NORMAL survives the death of the process; only a power cut can take what came last, never break the file.
            self._connection.execute("PRAGMA synchronous=NORMAL")
            return
        # With an exclusive lock, a file that was in write-ahead mode is read without the shared memory.
        self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        if self._ask("PRAGMA journal_mode=DELETE") != "delete":
            raise sqlite3.OperationalError(f"another run has it open on a network file system ({system})")
        self._connection.execute("PRAGMA locking_mode=NORMAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._ask("SELECT COUNT(*) FROM sqlite_master")  # the lock is let go at the next read
        self._place = None  # such systems may number their files anew
        _log.info(
            "%s %s is on a network file system (%s): it is kept without write-ahead logging, which does not work "
            "there. A local file is faster (%s).",
            *(self.kind, self.path, system, self.option),
        )

    def _write_ahead(self) -> None:
        """Switch to write-ahead logging, with retries, since SQLite does not wait if two processes switch at once."""
        for attempts_left in reversed(range(600)):
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or not attempts_left:
                    raise
                time.sleep(0.1)

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction: all of it takes effect, or nothing."""
        with self._sentences():
            if kind == "IMMEDIATE":
                self._restore_if_moved()
                self._wrote = True
            connection = self._connection
            connection.execute(f"BEGIN {kind}")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _restore_if_moved(self) -> None:
        """Write what the file held to its path again if it was deleted or replaced: SQLite would use the lost file."""
        try:
            place = self.path.stat()
            if self._place in (None, (place.st_dev, place.st_ino)):
                return
        except FileNotFoundError:
            pass
        with contextlib.closing(sqlite3.connect(":memory:")) as held:
            self._connection.backup(held)
            self._connection.close()
            self._open()
            held.text_factory = self._connection.text_factory
            self._take(held)
        _log.warning(
            "%s %s was deleted or replaced while this run used it: what it held was written there again.",
            *(self.kind, self.path),
        )

    def _ask(self, query: str) -> Any:
        return self._connection.execute(query).fetchone()[0]

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
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


def readable(connection: sqlite3.Connection, query: str, order: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query; in a damaged file, those before the damage and, read backwards, those after it."""
    try:
        yield from connection.execute(f"{query} ORDER BY {order}")
    except sqlite3.DatabaseError:
        with contextlib.suppress(sqlite3.DatabaseError):
            yield from connection.execute(f"{query} ORDER BY {order} DESC")


def checksum(content: bytes) -> int:
    """Return a 64-bit checksum of a row's content, in SQLite's integer range."""
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)


def file_system(path: Path) -> str:
    """Return the type of the file system of a path, from the mount table; empty where there is no such table."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    here, system, depth = path.resolve(), "", 0
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        folder = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point))  # a blank is \040
        if len(folder.parts) >= depth and here.is_relative_to(folder):  # of two at one place the later one counts
            system, depth = kind, len(folder.parts)
    return system
