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


class DenseRanker:
    """Ranks chunks by the cosine of their embeddings with a statement's; the encoder's weights are loaded by `rank`.

    name: a metric that encodes texts, minilm-cosine or cosine:MODEL. config: the run, with the metric's options. Raises
    `UserError` for packages that are not installed, and for wrong options.
    """

    def __init__(self, name: str, config: RunConfig) -> None:
        base, _, argument = name.partition(":")
        kind: type[Metric] = registry.find("metric", base)
        card = kind.card
        if any(importlib.util.find_spec(module) is None for module in card.modules):
            raise UserError(f"pool={config.pool} needs {', '.join(card.modules)}: type {install_extra(card.extra)}.")
        options = {**config.metric_options.get(name, {}), **({card.argument: argument} if argument else {})}
        self._metric: Any = kind(validated(kind.Options, options, f"the options of {name}"))

    @property
    def source(self) -> str:
        """Return the name and version of the encoder's weights, as signatures have them; "" if the metric has none."""
        return str(self._metric.provenance().get("checkpoint", ""))

    def rank(self, chunks: Sequence[str], statements: Sequence[str]) -> Iterator[Sequence[int]]:
        """Yield for each statement the indices of all chunks, the highest cosine first; equal ones in chunk order."""
        options = self._metric.options
        sources = self._embedded(chunks, getattr(options, "source_prompt", ""))
        for statement in statements:
            (vector,) = self._embedded([statement], getattr(options, "statement_prompt", ""))
            yield np.argsort(-(sources @ vector), kind="stable").tolist()

    def _embedded(self, texts: Sequence[str], prompt: str) -> NDArray[np.float64]:
        """Return the embeddings of n texts, each a unit vector, (n, dimensions). prompt: text put before each."""
        rows: list[NDArray[np.float64]] = []
        for start in range(0, len(texts), _SLICE):
            part = [prompt + text for text in texts[start : start + _SLICE]]
            encoded = self._metric.texts.read(part)
            rows += [encoded[text].states[0].double().cpu().numpy() for text in part]
        return np.stack(rows)
