"""Retrieval pools: what is added, in which order, and what never is."""

import re
from collections import Counter, defaultdict
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import UserError
from metaeval.corpus.chunks import Chunking, chunk_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.corpus.pair_table import add_pool, build_pairs, check_pool


def made(documents, statements, cites, size=150):
    """A chunked corpus: {id: text}, {id: text}, [(statement, document)], each citation with full support."""
    corpus = Corpus(
        "made",
        {key: Document(key, text) for key, text in documents.items()},
        {key: Statement(key, text, group=f"g-{key}") for key, text in statements.items()},
        tuple(Citation(f"{s}:{d}", s, d, SupportLevel.FULL, Evidence(texts=(documents[d],))) for s, d in cites),
    )
    return chunk_corpus(corpus, Chunking(size))


def pooled(chunked, pool):
    return add_pool(build_pairs(chunked), chunked, pool)


def added(chunked, pool, statement="s"):
    """(document, chunk) of what a pool adds to a statement, in order."""
    return [
        (p.document_id, p.chunk) for p in pooled(chunked, pool).pairs if not p.cited and p.statement_id == statement
    ]


def tokens(text):
    return re.findall(r"\w+", text.lower())


def lucene_bm25(query, texts, k1=1.5, b=0.75):
    """BM25 as Lucene has it, from its formula: sum of idf * tf / (tf + k1 (1 - b + b length / mean length))."""
    documents = [Counter(tokens(text)) for text in texts]
    mean = sum(sum(document.values()) for document in documents) / len(documents)
    scores = [0.0] * len(texts)
    for token in tokens(query):
        holding = sum(token in document for document in documents)
        idf = log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        for number, document in enumerate(documents):
            length = k1 * (1 - b + b * sum(document.values()) / mean) if mean else 1.0
            scores[number] += idf * document[token] / (document[token] + length)
    return scores


WEATHER = {
    "cited": "rain fell on the river",
    "far": "markets closed higher on tuesday",
    "near": "the rain and the river",
    "nearest": "rain river",
    "half": "rain in the hills all day",
}


def test_an_added_pair_is_not_cited_and_supports_nothing():
    chunked = made(WEATHER, {"s": "rain river"}, [("s", "cited")])
    table = pooled(chunked, "bm25:1")
    own, extra = table.pairs
    assert (own.cited, own.level, extra.cited) == (True, SupportLevel.FULL, False)
    text = "rain river"
    assert extra == ("s+nearest#0", "s", "nearest", 0, "", "g-s", SupportLevel.NONE, None, text, text, None)
    assert table.pool == "bm25:1"


def test_other_statements_documents_are_added_in_corpus_order_where_no_word_is_known():
    chunked = made({"a": "Rain.", "b": "River."}, {"s": "rain", "t": "river"}, [("s", "a"), ("t", "b")])
    assert added(chunked, "bm25:5", "s") == [("b", 0)]
    assert added(chunked, "bm25:5", "t") == [("a", 0)]
    chunked = made(WEATHER, {"s": "Quixotic zebras!", "t": "?!"}, [("s", "cited"), ("t", "cited")])
    assert added(chunked, "bm25:2", "s") == [("far", 0), ("near", 0)]
    assert added(chunked, "bm25:2", "t") == [("far", 0), ("near", 0)]
    chunked = made({"a": "…", "b": "!!", "c": "—"}, {"s": "rain"}, [("s", "a")])
    assert added(chunked, "bm25:1") == [("b", 0)]


def test_a_pool_is_read_and_ids_that_run_into_each_other_are_refused():
    # Statement "s+x" with document "y", statement "s" with document "x+y": both "s+x+y#0".
    documents = {"own": "Rain.", "y": "River.", "x+y": "Sun."}
    chunked = made(documents, {"s+x": "rain", "s": "rain"}, [("s+x", "own"), ("s", "own")])
    with pytest.raises(UserError, match=r"Two pairs would have the same id 's\+x\+y#0', because .* contain '\+'"):
        pooled(chunked, "bm25:5")
    assert [check_pool(pool) for pool in ("own", "bm25:1", "bm25:120")] == [0, 1, 120]


@pytest.mark.parametrize(
    "pool", ["", "bm25", "bm25:", "bm25:0", "bm25:-1", "bm25:05", "bm25:2.5", "bm25:3 ", "Own", "bm25:٣"]
)
def test_a_wrong_pool_is_refused_with_its_value_and_what_is_allowed(pool):
    with pytest.raises(UserError, match="allowed: own, or bm25:K with K of 1 or more") as raised:
        check_pool(pool)
    assert repr(pool) in str(raised.value)


TEXT = st.lists(st.sampled_from("rain river sun hill may day".split()), min_size=1, max_size=6).map(" ".join)


@st.composite
def corpora(draw):
    documents = {f"d{number}": text for number, text in enumerate(draw(st.lists(TEXT, min_size=2, max_size=8)))}
    statements = {f"s{number}": text for number, text in enumerate(draw(st.lists(TEXT, min_size=1, max_size=3)))}
    cites = [
        (statement, document)
        for statement in statements
        for document in draw(st.sets(st.sampled_from(sorted(documents)), min_size=1, max_size=3))
    ]
    return documents, statements, cites


@given(corpora(), st.integers(1, 6), st.integers(2, 6))
def test_pools_hold_k_other_texts_in_the_order_of_bm25(parts, k, size):
    documents, statements, cites = parts
    chunked = made(documents, statements, cites, size)
    table = build_pairs(chunked)
    result = add_pool(table, chunked, f"bm25:{k}")
    assert result.pairs[: len(table.pairs)] == table.pairs
    chunks = [chunk for each in chunked.chunks.values() for chunk in each]
    extra = defaultdict(list)
    for pair in result.pairs[len(table.pairs) :]:
        extra[pair.statement_id].append(pair)
    for statement, text in statements.items():
        cited = {document for citing, document in cites if citing == statement}
        own = {chunk.text for chunk in chunks if chunk.document_id in cited}
        score = dict(
            zip(((c.document_id, c.index) for c in chunks), lucene_bm25(text, [c.text for c in chunks]), strict=True)
        )
        free = {chunk.text for chunk in chunks if chunk.document_id not in cited} - own
        found = extra[statement]
        texts = [pair.source for pair in found]
        assert len(texts) == len(set(texts)) == min(k, len(free))
        assert set(texts) <= free
        assert not {pair.document_id for pair in found} & cited
        best = sorted((max(score[c.document_id, c.index] for c in chunks if c.text == t) for t in free), reverse=True)
        assert [score[pair.document_id, pair.chunk] for pair in found] == pytest.approx(best[:k], abs=1e-6)
    assert len({pair.pair_id for pair in result.pairs}) == len(result.pairs)


def test_a_pool_that_is_larger_than_the_data_is_said(caplog):
    """Three documents, one cited: two chunks are left to add, where 9 are asked for."""
    chunked = made({"a": "red", "b": "green", "c": "blue"}, {"s": "red"}, [("s", "a")])
    assert len(added(chunked, "bm25:9")) == 2
    assert "pool=bm25:9: the data have too few other chunks: some statements get only 2 more, not 9." in caplog.text
    caplog.clear()
    pooled(chunked, "bm25:2")
    assert not caplog.text


def test_a_pool_of_hindi_is_ranked_by_whole_words():
    """Cut at their vowel signs, as Python's \\w cuts them, the words of "far" are more like the statement."""
    texts = {"cited": "बाढ़ आई और पुल टूटा", "near": "नदी के पानी से नगर डूबा और लोग भागे", "far": "नो दे मु पी"}
    chunked = made(texts, {"s": "नदी में पानी"}, [("s", "cited")])
    assert [document for document, _ in added(chunked, "bm25:2")] == ["near", "far"]
