"""The shipped probe set: the size and variety that its users rely on."""

from collections import defaultdict

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.mini import DATASET
from metaeval.corpus.loading import load_dataset
from metaeval.corpus.model import SupportLevel


@pytest.fixture(scope="module")
def mini():
    return load_dataset(DATASET)


def test_documents_are_pages_and_not_passages(mini):
    assert len(mini.documents) >= 24
    for document in mini.documents.values():
        assert 250 <= len(document.text.split()) <= 600, document.id


def test_there_are_enough_statements_of_every_level(mini):
    assert len(mini.statements) >= 120
    for level, count in mini.level_counts().items():
        assert count >= 0.25 * len(mini.citations), level


def test_a_third_of_the_documents_serves_several_statements(mini):
    citing = defaultdict(set)
    for citation in mini.citations:
        citing[citation.document_id].add(citation.statement_id)
    assert 3 * sum(len(statements) > 1 for statements in citing.values()) >= len(mini.documents)


def test_support_always_shows_its_evidence(mini):
    for citation in mini.citations:
        assert citation.level is SupportLevel.NONE or citation.evidence, citation.id


def test_statements_name_the_phenomenon_that_they_probe(mini):
    phenomena = {statement.meta.get("phenomenon") for statement in mini.statements.values()}
    assert len(phenomena - {None, ""}) >= 5


def test_the_card_claims_no_human_labels():
    assert "authored probe set" in DATASET.note
    assert "NOT human-annotated" in DATASET.note


def test_a_file_of_ones_own_is_not_ignored(tmp_path):
    with pytest.raises(UserError, match="use dataset=jsonl"):
        load_dataset(DATASET, data=tmp_path / "own.jsonl")
