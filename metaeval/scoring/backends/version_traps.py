"""Known faults of package versions that break official metric code, and why they do not affect scores here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class TrapHere(NamedTuple):
    """A fault (`what`) of an installed package ('transformers 5.23.0'), and why metaeval's scores are not affected."""

    package: str
    what: str
    metaeval: str


# (package, first version, first later version without the faults or None): the faults, and how metaeval avoids them.
# They were found by running each official code with several versions of its packages.
TRAPS: Mapping[tuple[str, tuple[int, ...], tuple[int, ...] | None], Sequence[tuple[str, str]]] = {
    ("transformers", (5,), None): (
        (
            "ALBERT, XLNet and RemBERT tokenizers leave out the segment ids: official SummaC scores are wrong, unsaid",
            "segment ids are always asked for",
        ),
        (
            "encode(add_prefix_space=True) is ignored: bert-score on RoBERTa splits the first word otherwise",
            "the tokenizer is built with the space",
        ),
        (
            "ALBERT tokenizers lose the piece for white space at a text's end: SummaC on whole documents moves",
            "that piece is put back",
        ),
        (
            "models load in their file's number type, which can be half precision",
            "the type is always named; float32 unless the option dtype says otherwise",
        ),
        (
            "a tokenizer without a length limit fails when it cuts: bert-score on DeBERTa stops",
            "every limit is given by the metric",
        ),
        ("AdamW and batch_encode_plus are gone: official AlignScore and summac do not run", "none of that is called"),
        ("saving an untied T5 that was made from a configuration loses its output layer", "no model is ever saved"),
    ),
    ("transformers", (4, 52), (5,)): (
        ("official summac stops with a TypeError (truncation_strategy given twice)", "none of that is called"),
    ),
    ("transformers", (4, 51), (5,)): (
        ("AdamW is gone: official AlignScore does not import", "none of that is called"),
    ),
    ("transformers", (4, 57), (5,)): (
        (
            "a tokenizer without a length limit does not cut: bert-score on DeBERTa runs out of memory on long texts",
            "every limit is given by the metric",
        ),
    ),
    ("torch", (2, 6), None): (
        ("torch.load refuses what is not plain weights: older loaders stop", "only plain weights are ever read"),
    ),
    ("nltk", (3, 9), None): (
        (
            "sentences need the data 'punkt_tab'; the older 'punkt' no longer serves",
            "punkt_tab is looked for, and a rule-based splitter stands in; the signature says which ran",
        ),
    ),
    ("setuptools", (82,), None): (
        (
            "pkg_resources is gone: pytorch-lightning 1.x, and so official AlignScore, does not import",
            "no Lightning is needed",
        ),
    ),
    ("minicheck", (0,), None): (
        (
            "the package of this name on the package index is another project, not the metric MiniCheck",
            "it is never imported",
        ),
    ),
}


def traps_here(versions: Mapping[str, str]) -> Iterator[TrapHere]:
    """Yield the known faults of installed packages; `versions` maps each package to its version."""
    for (package, since, until), known in TRAPS.items():
        version = versions.get(package)
        if version is None:
            continue
        number = tuple(map(int, re.findall(r"\d+", version)[:3]))
        if number >= since and (until is None or number < until):
            yield from (TrapHere(f"{package} {version}", *trap) for trap in known)
