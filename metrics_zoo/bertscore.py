"""BERTScore (Zhang et al., 2020): each token of the statement with its best match in the source, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.encoder import Encoded, JobTexts
from metaeval.scoring.backends.model_metric import ModelMetric, ModelOptions
from metaeval.scoring.contract import MetricCard, PairScore, Status, TwoStepMetric
from metrics_zoo.bertscore_models import Backbone, find_baseline, find_layer, load_backbone
from metrics_zoo.greedy import match_pairs

if TYPE_CHECKING:
    import torch


_SLICE = 1000  # sources tokenised at a time for their document frequencies


def _numbers(given: object) -> object:
    return given.split(",") if isinstance(given, str) else given


class BERTScoreOptions(ModelOptions):
    """side: precision (mean over the statement's tokens), recall (over the source's), or f1 of both.

    layer: states of which layer (default: the one tried for the model). idf: rare tokens weigh more, by how many of
    the job's sources hold them. rescale: (score - baseline) / (1 - baseline); baseline: P,R,F of a model that brings
    none. fallback: give a pair with an empty text the number that the official code gives it (0 before rescaling).
    """

    runtime: ClassVar[frozenset[str]] = ModelOptions.runtime | {"layer", "baseline"}

    side: Literal["precision", "recall", "f1"] = "precision"
    layer: Annotated[int, Field(ge=1)] | None = None
    idf: bool = False
    rescale: bool = False
    baseline: Annotated[tuple[float, float, float] | None, BeforeValidator(_numbers)] = None
    fallback: bool = False


class Matched(NamedTuple):
    """Precision and recall of a pair (NaN: every token of that side has weight 0); empty: a text has no words."""

    precision: float
    recall: float
    empty: bool
    tokens: int
    cut: int


class BERTScore(TwoStepMetric, ModelMetric):
    """Cosines of hidden states, statement as candidate and source as reference; precision by default.

    Special tokens have no weight in the means, and may be the best match of another token. A rescaled score can be
    below the card's range. With idf, a statement whose every token stands in every source has NOTHING_TO_SCORE.
    """

    checkpoint = Checkpoint("microsoft/deberta-xlarge-mnli", "3.04 GB, MIT")
    card = MetricCard(
        name="bertscore",
        family="embedding",
        summary="mean over statement tokens of the best cosine to a source token, hidden states of DeBERTa's layer 40",
        paper="Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT (arXiv 1904.09675)",
        licence="MIT",
        low=-1.0,
        high=1.0,
        input_limit=512,
        truncation="both",
        checkpoint=checkpoint.hub_id,
        revision=checkpoint.revision,
        dtype="float32",
        download=checkpoint.download,
        parameters="750 M, of which 640 M are used",
        modules=("torch", "transformers", "tokenizers", "safetensors"),
        extra="models",
    )
    Options = BERTScoreOptions

    @property
    def corpus_dependent(self) -> bool:
        """With idf, a score depends on the other sources of the job."""
        return bool(self.options.idf)

    @property
    def block_tokens(self) -> int:
        """States of a block are in memory together: 131,072 tokens of 1,024 dimensions are 0.5 GB."""
        return min(super().block_tokens, 131_072)

    @cached_property
    def layer(self) -> int:
        """The layer in force."""
        return find_layer(self.wanted.hub_id, self.options.layer)

    @cached_property
    def baseline(self) -> tuple[float, float, float] | None:
        """Precision, recall and F1 that become 0; None without rescaling."""
        if not self.options.rescale:
            return None
        return self.options.baseline or find_baseline(self.wanted.hub_id, self.layer)

    def identity(self) -> dict[str, Any]:
        """With the layer and the baseline in force."""
        return {**super().identity(), "layer": self.layer, "baseline": self.baseline and list(self.baseline)}

    def observed(self) -> Mapping[str, Any]:
        """Both sides come from one pass, whatever is made of them."""
        identity = self.identity()
        options = {name: identity["options"][name] for name in ("dtype", "idf")}
        return {"bertscore": identity["version"], "weights": identity["weights"], "layer": self.layer, **options}

    @cached_property
    def backbone(self) -> Backbone:
        """The encoder, loaded when first asked for."""
        return load_backbone(self.model_folder, self.layer, self.options.dtype, self.batch_tokens, self.device)

    @cached_property
    def texts(self) -> JobTexts:
        """The job's texts as unit vectors, one for each token."""
        return JobTexts(self.backbone.encoder, _unit)

    @cached_property
    def weights(self) -> torch.Tensor:
        """Of each token id: 1, and 0 for special tokens; idf takes their place."""
        import torch

        weights = torch.ones(self.backbone.size, dtype=torch.float64)
        weights[self.backbone.special] = 0
        return weights

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model, count in how many sources each token stands (idf), encode the job's statements."""
        if self.options.idf:
            self.weights = self._idf(sources)
        self.texts.prepare(self._given(statements))

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[Matched]:
        """Match pairs, all statements of a source at once."""
        pairs = list(zip(self._given(sources), self._given(statements), strict=True))
        found = self.texts.read(text for pair in pairs for text in pair)
        sides = match_pairs(pairs, found, lambda text: self.weights[text.ids])
        return [
            _observation(found[source], found[statement], *side)
            for (source, statement), side in zip(pairs, sides, strict=True)
        ]

    def judge(self, observations: Sequence[Matched]) -> list[PairScore]:
        """The side asked for, rescaled if asked for."""
        return [self._score(observation) for observation in observations]

    def _score(self, pair: Matched) -> PairScore:
        side = ("precision", "recall", "f1").index(self.options.side)
        both = pair.precision + pair.recall
        raw = (pair.precision, pair.recall, 2 * pair.precision * pair.recall / both if both else 0.0)[side]
        if pair.empty or isnan(raw):
            # The official code gives 0 for empty texts, and for an F1 (no precision, no recall) that is not a number.
            if not self.options.fallback or not (pair.empty or side == 2):
                status = Status.EMPTY if pair.empty else Status.NOTHING_TO_SCORE
                return PairScore(None, status, pair.tokens, pair.cut)
            raw = 0.0
        if self.baseline is not None:
            raw = (raw - self.baseline[side]) / (1 - self.baseline[side])
        return PairScore(raw, tokens=pair.tokens, cut=pair.cut)

    def _given(self, texts: Sequence[str]) -> list[str]:
        """Texts as they are tokenised; nothing else is done to them."""
        return [text and self.backbone.before + text for text in map(str.strip, texts)]

    def _idf(self, sources: Sequence[str]) -> torch.Tensor:
        """Of each token id: log((sources + 1) / (sources that hold it + 1))."""
        import torch

        held = torch.zeros(self.backbone.size, dtype=torch.float64)
        for first in range(0, len(sources), _SLICE):
            ids, _ = self.backbone.encoder.tokenise(self._given(sources[first : first + _SLICE]))
            for own in ids:
                held[own] += 1  # a token that stands there twice counts once
        return torch.log((len(sources) + 1) / (held + 1))


def _observation(source: Encoded, statement: Encoded, precision: float, recall: float) -> Matched:
    empty = min(source.tokens, statement.tokens) <= 2  # the two special tokens
    return Matched(precision, recall, empty, source.tokens + statement.tokens, source.cut + statement.cut)


def _unit(states: torch.Tensor) -> torch.Tensor:
    unit: torch.Tensor = states / states.norm(dim=1, keepdim=True)
    return unit
