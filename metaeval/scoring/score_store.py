"""The score store: one SQLite file that keeps each score under its metric's full identity and its texts' hashes."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar

from metaeval.core.files import canonical_json, sha256_json
from metaeval.core.store import Store, checksum
from metaeval.scoring.contract import PairScore, Status

_log = logging.getLogger("metaeval")
_ANSWER = "score, status, tokens, cut"
_IDENTITY = "INSERT OR IGNORE INTO metrics (key, identity) VALUES (?, ?)"
_SCORE = "INTO scores VALUES ((SELECT id FROM metrics WHERE key = ?), ?, ?, ?, ?, ?, ?)"
_NUMBERS = struct.Struct("<dqq")


def pair_key(source: str, statement: str) -> bytes:
    """Return the key of a pair of texts: 16 bytes, a hash of the two texts' hashes."""
    inner = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in (source, statement))
    return blake2b(b"".join(inner), digest_size=16).digest()


def row_checksum(metric: str, pair: Any, score: Any, status: Any, tokens: Any, cut: Any) -> int | None:
    """Return the checksum of a stored row; None for a row that no metric can have returned.

    Such a row has a value of another type, or a status that does not agree with its score. metric: the identity's hash.
    """
    if (score is None) == (status == Status.OK):
        return None
    try:
        numbers = _NUMBERS.pack(score or 0.0, tokens, cut)
        return checksum(b"\0".join((metric.encode(), status.encode(), pair + numbers)))
    except (AttributeError, TypeError, struct.error):
        return None


class ScoreStore(Store):
    """The store of scores on disk. Every `put` is one transaction: its rows are stored all or not at all.

    Several runs may share the file. A metric's scores are found only under the identity that they were computed with,
    and only while they match the checksum that was written with them.
    """

    kind = "Score store"
    option = "--store FILE"
    anew = "what it held is scored again"
    table = "scores"
    creation = (
        "CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, identity TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS scores (metric INTEGER NOT NULL REFERENCES metrics, pair BLOB NOT NULL, "
        "score REAL, status TEXT NOT NULL, tokens INTEGER NOT NULL, cut INTEGER NOT NULL, checksum INTEGER, "
        "PRIMARY KEY (metric, pair)) WITHOUT ROWID",
    )
    copies: ClassVar[dict[str, str]] = {
        "SELECT key, identity FROM metrics": _IDENTITY,
        f"SELECT key, pair, {_ANSWER}, checksum FROM scores JOIN metrics ON id = metric": f"INSERT OR IGNORE {_SCORE}",
    }

    _version: int | None = None  # of the file's content, by SQLite's count

    def find(self, identity: Mapping[str, Any], pairs: Sequence[bytes]) -> dict[bytes, PairScore]:
        """Return the results that are stored under an identity, by pair key; keys in `pairs` without one are left out.

        A row that does not match its checksum is left out too, so that it is scored again; a warning counts such rows.
        """
        key = sha256_json(dict(identity))
        if self._version is None:
            self.changed()
        with self.sentences(), self._connection as connection:
            connection.execute("BEGIN")
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (pair BLOB PRIMARY KEY) WITHOUT ROWID")
            connection.execute("DELETE FROM wanted")
            connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((pair,) for pair in pairs))
            rows = connection.execute(
                f"SELECT pair, {_ANSWER}, checksum FROM wanted CROSS JOIN scores USING (pair) "
                "WHERE metric = (SELECT id FROM metrics WHERE key = ?)",
                (key,),
            )
            answer_by_key, stored = {}, 0
            for pair, *answer, known in rows:  # one at a time: a list of all would be most of the memory
                stored += 1
                if known is not None and row_checksum(key, pair, *answer) == known:
                    score, status, tokens, cut = answer
                    answer_by_key[pair] = PairScore(score, Status(status), tokens, cut)
        if damaged := stored - len(answer_by_key):
            _log.warning(
                "Score store %s: %s of %s stored scores of %s are damaged (they do not match their checksums), and are "
                "scored again.",
                *(self.path, f"{damaged:,}", f"{stored:,}", identity.get("name", "a metric")),
            )
        return answer_by_key

    def put(self, identity: Mapping[str, Any], answers: Iterable[tuple[bytes, PairScore]]) -> None:
        """Store results by pair key, all or none, but not FAILED ones: the next run tries those pairs again."""
        key = sha256_json(dict(identity))
        with self.writing() as connection:
            connection.execute(_IDENTITY, (key, canonical_json(dict(identity))))
            rows = []
            for pair, (score, status, tokens, cut) in answers:
                if status is not Status.FAILED:
                    row = pair, None if score is None else float(score), str(status), tokens, cut
                    rows.append((key, *row, row_checksum(key, *row)))
            connection.executemany(f"INSERT OR REPLACE {_SCORE}", rows)

    def changed(self) -> bool:
        """Return whether another run has written to the file since the last call; at first, since the first `find`."""
        with self.sentences():
            before, self._version = self._version, self.ask("PRAGMA data_version")
        return before != self._version
