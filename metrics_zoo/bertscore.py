"""BERTScore (Zhang et al., 2020): the similarity of each token of the statement to its best match in the source, and
the other way round; with the layer of each backbone, and the baselines of the most common ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple
from zlib import crc32

from pydantic import BeforeValidator, Field

from metaeval.core.errors import UserError
from metaeval.scoring.backends import model_loading
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.model_metric import MODULES, ModelMetric, ModelOptions, of_checkpoint
from metaeval.scoring.backends.text_encoder import (
    EncodedText,
    JobTexts,
    TextEncoder,
    align_tokens,
    match_pairs,
    wordless_and_counts,
)
from metaeval.scoring.backends.tokenization import backend
from metaeval.scoring.contract import MetricCard, PairScore, Span, Status, TwoStepMetric

if TYPE_CHECKING:
    import torch

_LAYERS = """
    albert-xlarge-v2=13 albert-xxlarge-v2=8 allenai/scibert_scivocab_uncased=8 bert-base-chinese=8
    bert-base-multilingual-cased=9 bert-base-uncased=9 bert-large-uncased=18 distilbert-base-uncased=5
    distilroberta-base=5 google/electra-base-discriminator=9 google/electra-large-discriminator=14
    microsoft/deberta-base=9 microsoft/deberta-base-mnli=9 microsoft/deberta-large=16
    microsoft/deberta-large-mnli=18 microsoft/deberta-xlarge=18 microsoft/deberta-xlarge-mnli=40
    microsoft/deberta-v2-xlarge=10 microsoft/deberta-v2-xlarge-mnli=17 microsoft/deberta-v2-xxlarge=21
    microsoft/deberta-v2-xxlarge-mnli=22 microsoft/deberta-v3-xsmall=10 microsoft/deberta-v3-small=4
    microsoft/deberta-v3-base=9 microsoft/deberta-v3-large=12 microsoft/mdeberta-v3-base=10 microsoft/mpnet-base=8
    princeton-nlp/sup-simcse-roberta-large=16 princeton-nlp/sup-simcse-bert-base-uncased=10 roberta-base=10
    roberta-large=17 roberta-large-mnli=19 xlm-roberta-base=9 xlm-roberta-large=17
"""
LAYERS = {name: int(layer) for name, layer in (model.split("=") for model in _LAYERS.split())}
"""Hub id -> the layer that correlates best with human scores on WMT16 (bert-score 0.3.13, `model2layers`)."""

BASELINES = {
    ("bert-base-uncased", 9): (0.35375935, 0.3537393, 0.35219112),
    ("microsoft/deberta-large-mnli", 18): (0.45358238, 0.45362508, 0.45173016),
    ("microsoft/deberta-xlarge-mnli", 40): (0.5169066, 0.5170288, 0.5150192),
    ("roberta-base", 10): (0.8146725, 0.8146619, 0.814463),
    ("roberta-large", 17): (0.83150584, 0.8314941, 0.83122575),
    ("roberta-large-mnli", 19): (0.6901594, 0.69018, 0.6896288),
}
"""(hub id, layer) -> precision, recall, F1 of unrelated English sentences (bert-score 0.3.13, rescale_baseline/en)."""

_FAMILIES = "albert bert camembert deberta deberta-v2 distilbert electra mpnet roberta xlm-roberta".split()
_PUBLISHERS = ("FacebookAI/", "albert/", "distilbert/", "google-bert/")  # prefixes of newer names of the same models
_LIMIT = 512


class _Text(str):
    """A text whose hash is the same in every process: bert-score batches the texts of a set in its order."""

    def __hash__(self) -> int:
        return crc32(self.encode())


class Backbone(NamedTuple):
    """An encoder for BERTScore. before: prefix of each text; special: token ids of weight 0; size: vocabulary.

    official: bert-score's function of sources, statements, token weights and batch size, on this encoder's model; it
    returns precision, recall and F1 of each pair. None for the engine "own".
    """

    encoder: TextEncoder
    before: str
    special: list[int]
    size: int
    official: Callable[..., torch.Tensor] | None = None


_SLICE = 1000  # sources tokenised at a time for their document frequencies


def _numbers(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


class BERTScoreOptions(ModelOptions):
    """Options of BERTScore."""

    runtime: ClassVar[frozenset[str]] = ModelOptions.runtime | {"layer", "baseline", "engine"}

    side: Literal["precision", "recall", "f1"] = "precision"
    """Precision (mean over the statement's tokens), recall (over the source's), or f1 of both."""
    layer: Annotated[int, Field(ge=1)] | None = None
    """Layer whose states are compared (default: the recommended one of the model)."""
    idf: bool = False
    """Rare tokens weigh more, by how many of the job's sources hold them."""
    rescale: bool = False
    """Give (score - baseline) / (1 - baseline)."""
    baseline: Annotated[tuple[float, float, float] | None, BeforeValidator(_numbers)] = None
    """Baselines P,R,F of a model without known ones."""
    fallback: bool = False
    """Give a pair with an empty text the official code's score (0 before rescaling)."""
    engine: Literal["own", "official"] = "own"
    """What computes: metaeval (own), or the package bert-score on the same weights, slower (official)."""


class TokenMatch(NamedTuple):
    """A pair's precision and recall (NaN: all tokens of the side have weight 0). empty: a text has no token."""

    precision: float
    recall: float
    empty: bool
    tokens: int
    cut: int


class BERTScore(TwoStepMetric, ModelMetric):
    """BERTScore of the statement (candidate) against the source (reference); precision by default.

    Special tokens have weight 0 in the means, but may be the best match of another token. With idf, a statement whose
    tokens all occur in every source has NOTHING_TO_SCORE.
    """

    checkpoint = Checkpoint("microsoft/deberta-xlarge-mnli", "3.04 GB, MIT")
    card = MetricCard(
        name="bertscore",
        title="BERTScore",
        family="embedding",
        summary="mean over statement tokens of the best cosine to a source token, hidden states of DeBERTa's layer 40",
        paper="Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT (arXiv 1904.09675)",
        licence="MIT",
        low=-1.0,
        high=1.0,
        input_limit=512,
        truncation="both",
        parameters="750 M, of which 640 M are used",
        **of_checkpoint(checkpoint),
    )
    Options = BERTScoreOptions

    def range_by_options(self) -> Mapping[str, Any]:
        """Return that a score that is rescaled by a baseline has no lowest value, and what the engine needs."""
        changed: dict[str, Any] = {"low": None} if self.options.rescale or self.options.baseline else {}
        if self.options.engine == "own":
            return changed
        if self.options.dtype != "float32":
            raise UserError(f"bert-score computes in float32, not in {self.options.dtype}: leave dtype or engine out.")
        return {**changed, "modules": (*MODULES, "bert_score"), "extra": "models,bertscore"}

    @property
    def corpus_dependent(self) -> bool:
        """Return whether idf is on, with which a score depends on the other sources of the job."""
        return bool(self.options.idf)

    @property
    def block_tokens(self) -> int:
        """Most tokens of a block of pairs, whose states are held in memory: at most 131,072 (0.5 GB at width 1,024)."""
        return min(super().block_tokens, 131_072)

    @cached_property
    def layer(self) -> int:
        """The layer whose states are compared: the option's, else that of `LAYERS`; `UserError` without either."""
        layer = self.options.layer or LAYERS.get(self._known_as)
        if layer is None:
            raise UserError(f"No best layer of {self.published} is known: set metric_options.bertscore.layer=N.")
        return int(layer)

    @cached_property
    def baseline(self) -> tuple[float, float, float] | None:
        """Return the precision, recall and F1 that rescaling maps to 0, None without; `UserError` if none is known."""
        if not self.options.rescale:
            return None
        baseline = self.options.baseline or BASELINES.get((self._known_as, self.layer))
        if baseline is None:
            raise UserError(f"Layer {self.layer} of {self.published} has no known baseline: set baseline=P,R,F.")
        return baseline

    @property
    def published(self) -> str:
        """The hub id; of a folder that has the name of a model of the table, that model's."""
        ends = {name.rpartition("/")[2]: name for name in LAYERS}
        return ends.get(self.place.absolute().name, str(self.place)) if self.place else self.wanted.hub_id

    @property
    def _known_as(self) -> str:
        """The model's name in `LAYERS` and `BASELINES`: its hub id without a publisher that was added later."""
        publisher = next((prefix for prefix in _PUBLISHERS if self.published.startswith(prefix)), "")
        return self.published.removeprefix(publisher)

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the layer and the baseline in use, and an engine that is not ours."""
        engine = {"engine": f"bert-score {version('bert-score')}"} if self.options.engine == "official" else {}
        baseline = self.baseline and list(self.baseline)
        return {**super().identity(), "layer": self.layer, "baseline": baseline, **engine}

    def observed(self) -> Mapping[str, Any]:
        """Return what the token matches depend on: all sides and rescalings share one run of the model."""
        identity = self.identity()
        options = {name: identity["options"][name] for name in ("dtype", "idf")}
        options |= {name: identity[name] for name in ("weights", "layer", "engine") if name in identity}
        return {"bertscore": identity["version"], **options}

    @cached_property
    def backbone(self) -> Backbone:
        """The encoder up to the layer, loaded when first used; `UserError` for another family, or too few layers."""
        from transformers import AutoConfig, AutoModel, GPT2Tokenizer, RobertaTokenizer

        files, device, official = self.model_folder, self.device, self.options.engine == "official"
        with model_loading.broken_files(files):
            config = AutoConfig.from_pretrained(files.folder, **model_loading.LOCAL)
        if config.model_type not in _FAMILIES:
            raise UserError(f"BERTScore cannot use the family {config.model_type!r}; allowed: {', '.join(_FAMILIES)}.")
        if self.layer > config.num_hidden_layers:
            count = config.num_hidden_layers
            raise UserError(f"The model in {files.folder} has only {count} layers: set 'layer' lower.")
        config.num_hidden_layers = self.layer
        tokenizer = model_loading.load_tokenizer(files)
        model = model_loading.load_model(
            AutoModel, files, self.options.dtype, device, unused=model_loading.POOLER, plain=official, config=config
        )
        if config.model_type == "deberta" and not official:
            from metaeval.scoring.backends.deberta import quicken

            model = quicken(model)
        # With relative positions any length is possible, but inputs are cut at 512 tokens as well.
        relative = config.model_type.startswith("deberta") and not config.position_biased_input
        limit = _LIMIT if relative else min(_LIMIT, model_loading.position_limit(config))
        padding = int(config.pad_token_id or 0)
        encoder = TextEncoder(model, backend(tokenizer), limit, self.batch_tokens, device, padding)
        # The official code asks these two tokenizers for a space before the first word, by an argument that current
        # transformers ignore.
        before = " " if isinstance(tokenizer, (RobertaTokenizer, GPT2Tokenizer)) else ""
        match = None
        if official:
            from bert_score.utils import bert_cos_score_idf

            # It fails on long texts where the model's files name no limit.
            prefix = {"add_prefix_space": True} if before else {}
            limited = model_loading.load_tokenizer(files, model_max_length=limit, **prefix)
            match = partial(bert_cos_score_idf, model, tokenizer=limited, device=device)
        size = max(config.vocab_size, len(tokenizer))
        return Backbone(encoder, before, [tokenizer.cls_token_id, tokenizer.sep_token_id], size, match)

    @cached_property
    def texts(self) -> JobTexts:
        """Return the store of the job's encoded texts: unit vectors, one for each token."""
        return JobTexts(self.backbone.encoder, lambda states: states / states.norm(dim=1, keepdim=True))

    @cached_property
    def weights(self) -> torch.Tensor:
        """Return the weight of each token id: 1, and 0 for special tokens; `prepare` replaces them by idf."""
        import torch

        weights = torch.ones(self.backbone.size, dtype=torch.float64)
        weights[self.backbone.special] = 0
        return weights

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model, count the sources that hold each token (idf), and encode the job's statements."""
        import torch

        if self.options.idf:
            # Of each token id log((sources + 1) / (sources that hold it + 1)).
            held = torch.zeros(self.backbone.size, dtype=torch.float64)
            for first in range(0, len(sources), _SLICE):
                ids, _ = self.backbone.encoder.tokenise(self._given(sources[first : first + _SLICE]))
                for text_ids in ids:
                    held[text_ids] += 1  # a token that occurs twice counts once
            self.weights = torch.log((len(sources) + 1) / (held + 1))
        self.texts.prepare([] if self.backbone.official else self._given(statements))

    def observe(self, sources: Sequence[str], statements: Sequence[str]) -> list[TokenMatch]:
        """Return the token matches of pairs, all statements of a source at once."""
        pairs = list(zip(self._given(sources), self._given(statements), strict=True))
        used = list(dict.fromkeys(text for pair in pairs for text in pair))
        if self.backbone.official is None:
            texts = self.texts.read(used)
            sides = match_pairs(pairs, texts, lambda text: self.weights[text.ids])
        else:
            read = zip(used, *self.backbone.encoder.tokenise(used), strict=True)
            texts = {text: EncodedText(self.weights[:0], ids, len(ids) + cut, cut) for text, ids, cut in read}
            # It fails on a text without words, for which any other stands here: such a pair's match is not read.
            worded = {text: _Text(text if texts[text].tokens > 2 else "-") for text in used}
            both = ([worded[text] for text in side] for side in zip(*pairs, strict=True))
            size = max(self.batch_tokens // max(len(text.ids) for text in texts.values()), 1)
            with model_loading.quiet_transformers():
                sides = self.backbone.official(*both, idf_dict=self.weights.tolist(), batch_size=size).tolist()
        return [
            TokenMatch(precision, recall, *wordless_and_counts(texts[source], texts[statement]))
            for (source, statement), (precision, recall, *_) in zip(pairs, sides, strict=True)
        ]

    def judge(self, observations: Sequence[TokenMatch]) -> list[PairScore]:
        """Return each pair's `side`, rescaled if the option is on; see `fallback` for a pair with an empty text."""
        side = ("precision", "recall", "f1").index(self.options.side)
        answers = []
        for precision, recall, empty, *counts in observations:
            both = precision + recall
            raw = (precision, recall, 2 * precision * recall / both if both else 0.0)[side]
            # The official code gives 0 for empty texts, and for an F1 (no precision, no recall) that is not a number.
            if (unscored := empty or isnan(raw)) and self.options.fallback and (empty or side == 2):
                unscored, raw = False, 0.0
            if self.baseline is not None:
                raw = (raw - self.baseline[side]) / (1 - self.baseline[side])
            status = Status.EMPTY if empty else Status.NOTHING_TO_SCORE
            answers.append(PairScore(None, status, *counts) if unscored else PairScore(raw, Status.OK, *counts))
        return answers

    def explain(self, source: str, statement: str) -> list[Span]:
        """Return each token of the statement with its best match in the source, by cosine, whatever `side` is."""
        if self.score([source], [statement])[0].status is not Status.OK:
            return []
        text_by_side = dict(zip(("source", "statement"), self._given([source, statement]), strict=True))
        spans = align_tokens(self.backbone.encoder, self.texts.read(text_by_side.values()), *text_by_side.values())
        # `_given` strips white space and adds text before: spans are shifted back.
        stripped = {"source": len(source) - len(source.lstrip()), "statement": len(statement) - len(statement.lstrip())}
        shift = {side: count - len(self.backbone.before) for side, count in stripped.items()}
        starts = [max(span.start + shift[span.side], stripped[span.side]) for span in spans]
        ends = [(span, start, span.end + shift[span.side]) for span, start in zip(spans, starts, strict=True)]
        return [span._replace(start=start, end=end) for span, start, end in ends if start < end]

    def _given(self, texts: Sequence[str]) -> list[str]:
        """Return the texts as the tokenizer gets them: stripped, with `before` in front of those not empty."""
        return [text and self.backbone.before + text for text in map(str.strip, texts)]
