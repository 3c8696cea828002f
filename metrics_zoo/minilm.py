"""Two metrics on the all-MiniLM-L6-v2 encoder: BERTScore and the cosine of mean-pooled embeddings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from metaeval.scoring.backends import minilm
from metaeval.scoring.backends.batches import one_thread
from metaeval.scoring.backends.encoder import Encoded, TextEncoder
from metaeval.scoring.contract import Metric, MetricCard, MetricOptions, PairScore, Status

if TYPE_CHECKING:
    import torch

_CARD: dict[str, Any] = {
    "family": "embedding",
    "licence": "Apache-2.0",
    "low": -1.0,
    "high": 1.0,
    "input_limit": 512,
    "truncation": "both",
    "checkpoint": minilm.FILES.hub_id,
    # What the weights are, wherever they came from.
    "revision": f"sha256:{minilm.FILES.sha256['model.safetensors'][:16]}",
    "dtype": "float32",
    "download": minilm.FILES.download,
    "parameters": "22.7 M",
    "modules": ("torch", "transformers", "tokenizers", "safetensors"),
    "extra": "models",
}


_SPECIAL = 2  # [CLS] and [SEP]: a text with no other token has no words


class MiniLMOptions(MetricOptions):
    """max_tokens: input limit of each text, special tokens included (the model's position limit is 512).

    batch_tokens and device change speed only; folder names a local copy of the two model files.
    """

    runtime: ClassVar[frozenset[str]] = frozenset({"batch_tokens", "device", "folder"})

    max_tokens: Annotated[int, Field(ge=8, le=512)] = 512
    batch_tokens: Annotated[int, Field(ge=512)] = 2048
    device: str = "auto"
    folder: Path | None = None


class _MiniLM(Metric):
    """Encode each text once: the job's statements before the first block, each source in its only block."""

    Options = MiniLMOptions

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model and encode the job's statements."""
        options = self.options
        self.encoder: TextEncoder = minilm.load_encoder(
            options.folder, options.max_tokens, options.batch_tokens, options.device
        )
        self._statements = self._encode(statements)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs of prepared statements and any sources; a pair with a text without words is EMPTY."""
        encoded = self._encode(sorted(set(sources)))
        with one_thread():
            return [
                self._pair(encoded[source], self._statements[statement])
                for source, statement in zip(sources, statements, strict=True)
            ]

    def _encode(self, texts: Sequence[str]) -> dict[str, Encoded]:
        encoded = self.encoder.encode(texts)
        return {
            text: replace(item, states=self.represent(item.states)) for text, item in zip(texts, encoded, strict=True)
        }

    def _pair(self, source: Encoded, statement: Encoded) -> PairScore:
        tokens, cut = source.tokens + statement.tokens, source.cut + statement.cut
        if min(source.tokens, statement.tokens) <= _SPECIAL:
            return PairScore(None, Status.EMPTY, tokens, cut)
        return PairScore(self.compare(source.states, statement.states), tokens=tokens, cut=cut)

    @abstractmethod
    def represent(self, states: torch.Tensor) -> torch.Tensor:
        """What is kept of a text's hidden states, (tokens, 384)."""

    @abstractmethod
    def compare(self, source: torch.Tensor, statement: torch.Tensor) -> float:
        """The score of two represented texts."""


class MiniLMBERTScore(_MiniLM):
    """BERTScore precision: mean over statement tokens of the best cosine to a source token, last layer, no idf.

    As in the official bert-score, the statement's special tokens have no weight in the mean and the source's may be
    the best match.
    """

    card = MetricCard(
        name="minilm-bertscore",
        summary="BERTScore precision on MiniLM: mean over statement tokens of the best cosine to source tokens",
        paper="Zhang et al. 2020, BERTScore (arXiv 1904.09675); Wang et al. 2020 (arXiv 2002.10957)",
        **_CARD,
    )

    def represent(self, states: torch.Tensor) -> torch.Tensor:
        """Unit vectors, one per token."""
        unit: torch.Tensor = states / states.norm(dim=1, keepdim=True)
        return unit

    def compare(self, source: torch.Tensor, statement: torch.Tensor) -> float:
        """Mean over the statement's own tokens of the best match."""
        return float((statement[1:-1] @ source.T).amax(dim=1).double().mean())


class MiniLMCosine(_MiniLM):
    """Cosine of the two texts' embeddings, each the mean of its last hidden states, as sentence-transformers pools."""

    card = MetricCard(
        name="minilm-cosine",
        summary="cosine of mean-pooled MiniLM embeddings of statement and source",
        paper="Reimers and Gurevych 2019, Sentence-BERT (arXiv 1908.10084); Wang et al. 2020 (arXiv 2002.10957)",
        **_CARD,
    )

    def represent(self, states: torch.Tensor) -> torch.Tensor:
        """One unit vector, (1, 384)."""
        mean = states.mean(dim=0, keepdim=True)
        unit: torch.Tensor = mean / mean.norm()
        return unit

    def compare(self, source: torch.Tensor, statement: torch.Tensor) -> float:
        """The cosine."""
        return float(source.double() @ statement.double().T)
