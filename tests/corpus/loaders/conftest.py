"""What the loader tests share: small published files made to a schema, and the real ones where they are at hand."""

import json
import re
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
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


@pytest.fixture
def refuses_each_field(made):
    """Take each field out of a good row, and put a value of no known kind in its place: both must be told."""

    def check(dataset, row, fields, split=""):
        for name in fields:
            without = {key: value for key, value in row.items() if key != name}
            for broken, says in ((without, "is missing"), ({**row, name: 3.5}, "is 3.5; allowed: ")):
                with pytest.raises(UserError, match=re.escape(f"made.jsonl line 2: field {name!r} {says}")):
                    made(dataset, [row, broken], split)

    return check
