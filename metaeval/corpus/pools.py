"""Retrieval pools: the chunks that a statement's evidence has to be found among."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metaeval.corpus.chunks import Chunk, ChunkedCorpus
from metaeval.corpus.model import Statement, SupportLevel
from metaeval.corpus.pairs import Pair, PairTable, pair_of
from metaeval.errors import UserError

_BM25 = re.compile(r"bm25:([1-9]\d*)")


def check_pool(pool: str) -> int:
    """Number of BM25 chunks that a pool rule adds: 0 for `own`, k for `bm25:k`. `UserError` for anything else."""
    if pool == "own":
        return 0
    match = _BM25.fullmatch(pool)
    if match is None:
        raise UserError(f"pool is {pool!r}; allowed: own, or bm25:K with K of 1 or more (for example bm25:20).")
    return int(match[1])


def add_pool(table: PairTable, chunked: ChunkedCorpus, pool: str) -> PairTable:
    """Add to each statement the best BM25 chunks of documents that it does not cite, at level NONE.

    `own` adds nothing. The statement's own chunks are passed over by their text: a copy in another document would be
    evidence under the wrong level. That no other added chunk supports the statement is an assumption, the base paper's.
    """
    k = check_pool(pool)
    if k == 0:
        return replace(table, pool=pool)
    ranker = _Ranker([chunk for chunks in chunked.chunks.values() for chunk in chunks])
    own: dict[str, set[str]] = {}
    for pair in table.pairs:
        own.setdefault(pair.statement_id, set()).add(pair.source)
    added = [
        pair
        for statement_id in own
        for pair in _pool_rows(chunked.corpus.statements[statement_id], ranker, k, own[statement_id])
    ]
    seen = {pair.pair_id for pair in table.pairs}
    for pair in added:
        if pair.pair_id in seen:
            raise UserError(
                f"Two pairs would be called {pair.pair_id!r}: ids of statements, documents or citations that hold '+' "
                "run into each other. Rename them."
            )
        seen.add(pair.pair_id)
    return replace(table, pairs=(*table.pairs, *added), pool=pool)


class _Ranker:
    """BM25 over chunks (bm25s, its defaults: Lucene variant, k1 = 1.5, b = 0.75)."""

    def __init__(self, chunks: list[Chunk]) -> None:
        import bm25s

        # It sets its logger to DEBUG, which any program with a log handler then prints.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self.chunks = chunks
        self._index = bm25s.BM25()
        documents = [_tokens(chunk.text) for chunk in chunks]
        self._known = frozenset(token for tokens in documents for token in tokens)
        if self._known:
            self._index.index(documents, show_progress=False)

    def best(self, statement: str) -> NDArray[np.intp]:
        """Chunk numbers, best first; equal scores in chunk order."""
        tokens = [token for token in _tokens(statement) if token in self._known]
        scores = self._index.get_scores(tokens) if tokens else np.zeros(len(self.chunks))
        order: NDArray[np.intp] = np.argsort(-scores, kind="stable")
        return order


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _pool_rows(statement: Statement, ranker: _Ranker, k: int, own: set[str]) -> Iterator[Pair]:
    taken: set[str] = set()
    for number in ranker.best(statement.text):
        chunk = ranker.chunks[number]
        if chunk.text in own or chunk.text in taken:
            continue
        taken.add(chunk.text)
        pair_id = f"{statement.id}+{chunk.document_id}#{chunk.index}"
        yield pair_of(statement, chunk, pair_id, SupportLevel.NONE)
        if len(taken) == k:
            return
