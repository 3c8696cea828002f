"""The shipped probe set: the size and variety that its users rely on."""

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.mini import DATASET
from metaeval.corpus.loading import load_dataset
from metaeval.corpus.model import SupportLevel


@pytest.fixture(scope="module")
def mini():
    return load_dataset(DATASET)


def test_documents_are_pages_with_statements_of_every_level_and_their_evidence(mini):
    assert len(mini.documents) >= 24
    assert len(mini.statements) >= 120
    assert all(count >= 0.25 * len(mini.citations) for count in mini.level_counts().values())
    assert all(citation.level is SupportLevel.NONE or citation.evidence for citation in mini.citations)
    assert len({statement.meta["phenomenon"] for statement in mini.statements.values()}) >= 5
    assert "NOT human-annotated" in DATASET.note
    for document in mini.documents.values():
        assert 250 <= len(document.text.split()) <= 600, document.id


def test_a_file_of_ones_own_is_not_ignored(tmp_path):
    with pytest.raises(UserError, match="use dataset=jsonl"):
        load_dataset(DATASET, data=tmp_path / "own.jsonl")
