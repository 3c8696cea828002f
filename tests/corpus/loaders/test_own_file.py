"""dataset=jsonl: the user's own corpus file."""

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.corpus_file import write_corpus
from metaeval.corpus.loaders.jsonl import DATASET
from metaeval.corpus.loading import load_dataset
from metaeval.corpus.model import Citation, Corpus, Document, Statement, SupportLevel


def test_the_file_is_read_or_said_to_be_needed(tmp_path):
    citation = Citation("c", "s", "d", SupportLevel.PARTIAL)
    corpus = Corpus("own", {"d": Document("d", "x")}, {"s": Statement("s", "x", "g")}, (citation,))
    write_corpus(corpus, tmp_path / "own.jsonl")
    assert load_dataset(DATASET, data=tmp_path / "own.jsonl") == corpus
    for data in (None, tmp_path):
        with pytest.raises(UserError, match="dataset=jsonl needs data=FILE"):
            load_dataset(DATASET, data=data)
    with pytest.raises(UserError, match=r"Cannot read .*none\.jsonl"):
        load_dataset(DATASET, data=tmp_path / "none.jsonl")
