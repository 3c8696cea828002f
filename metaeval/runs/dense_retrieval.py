"""Dense retrieval: chunks are ranked by the cosine of a sentence encoder's embeddings with a statement's."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.declared import validated
from metaeval.core.errors import UserError, install_extra
from metaeval.scoring.contract import Metric

_SLICE = 256  # texts whose token states are held together


def encoder_of(name: str, config: RunConfig) -> Metric:
    """Return the metric that encodes texts, minilm-cosine or cosine:MODEL, with the run's options for it.

    Raises `UserError` for packages that are not installed, and for wrong options.
    """
    base, _, argument = name.partition(":")
    kind: type[Metric] = registry.find("metric", base)
    card = kind.card
    if any(importlib.util.find_spec(module) is None for module in card.modules):
        raise UserError(f"pool={config.pool} needs {', '.join(card.modules)}: type {install_extra(card.extra)}.")
    options = {**config.metric_options.get(name, {}), **({card.argument: argument} if argument else {})}
    return kind(validated(kind.Options, options, f"the options of {name}"))


def dense_ranks(encoder: Metric, chunks: Sequence[str], statements: Sequence[str]) -> Iterator[Sequence[int]]:
    """Yield for each statement the indices of all chunks, the highest cosine first; equal ones in chunk order."""
    sources = _embedded(encoder, chunks, getattr(encoder.options, "source_prompt", ""))
    for statement in statements:
        (vector,) = _embedded(encoder, [statement], getattr(encoder.options, "statement_prompt", ""))
        yield np.argsort(-(sources @ vector), kind="stable").tolist()


def _embedded(encoder: Any, texts: Sequence[str], prompt: str) -> NDArray[np.float64]:
    """Return the embeddings of n texts, each a unit vector, (n, dimensions). prompt: text put before each."""
    rows: list[NDArray[np.float64]] = []
    for start in range(0, len(texts), _SLICE):
        part = [prompt + text for text in texts[start : start + _SLICE]]
        encoded = encoder.texts.read(part)
        rows += [encoded[text].states[0].double().cpu().numpy() for text in part]
    return np.stack(rows)
