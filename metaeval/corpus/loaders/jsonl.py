"""The user's own corpus file, in the format that `metaeval.corpus.jsonl` documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metaeval.corpus.dataset import UNPUBLISHED, Dataset
from metaeval.corpus.jsonl import FORMAT, read_corpus
from metaeval.corpus.model import Corpus
from metaeval.errors import UserError


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    if "corpus" not in paths:
        raise UserError(f"dataset=jsonl needs data=FILE: a corpus file in the format {FORMAT}.")
    return read_corpus(paths["corpus"])


DATASET = Dataset(
    name="jsonl",
    title="A corpus file of your own",
    origin="data=FILE",
    licence="your own",
    schema=FORMAT,
    load=_load,
    **UNPUBLISHED,
    note="One JSON object per line; the format is documented in metaeval.corpus.jsonl.",
)
