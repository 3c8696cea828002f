"""The reply store: one SQLite file that keeps every reply that was paid for, under everything that was sent."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from metaeval.cache import cache_folder
from metaeval.files import Database
from metaeval.llm.exchange import ChatRequest, Reply, read_reply

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
  key BLOB PRIMARY KEY,
  base_url TEXT NOT NULL, request TEXT NOT NULL, sample INTEGER NOT NULL,
  reply TEXT NOT NULL, model TEXT NOT NULL, system_fingerprint TEXT NOT NULL, finish_reason TEXT NOT NULL,
  tokens_in INTEGER, tokens_out INTEGER, seconds REAL NOT NULL, time TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS answered (settings TEXT PRIMARY KEY) WITHOUT ROWID;
"""


def replies_path(given: Path | None) -> Path:
    """Where replies are kept: the path given, else replies.sqlite in the cache folder, shared by all runs."""
    return given.expanduser() if given else cache_folder() / "replies.sqlite"


class ReplyStore(Database):
    """Raw replies on disk, each committed as soon as it came: a kill loses only what was in flight.

    Runs at the same time may share the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            _SCHEMA,
            "Reply store {path}: {error}. The replies that it holds are kept; free space, or name another file "
            "(-s replies=FILE), then run the same command again.",
        )

    def has(self, key: bytes) -> bool:
        """Whether the reply to a request is kept."""
        with self._sentences():
            return self._connection.execute("SELECT 1 FROM replies WHERE key = ?", (key,)).fetchone() is not None

    def find(self, key: bytes) -> Reply | None:
        """The reply to a request, None when it was never received."""
        with self._sentences():
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return read_reply(row[0]) if row else None

    def put(self, key: bytes, base_url: str, request: ChatRequest, reply: Reply, seconds: float) -> None:
        """Keep a reply; `seconds` is how long the server took. The first reply to a request is the one that stays."""
        row = (
            key,
            base_url,
            request.content.decode(),
            request.sample,
            _plain(reply.raw),
            _plain(reply.model),
            _plain(reply.fingerprint),
            _plain(reply.finish_reason),
            reply.tokens_in,
            reply.tokens_out,
            round(seconds, 3),
            datetime.now(UTC).isoformat(timespec="seconds"),
        )
        with self._sentences():
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row)

    def knows(self, settings: str) -> bool:
        """Whether a request with these settings was ever answered."""
        with self._sentences():
            row = self._connection.execute("SELECT 1 FROM answered WHERE settings = ?", (settings,)).fetchone()
        return row is not None

    def learn(self, settings: str) -> None:
        """Note that a request with these settings was answered."""
        with self._sentences():
            self._connection.execute("INSERT OR IGNORE INTO answered VALUES (?)", (_plain(settings),))


def _plain(text: str) -> str:
    """Text that SQLite can hold: a lone surrogate has no UTF-8."""
    return text.encode("utf-8", "replace").decode()
