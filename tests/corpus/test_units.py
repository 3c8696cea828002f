"""Units: a row per chunk or a row per citation."""

from dataclasses import replace

import pytest

from metaeval.corpus.chunks import Chunking
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.pairs import Pair, PairTable, UnitRow, unit_rows
from metaeval.errors import UserError

NONE, PARTIAL, FULL = SupportLevel.NONE, SupportLevel.PARTIAL, SupportLevel.FULL
# Two citations of statement s (the first of three chunks, two of them shown apart), one of t, and a chunk of s's pool.
TABLE = PairTable(
    (
        Pair("c1#0", "s", "d", 0, "c1", "g", NONE, PARTIAL, "It rained.", "a b c"),
        Pair("c2#0", "s", "e", 0, "c2", "g", FULL, FULL, "It rained.", "a"),
        Pair("c1#1", "s", "d", 1, "c1", "g", PARTIAL, PARTIAL, "It rained.", "d e"),
        Pair("c3#0", "t", "d", 0, "c3", "h", None, FULL, "It poured.", "a b c"),
        Pair("c3#1", "t", "d", 1, "c3", "h", None, FULL, "It poured.", "d e"),
    ),
    Chunking(3),
    0.5,
)
POOL = Pair("s+f#4", "s", "f", 4, "", "g", NONE, None, "It rained.", "x y")


def test_chunk_rows_are_the_pairs_themselves():
    rows = unit_rows(replace(TABLE, pairs=(*TABLE.pairs, POOL), pool="bm25:1"), "chunk")
    assert [row.id for row in rows] == ["c1#0", "c2#0", "c1#1", "c3#0", "c3#1", "s+f#4"]
    assert [row.level for row in rows] == [0, 2, 1, None, None, 0]
    assert [row.members for row in rows] == [(0,), (1,), (2,), (3,), (4,), (5,)]
    assert [row.words for row in rows] == [3, 1, 2, 3, 2, 2]
    assert [row.position for row in rows] == [0, 0, 1, 0, 1, 4]
    assert [row.cited for row in rows] == [True] * 5 + [False]
    assert rows[5] == UnitRow("s+f#4", "s", "g", 0, False, (5,), "It rained.", 2, 4)


def test_citation_rows_gather_all_chunks_of_the_cited_document():
    assert unit_rows(TABLE, "citation") == [
        UnitRow("c1", "s", "g", 1, True, (0, 2), "It rained.", 5, 0),
        UnitRow("c2", "s", "g", 2, True, (1,), "It rained.", 1, 0),
        # The level of a citation is known even where that of its chunks is not.
        UnitRow("c3", "t", "h", 2, True, (3, 4), "It poured.", 5, 0),
    ]


def test_two_citations_of_one_document_by_one_statement_stay_two_rows():
    twice = replace(TABLE, pairs=(TABLE.pairs[1], TABLE.pairs[1]._replace(pair_id="c9#0", citation_id="c9")))
    assert [(row.id, row.members) for row in unit_rows(twice, "citation")] == [("c2", (0,)), ("c9", (1,))]


def test_chunks_that_nobody_cites_need_the_chunk_unit():
    with pytest.raises(UserError, match=r"pool=bm25:1 adds chunks that nobody cites, so it needs unit=chunk"):
        unit_rows(replace(TABLE, pairs=(*TABLE.pairs, POOL), pool="bm25:1"), "citation")
