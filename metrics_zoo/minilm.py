"""Two metrics on the all-MiniLM-L6-v2 encoder: BERTScore and the cosine of mean-pooled embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from metaeval.scoring.backends import minilm
from metaeval.scoring.backends.model_metric import MODULES, calibrated
from metaeval.scoring.backends.text_encoder import (
    EncodedText,
    JobTexts,
    align_tokens,
    first_products,
    match_pairs,
    wordless_and_counts,
)
from metaeval.scoring.contract import MetricCard, MetricOptions, PairScore, Span, Status, TwoStepMetric

if TYPE_CHECKING:
    import torch

CARD: dict[str, Any] = {
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
    "modules": MODULES,
    "extra": "models",
}


class MiniLMOptions(MetricOptions):
    """Options of metrics on the encoder all-MiniLM-L6-v2."""

    runtime: ClassVar[frozenset[str]] = frozenset({"batch_tokens", "device"})

    max_tokens: Annotated[int, Field(ge=8, le=512)] = 512
    """Most tokens of each text, special tokens included (the model's position limit is 512)."""
    batch_tokens: Annotated[int, Field(ge=512)] = 2048
    """Most tokens of a batch."""
    device: str = "auto"
    """Device: auto, cpu, cuda, cuda:1 and so on."""


class TextComparison(NamedTuple):
    """A pair's cosine of mean vectors and BERTScore precision of token vectors. empty: a text has no token."""

    cosine: float
    precision: float
    empty: bool
    tokens: int
    cut: int


class MiniLMMetric(TwoStepMetric):
    """Base of metrics on MiniLM, which encodes each text once: statements first, sources block by block.

    side: the field of `TextComparison` that is the score.
    """

    side: ClassVar[Literal["precision", "cosine"]]
    Options: ClassVar[type[MetricOptions]] = MiniLMOptions

    @cached_property
    def texts(self) -> JobTexts:
        """Return the store of the job's encoded texts, with the encoder, which is loaded when first used."""
        options = self.options
        encoder = minilm.load_encoder(options.max_tokens, options.batch_tokens, options.device)
        return JobTexts(encoder, mean_and_tokens)

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model, unless it is loaded, and encode the job's statements."""
        self.texts.prepare(statements)

    def observed(self) -> Mapping[str, Any]:
        """Return what the comparisons depend on; both metrics share one run of the model."""
        return {"minilm": self.card.version, "weights": self.card.revision, "max_tokens": self.options.max_tokens}

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[TextComparison]:
        """Return the comparison of each pair; all statements of a source are compared at once."""
        pairs = list(zip(sources, statements, strict=True))
        encoded = self.texts.read([*sources, *statements])
        sides = match_pairs(pairs, _token_vectors(encoded), _own)
        texts = [(encoded[source], encoded[statement]) for source, statement in pairs]
        return [
            TextComparison(cosine, precision, *wordless_and_counts(*both))
            for both, (precision, _), cosine in zip(texts, sides, first_products(texts), strict=True)
        ]

    def judge(self, observations: Sequence[TextComparison]) -> list[PairScore]:
        """Return each pair's `side` as its score; a pair with a text without tokens is EMPTY."""
        return [
            PairScore(None, Status.EMPTY, pair.tokens, pair.cut)
            if pair.empty
            else PairScore(getattr(pair, self.side), tokens=pair.tokens, cut=pair.cut)
            for pair in observations
        ]


class MiniLMBERTScore(MiniLMMetric):
    """BERTScore precision: mean over statement tokens of the best cosine to a source token, last layer, no idf.

    As in the official bert-score, the statement's special tokens have no weight in the mean and the source's may be
    the best match.
    """

    card = MetricCard(
        name="minilm-bertscore",
        title="MiniLM BERTScore",
        summary="BERTScore precision on MiniLM: mean over statement tokens of the best cosine to source tokens",
        paper="Zhang et al. 2020, BERTScore (arXiv 1904.09675); Wang et al. 2020 (arXiv 2002.10957)",
        **CARD | calibrated(0.67),
    )
    side = "precision"

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return each token of the statement with its best match in the source, by their cosine."""
        return self.explain_all([(source, statement)])[0]

    def explain_all(self, pairs: Sequence[tuple[str, str]]) -> list[list[Span]]:
        """Return what `explain` gives for each pair, [] for a text without tokens; all texts are encoded together."""
        texts = self.texts.read(text for pair in pairs for text in pair)
        vectors = _token_vectors(texts)
        return [
            []
            if wordless_and_counts(texts[source], texts[statement])[0]
            else align_tokens(self.texts.encoder, vectors, source, statement)
            for source, statement in pairs
        ]


class MiniLMCosine(MiniLMMetric):
    """Cosine of the two texts' embeddings, each the mean of its last hidden states, as sentence-transformers pools."""

    card = MetricCard(
        name="minilm-cosine",
        title="MiniLM cosine",
        summary="cosine of mean-pooled MiniLM embeddings of statement and source",
        paper="Reimers and Gurevych 2019, Sentence-BERT (arXiv 1908.10084); Wang et al. 2020 (arXiv 2002.10957)",
        **CARD | calibrated(0.61),
    )
    side = "cosine"


def _token_vectors(texts: Mapping[str, EncodedText]) -> dict[str, EncodedText]:
    return {text: replace(item, states=item.states[1:]) for text, item in texts.items()}


def mean_and_tokens(states: torch.Tensor) -> torch.Tensor:
    """Return unit vectors, (1 + tokens, dimensions), of states (tokens, dimensions): of their mean, then of each."""
    import torch

    rows = torch.cat([states.mean(dim=0, keepdim=True), states])
    unit: torch.Tensor = rows / rows.norm(dim=1, keepdim=True)
    return unit


def _own(text: EncodedText) -> torch.Tensor:
    """Return the weight of each token of a text: 1, and 0 for the two special tokens at the ends."""
    import torch

    weights = torch.ones(len(text.ids), dtype=torch.float64)
    weights[[0, -1]] = 0
    return weights
