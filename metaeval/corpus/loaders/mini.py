"""The demo corpus that is shipped: small, and authored to show the phenomena that make citation support hard."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError
from metaeval.corpus.corpus_file import FORMAT, read_corpus
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.model import Corpus


@cache
def _shipped() -> Corpus:
    # A zipped install has no path to read from: as_file makes one for as long as it is needed.
    with resources.as_file(resources.files("metaeval.corpus.loaders") / "mini.jsonl") as path:
        return read_corpus(path)


def _load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    if "corpus" in paths:
        raise UserError(f"dataset=mini is the shipped data: use dataset=jsonl to read data={paths['corpus']}.")
    return _shipped()


DATASET = Dataset(
    name="mini",
    title="Demo data: the shipped probe set",
    origin="part of the package",
    licence="Apache-2.0",
    schema=FORMAT,
    load=_load,
    demo=True,
    note="An authored probe set for demonstration and tests: documents, statements and levels were written for the "
    "purpose. It is NOT human-annotated evidence about metrics; never report a metric's quality from it. Each evidence "
    "set holds what is needed together, so that 35 chunks of 17 full citations hold a part of one.",
)
