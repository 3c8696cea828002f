"""What the loader tests share: small published files made to a schema, and the real ones where they are at hand."""

import json
from pathlib import Path

import pytest

from metaeval.corpus.loading import check_options, load_dataset


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
