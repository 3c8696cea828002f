"""The reply store: one SQLite file that keeps every reply that was paid for, under everything that was sent."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from metaeval.core.files import cache_folder
from metaeval.core.parsing import parse_json
from metaeval.core.store import Store, checksum
from metaeval.llm.messages import ChatRequest, Reply, read_reply

_log = logging.getLogger("metaeval")
_FIND = "SELECT reply, checksum, request FROM replies WHERE key = ?"
_ANSWERED = "INSERT OR IGNORE INTO answered VALUES (?)"
_INSERT = f"INSERT OR IGNORE INTO replies VALUES ({', '.join('?' * 13)})"


def replies_path(path: Path | None) -> Path:
    """Return the path of the reply store: the given one, else replies.sqlite in the cache folder."""
    return Path(os.path.expanduser(path)) if path else cache_folder() / "replies.sqlite"


def reply_checksum(key: bytes, reply: Any) -> int | None:
    """Return the checksum of a stored reply, from its columns `key` and `reply`; None if the reply is not a text."""
    return checksum(key + reply.encode()) if isinstance(reply, str) else None


@dataclass(frozen=True, slots=True)
class Received:
    """A reply to store, under the key of its request. base_url: of the server. seconds: how long it took."""

    key: bytes
    base_url: str
    request: ChatRequest
    reply: Reply
    seconds: float

    def row(self, time: str) -> tuple[Any, ...]:
        """Return the values of the row's 13 columns. time: of the transaction, in ISO 8601."""
        request, reply = self.request, self.reply
        raw = _plain(reply.raw)
        texts = (raw, _plain(reply.model), _plain(reply.fingerprint), _plain(reply.finish_reason))
        sent = (self.key, self.base_url, request.content.decode(), request.sample)
        counts = (reply.tokens_in, reply.tokens_out, round(self.seconds, 3))
        return (*sent, *texts, *counts, time, reply_checksum(self.key, raw))


class ReplyStore(Store):
    """The store of raw replies on disk; each is committed when it arrives, so that a kill loses only those in flight.

    Runs at the same time may share the file. A reply that does not match the checksum that was written with it, or
    does not answer its request, is treated as missing. damaged: the keys of such replies that were looked up.
    """

    kind = "Reply store"
    option = "-s replies=FILE"
    anew = "its replies are asked for again"
    table = "replies"
    creation = (
        "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, base_url TEXT NOT NULL, request TEXT NOT NULL, "
        "sample INTEGER NOT NULL, reply TEXT NOT NULL, model TEXT NOT NULL, system_fingerprint TEXT NOT NULL, "
        "finish_reason TEXT NOT NULL, tokens_in INTEGER, tokens_out INTEGER, seconds REAL NOT NULL, "
        "time TEXT NOT NULL, checksum INTEGER)",
        "CREATE TABLE IF NOT EXISTS answered (settings TEXT PRIMARY KEY) WITHOUT ROWID",
    )
    copies: ClassVar[dict[str, str]] = {
        "SELECT * FROM replies": _INSERT,
        "SELECT settings FROM answered": _ANSWERED,
    }

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.damaged: set[bytes] = set()

    def has(self, key: bytes) -> bool:
        """Return whether `find` returns a reply to the request with this key."""
        return self.find(key) is not None

    def find(self, key: bytes, only_usable: bool = True) -> Reply | None:
        """Return the reply to the request with this key; None if it is not stored, damaged, or cannot be read.

        only_usable: None also for a reply that does not answer its request (`Reply.usable`): it is kept until another
        one comes, to be read, and is never served.
        """
        with self.sentences():
            row = self._connection.execute(_FIND, (key,)).fetchone()
        if row is None:
            return None
        raw, known, request = row
        if known is not None and reply_checksum(key, raw) == known:
            with suppress(ValueError):
                reply = read_reply(raw)
                return reply if not only_usable or reply.usable(parse_json(request, long_integers=True)) else None
            return None
        if not self.damaged:
            _log.warning(
                "Reply store %s holds damaged replies, which do not match their checksums: those that are needed are "
                "asked for again.",
                self.path,
            )
        self.damaged.add(key)
        return None

    def put(self, key: bytes, base_url: str, request: ChatRequest, reply: Reply, seconds: float) -> Reply:
        """Store one reply, unless its request has one; return the stored one. seconds: how long the server took."""
        return self.put_all([Received(key, base_url, request, reply, seconds)])[0]

    def put_all(self, received: Sequence[Received]) -> list[Reply]:
        """Store replies in one transaction; return for each the reply that is stored now.

        A reply that `find` returns stays, and is what every later run reads.
        """
        time = datetime.now(UTC).isoformat(timespec="seconds")
        with self.writing() as connection:
            for each in received:
                if not self.has(each.key):
                    connection.execute("DELETE FROM replies WHERE key = ?", (each.key,))
            new = [connection.execute(_INSERT, each.row(time)).rowcount for each in received]
        same = [stored and _plain(each.reply.raw) == each.reply.raw for each, stored in zip(received, new, strict=True)]
        return [
            each.reply if kept else self.find(each.key) or each.reply for each, kept in zip(received, same, strict=True)
        ]

    def knows(self, settings: str) -> bool:
        """Return whether a request with these settings (`ChatRequest.settings`) ever got a reply."""
        with self.sentences():
            return self.ask("SELECT 1 FROM answered WHERE settings = ?", settings) is not None

    def learn(self, settings: str) -> None:
        """Record that a request with these settings got a reply."""
        with self.writing() as connection:
            connection.execute(_ANSWERED, (_plain(settings),))


def _plain(text: str) -> str:
    """Return a text as SQLite can store it: lone surrogates, which UTF-8 cannot encode, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
