"""MAUVE (Pillutla et al. 2021) of answers against reference answers, by the mauve-text package, as ALCE calls it.

ALCE's maintainers call it unstable: it moves with the number of answers, their length and the seed of its clustering.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from metaeval.errors import UserError

_WORDS = 100


def mauve_text(question: str, text: str) -> str:
    """What MAUVE compares: question and text, its first 100 words, without punctuation at the end."""
    words = f"{question} {text.strip()}".split()[:_WORDS]
    return " ".join(words).rstrip(string.punctuation)


def mauve(
    questions: Sequence[str], texts: Sequence[str], references: Sequence[str], seed: int = 25, device: int = -1
) -> float:
    """MAUVE of all texts against all references, in [0, 1], on gpt2-large; device -1 is the CPU.

    Raises `UserError` where the package is not here.
    """
    if find_spec("mauve") is None:
        raise UserError("MAUVE needs the package mauve-text, which loads gpt2-large: type 'pip install mauve-text'.")
    package = import_module("mauve")
    rows = list(zip(questions, texts, references, strict=True))
    found = package.compute_mauve(
        p_text=[mauve_text(question, reference) for question, _, reference in rows],
        q_text=[mauve_text(question, text) for question, text, _ in rows],
        device_id=device,
        max_text_length=512,
        batch_size=8,
        featurize_model_name="gpt2-large",
        seed=seed,
        verbose=False,
    )
    return float(found.mauve)
