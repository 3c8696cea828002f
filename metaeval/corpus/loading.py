"""From a data set's card and the user's wishes to what is judged: split, options and files are checked here, once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus import file_locations
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.errors import unknown


def load_dataset(
    dataset: Dataset, split: str | None = None, data: Path | None = None, options: Mapping[str, str] | None = None
) -> Corpus | Ratings:
    """Load one split (None: the card's default) with options given as text.

    `data` is a folder with the published files. For a split that the card lists no files for, `data` is the user's
    own file and reaches the loader as `paths["corpus"]`.

    Raises `UserError` for an unknown split, option or option value (with the nearest known one), for a file that
    cannot be had, and for content that does not fit the card's schema.
    """
    chosen = dataset.default_split if split is None else split
    if chosen not in dataset.files:
        raise unknown(f"split of {dataset.name}", chosen, dataset.files)
    values = check_options(dataset, options or {})
    if dataset.files[chosen]:
        paths: Mapping[str, Path] = file_locations.locate(dataset, chosen, data)
    else:
        paths = {} if data is None or data.is_dir() else {"corpus": data}
    return dataset.load(chosen, paths, values)


def check_options(dataset: Dataset, given: Mapping[str, str]) -> dict[str, Any]:
    """Every option of the card with its value, the default where none is given.

    Raises `UserError` for a name or a value that the card does not know.
    """
    values = {name: option.default for name, option in dataset.options.items()}
    for name, text in given.items():
        if name not in dataset.options:
            raise unknown(f"option of {dataset.name}", name, dataset.options)
        allowed = {str(value): value for value in dataset.options[name].allowed}
        if allowed and text not in allowed:
            raise unknown(f"value of {dataset.name}'s option {name}:", text, allowed)
        values[name] = allowed.get(text, text)
    return values
