"""What the loader tests share: small published files made to a schema, and the real ones where they are at hand."""

import json
from pathlib import Path

import pytest

from metaeval.corpus.loading import check_options, load_dataset
from metaeval.corpus.model import Corpus


@pytest.fixture
def real_folder():
    """The real published files, or skip."""
    folder = Path(__file__).parents[3].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the published files are not beside the repository (../shared/data)")
    return folder


@pytest.fixture
def real(real_folder):
    """Load a split of the real published files."""

    def load(dataset, split=None, **options):
        return load_dataset(dataset, split, real_folder, options)

    return load


@pytest.fixture
def made(tmp_path):
    """Load rows made in a test as if they were the one file of a split."""

    def load(dataset, rows, split="", **options):
        path = tmp_path / "made.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        chosen, values = split or dataset.default_split, check_options(dataset, options)
        names = [file.name for file in dataset.files[chosen]] or [path.name]
        return dataset.load(chosen, {names[0]: path}, values)

    return load


def _all_of(loaded):
    """What a corpus or rated set holds, without what follows from it."""
    if isinstance(loaded, dict):
        return loaded
    if isinstance(loaded, Corpus):
        documents = {own.id: [own.text, own.title, own.url, own.sentences] for own in loaded.documents.values()}
        texts = {own.id: [own.text, own.group, own.system, own.level, own.meta] for own in loaded.statements.values()}
        cited = [
            [own.id, own.statement_id, own.document_id, own.level, own.evidence, own.meta] for own in loaded.citations
        ]
        return [loaded.name, documents, texts, cited, [*loaded.dropped.values()], loaded.scores]
    rows = [[r.id, r.group, r.gold, r.system, r.subset, r.text, r.pair, r.fields, r.votes] for r in loaded.rows]
    scores = {name: [*own.values(), *own.unrated] for name, own in loaded.score_columns.items()}
    return [loaded.name, rows, scores, [*loaded.dropped.values()], loaded.levels, loaded.unrated]


@pytest.fixture
def all_of():
    """The function that returns what a corpus or rated set holds, without what follows from it."""
    return _all_of
