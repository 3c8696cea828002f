"""A dense pool: the chunks whose embeddings are nearest to a statement's, at level none."""

import numpy as np
import pytest

import metaeval
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.corpus.pair_table import check_pool, pool_encoder
from metaeval.runs.data import prepare
from metrics_zoo.minilm import MiniLMCosine


def small():
    """The shipped corpus's first two documents with what cites them."""
    corpus = metaeval.load_corpus("mini")
    documents = dict(list(corpus.documents.items())[:2])
    citations = tuple(citation for citation in corpus.citations if citation.document_id in documents)
    return type(corpus)("small", documents, corpus.statements, citations)


def test_the_pool_is_the_nearest_chunks_by_cosine_that_the_statement_does_not_cite():
    pytest.importorskip("torch", reason="needs the extra 'models'")
    job = prepare(RunConfig(pool="dense:2"), small())
    own = {pair.statement_id: set() for pair in job.pairs}
    for pair in job.pairs:
        if pair.cited:
            own[pair.statement_id].add(pair.source)
    chunks = list(dict.fromkeys(pair.source for pair in job.pairs))
    metric = MiniLMCosine()
    for statement in list(own)[:2]:
        (text,) = {pair.statement for pair in job.pairs if pair.statement_id == statement}
        metric.prepare(chunks, [text])
        cosines = [answer.score for answer in metric.score(chunks, [text] * len(chunks))]
        others = [place for place in np.argsort(-np.array(cosines)) if chunks[place] not in own[statement]]
        added = [pair.source for pair in job.pairs if pair.statement_id == statement and not pair.cited]
        assert added == [chunks[place] for place in others[:2]]
    assert str(job.fields["pool"]).startswith("dense:2(sentence-transformers/all-MiniLM-L6-v2@sha256:")
    assert {int(pair.level) for pair in job.pairs if not pair.cited} == {0}


def test_a_pool_names_its_size_and_its_encoder():
    sizes = {"own": 0, "bm25:7": 7, "dense:5": 5, "dense:12:cosine:org/model": 12}
    assert {pool: check_pool(pool) for pool in sizes} == sizes
    encoders = {"own": "", "bm25:7": "", "dense:5": "minilm-cosine", "dense:12:cosine:org/model": "cosine:org/model"}
    assert {pool: pool_encoder(pool) for pool in encoders} == encoders


@pytest.mark.parametrize("pool", ["dense", "dense:0", "dense:x", "dense:5:", "dense:5:overlap", "bm25:5:cosine:m"])
def test_another_pool_is_refused_in_one_sentence(pool):
    with pytest.raises(UserError, match=r"allowed: own, or bm25:K .* or dense:K, or dense:K:cosine:MODEL"):
        check_pool(pool)
