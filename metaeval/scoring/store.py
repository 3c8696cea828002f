"""The score store: one SQLite file that keeps each score under its metric's full identity and its texts' hashes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from metaeval.files import Database, canonical_json, sha256_json
from metaeval.scoring.contract import PairScore, Status

_SCHEMA = """
CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, identity TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS scores (
  metric INTEGER NOT NULL REFERENCES metrics, pair BLOB NOT NULL,
  score REAL, status TEXT NOT NULL, tokens INTEGER NOT NULL, cut INTEGER NOT NULL,
  PRIMARY KEY (metric, pair)
) WITHOUT ROWID;
"""


def pair_key(source: str, statement: str) -> bytes:
    """16 bytes that stand for one (source, statement): a hash of the two texts' hashes, so no boundary is lost."""
    inner = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in (source, statement))
    return blake2b(b"".join(inner), digest_size=16).digest()


class ScoreStore(Database):
    """Scores on disk. Every `put` is one transaction: after a kill, a block is there whole or not at all.

    Write-ahead logging lets several runs share the file. A metric's scores are found only under the identity that
    made them.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            _SCHEMA,
            "Score store {path}: {error}. What it already holds is kept; free space, or name another file "
            "with --store PATH, then run the same command again.",
        )

    def find(self, identity: Mapping[str, Any], pairs: Sequence[bytes]) -> dict[bytes, PairScore]:
        """The stored answers for these pair keys; pairs that were never scored are left out."""
        with self._sentences():
            metric = self._metric(identity)
            self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (pair BLOB PRIMARY KEY) WITHOUT ROWID")
            self._connection.execute("BEGIN")
            self._connection.execute("DELETE FROM wanted")
            self._connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((pair,) for pair in pairs))
            rows = self._connection.execute(
                "SELECT pair, score, status, tokens, cut FROM wanted CROSS JOIN scores USING (pair) WHERE metric = ?",
                (metric,),
            ).fetchall()
            self._connection.execute("COMMIT")
        return {pair: PairScore(score, Status(status), tokens, cut) for pair, score, status, tokens, cut in rows}

    def put(self, identity: Mapping[str, Any], answers: Iterable[tuple[bytes, PairScore]]) -> None:
        """Store a block of answers, all or none. Failed pairs are not kept, so that the next run tries them again."""
        with self._sentences():
            metric = self._metric(identity)
            rows = [
                (metric, pair, answer.score, str(answer.status), answer.tokens, answer.cut)
                for pair, answer in answers
                if answer.status is not Status.FAILED
            ]
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?, ?)", rows)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def counts(self) -> dict[str, int]:
        """Number of stored scores by metric identity (canonical JSON)."""
        query = (
            "SELECT identity, COUNT(pair) FROM metrics LEFT JOIN scores ON metric = id GROUP BY id ORDER BY identity"
        )
        with self._sentences():
            return dict(self._connection.execute(query).fetchall())

    def _metric(self, identity: Mapping[str, Any]) -> int:
        key = sha256_json(dict(identity))
        row = self._connection.execute("SELECT id FROM metrics WHERE key = ?", (key,)).fetchone()
        if row is None:
            self._connection.execute(
                "INSERT OR IGNORE INTO metrics (key, identity) VALUES (?, ?)", (key, canonical_json(dict(identity)))
            )
            row = self._connection.execute("SELECT id FROM metrics WHERE key = ?", (key,)).fetchone()
        return int(row[0])
