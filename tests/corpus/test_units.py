"""Units: a row per chunk, or a row per citation over its chunks, its page or its marked evidence."""

from dataclasses import replace

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.chunks import Chunking
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.corpus.pair_table import GIVEN, UNMATCHED, Pair, PairTable
from metaeval.corpus.units import (
    NEAREST,
    UnitRow,
    evidence_pairs,
    page_pairs,
    read_aggregation,
    statement_levels,
    statement_pairs,
    unit_rows,
)

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
    twice = replace(TABLE, pairs=(TABLE.pairs[1], TABLE.pairs[1]._replace(pair_id="c9#0", citation_id="c9")))
    assert [(row.id, row.members) for row in unit_rows(twice, "citation")] == [("c2", (0,)), ("c9", (1,))]
    with pytest.raises(UserError, match=r"pool=bm25:1 adds chunks that nobody cites, so it needs unit=chunk"):
        unit_rows(replace(TABLE, pairs=(*TABLE.pairs, POOL), pool="bm25:1"), "citation")


SENTENCES = ("Rain  fell.", "The river rose.", "Nobody slept.", "The bridge held.", "Morning came.")


def corpus(*citations, sentences=SENTENCES, text=""):
    """One statement and one document, cited at a level with evidence."""
    return Corpus(
        "made",
        {"d": Document("d", text, sentences=sentences), "empty": Document("empty", " ")},
        {"s": Statement("s", "The river rose and the bridge held.", "g"), "blank": Statement("blank", " ", "g")},
        tuple(
            Citation(f"c{n}", statement, document, level, evidence)
            for n, (level, evidence, statement, document) in enumerate(citations)
        ),
    )


def test_a_page_is_one_source_whatever_its_chunks():
    table = page_pairs(corpus((FULL, Evidence((1,)), "s", "d"), (NONE, Evidence(), "s", "d")), Chunking(3), 0.5)

    whole = "Rain fell. The river rose. Nobody slept. The bridge held. Morning came."
    pairs = [("c0#page", whole, FULL), ("c1#page", whole, NONE)]
    assert [(pair.pair_id, pair.source, pair.level) for pair in table.pairs] == pairs
    assert str(table.chunking) == "sentences-3"
    assert [*table.evidence] == [GIVEN, UNMATCHED]
    rows = unit_rows(table, "page")
    assert [(row.id, row.members, row.words) for row in rows] == [("c0", (0,), 12), ("c1", (1,), 12)]


@pytest.mark.parametrize(
    ("window", "source"),
    [
        (0, "The river rose. The bridge held."),
        (1, "Rain fell. The river rose. Nobody slept. The bridge held. Morning came."),
    ],
)
def test_evidence_is_what_was_marked_with_its_neighbours(window, source):
    table = evidence_pairs(corpus((PARTIAL, Evidence((1, 3)), "s", "d")), Chunking(), 0.5, window)

    (pair,) = table.pairs
    assert (pair.pair_id, pair.source, pair.level) == ("c0#evidence", source, PARTIAL)


def test_copied_evidence_is_found_stands_for_itself_or_is_missing():
    copied = [Evidence(texts=("The river rose",)), Evidence(texts=("A flood took the mill away.",))]
    table = evidence_pairs(corpus(*((FULL, one, "s", "d") for one in copied)), Chunking(), 0.5, 0)

    assert [pair.source for pair in table.pairs] == ["The river rose.", "A flood took the mill away."]
    assert table.evidence["of them found in no document sentence"] == 1
    with pytest.raises(UserError, match=r"has no marked evidence, which unit=evidence needs\. Try unit=page\."):
        evidence_pairs(corpus((FULL, Evidence(), "s", "d")), Chunking(), 0.5, 0)


def test_what_supports_nothing_reads_the_nearest_sentences_and_a_mark_that_is_missing_is_counted():
    cited = [
        (FULL, Evidence((1, 3)), "s", "d"),
        (NONE, Evidence(), "s", "d"),
        (NONE, Evidence((0,)), "s", "d"),
        (PARTIAL, Evidence(), "s", "d"),
        (FULL, Evidence(), "s", "empty"),
        (FULL, Evidence((1,)), "blank", "d"),
    ]
    table = evidence_pairs(corpus(*cited), Chunking(), 0.5, 0)

    # Sets of 2, 1 and 1 sentences: the median is 1, and the second sentence shares most words with the statement.
    sources = ["The river rose. The bridge held.", "The river rose.", "Rain fell."]
    assert [pair.source for pair in table.pairs] == sources
    assert table.evidence[NEAREST] == 1
    assert table.dropped == {"no marked evidence": 1, "no document text": 1, "no statement text": 1}


def test_units_of_a_corpus(recorded):
    """Citations at every level with evidence of every kind: what each unit makes of them."""
    kinds = [
        Evidence(),
        Evidence((1, 3)),
        Evidence((4,)),
        Evidence(texts=("The river rose",)),
        Evidence(texts=("A flood.",)),
    ]
    cited = [(level, kind, "s", "d") for level in (FULL, PARTIAL, NONE) for kind in kinds]
    cited += [
        (NONE, Evidence(), "blank", "d"),
        (FULL, Evidence((0,)), "s", "empty"),
        (FULL, (Evidence((0,)), Evidence((2,))), "s", "d"),
    ]
    made = corpus(*cited[:-2], cited[-1], (FULL, Evidence(), "s", "empty"))
    tables = {f"evidence {window}": evidence_pairs(made, Chunking(), 0.5, window) for window in (0, 1, 4)}
    tables |= {"few": evidence_pairs(corpus((FULL, Evidence((0, 1, 2)), "s", "d"), *cited[10:11]), Chunking(), 0.5, 0)}
    tables |= {
        "many": evidence_pairs(corpus(*cited[1:3], *cited[10:11], sentences=SENTENCES[1:2] * 5), Chunking(), 0.5, 0)
    }
    tables |= {"page": page_pairs(made, Chunking(3), 0.5), "statement": statement_pairs(made, Chunking(3), 0.9)}
    found = {}
    for name, table in tables.items():
        pairs = [[pair.pair_id, len(pair.source), pair.source[:10], pair.level, pair.held] for pair in table.pairs]
        found[name] = [
            pairs,
            [*table.evidence.values()],
            [*table.dropped.values()],
            table.threshold,
            str(table.chunking),
        ]
    found["levels"] = statement_levels(made)
    rows = {f"rows {unit}": unit_rows(TABLE, unit) for unit in ("chunk", "citation", "page")}
    found |= rows | {"rows": unit_rows(replace(TABLE, pool="bm25:1"), "chunk")[:1]}
    texts = ("max", "mean", "mean:1", "mean:12", "union:3", "union", "max:2", "mean:0", "mean:01", "", "mean:-1")
    found["aggregations"] = [recorded.told(read_aggregation, text) for text in texts]
    recorded.held("corpus-units", found)


def cited_together(*levels, own=None):
    """One statement with a citation of a page of its own at each level; own: its own level."""
    pages = {f"d{n}": Document(f"d{n}", f"Page {n} ends.") for n in range(len(levels))}
    citations = tuple(Citation(f"c{n}", "s", f"d{n}", level) for n, level in enumerate(levels))
    return Corpus("made", pages, {"s": Statement("s", "Both rose.", "g", level=own)}, citations)


@pytest.mark.parametrize(
    ("levels", "own", "level"),
    [
        ((FULL,), None, FULL),
        ((PARTIAL,), None, PARTIAL),
        ((NONE, FULL, PARTIAL), None, FULL),  # one that is enough is enough
        ((NONE, NONE), None, NONE),
        ((PARTIAL, NONE), None, None),  # the second might add what is missing
        ((PARTIAL, PARTIAL), None, None),
        ((PARTIAL, PARTIAL), FULL, FULL),  # the 2 % of the base paper's limitations
        ((FULL, NONE), PARTIAL, PARTIAL),  # what somebody judged of all together is the gold
        ((FULL, NONE), NONE, NONE),
    ],
)
def test_a_statement_has_its_own_level_or_what_its_citations_leave_no_doubt_of(levels, own, level):
    assert statement_levels(cited_together(*levels, own=own)) == {"s": level}


def test_rows_of_statements_have_the_pages_and_chunks_of_all_their_citations():
    made = cited_together(PARTIAL, NONE)
    twice = replace(made, citations=(*made.citations, Citation("c9", "s", "d0", PARTIAL)))
    table = statement_pairs(twice, Chunking(2), 0.5)
    assert [(pair.pair_id, pair.source) for pair in table.pairs] == [("s#pages", "Page 0 ends. Page 1 ends.")]
    (row,) = unit_rows(table, "statement", {"s": FULL})
    assert (row.id, row.statement_id, row.level, row.members, row.words, row.cited) == ("s", "s", 2, (0,), 6, True)
    assert unit_rows(TABLE, "statement", {"s": None, "t": FULL}) == [
        UnitRow("s", "s", "g", None, True, (0, 1, 2), "It rained.", 6, 0),
        UnitRow("t", "t", "h", 2, True, (3, 4), "It poured.", 5, 0),
    ]
