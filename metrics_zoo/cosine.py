"""Cosine of the sentence embeddings of statement and source, by any sentence-embedding model: `cosine:MODEL_ID`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from metaeval.scoring.backends import minilm
from metaeval.scoring.backends.checkpoint import Checkpoint
from metaeval.scoring.backends.encoder import Encoded, JobTexts
from metaeval.scoring.backends.model_metric import ModelMetric, ModelOptions
from metaeval.scoring.contract import MetricCard, PairScore, Status
from metrics_zoo.sentence_model import Pooling, Recipe, load_sentence_model, pooled, read_recipe


class CosineOptions(ModelOptions):
    """pooling: for a model whose folder does not say (no modules.json): mean, cls or max of the last hidden states.

    source_prompt, statement_prompt: put before each text, as models such as E5 ask for. trust_remote_code: run Python
    code that comes with the model.
    """

    pooling: Pooling | None = None
    source_prompt: str = ""
    statement_prompt: str = ""
    trust_remote_code: bool = False


class Cosine(ModelMetric):
    """The cosine that sentence-transformers computes: pooling, input limit and lower-casing as the model's folder says.

    A model that asks for more than that (dense layers, other poolings, default prompts) is refused.
    """

    checkpoint = Checkpoint(
        minilm.FILES.hub_id, minilm.FILES.download, minilm.FILES.revision, also=("[0-9]*_*/config.json",)
    )
    card = MetricCard(
        name="cosine",
        family="embedding",
        summary="cosine of the sentence embeddings of statement and source, by any model: cosine:MODEL_ID",
        paper="Reimers and Gurevych 2019, Sentence-BERT (arXiv 1908.10084)",
        licence="Apache-2.0; another model's on its page",
        low=-1.0,
        high=1.0,
        input_limit=256,
        truncation="both",
        checkpoint=checkpoint.hub_id,
        revision=checkpoint.revision,
        dtype="float32",
        download=checkpoint.download,
        parameters="22.7 M",
        modules=("torch", "transformers", "tokenizers", "safetensors"),
        extra="models",
        argument="model",
    )
    Options = CosineOptions

    @cached_property
    def wanted(self) -> Checkpoint:
        """The checkpoint that the options ask for, with its Python files where they are trusted."""
        wanted = super().wanted
        return replace(wanted, also=(*wanted.also, "*.py")) if self.options.trust_remote_code else wanted

    @cached_property
    def recipe(self) -> Recipe:
        """Pooling, input limit and lower-casing."""
        options = self.options
        return read_recipe(self.model_folder, options.pooling, bool(options.source_prompt or options.statement_prompt))

    @cached_property
    def texts(self) -> JobTexts:
        """The job's texts as one unit vector each; the model is loaded when first asked for."""
        options = self.options
        encoder = load_sentence_model(
            self.model_folder, self.recipe, options.dtype, self.batch_tokens, self.device, options.trust_remote_code
        )
        return JobTexts(encoder, pooled(self.recipe.pooling))

    @cached_property
    def special(self) -> int:
        """Tokens of a text that has none of its own."""
        return len(self.texts.encoder.tokenise([""])[0][0])

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model and encode the job's statements."""
        self.texts.prepare(self.options.statement_prompt + statement for statement in statements)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a pair with a text without words is EMPTY."""
        options = self.options
        pairs = [
            (options.source_prompt + source, options.statement_prompt + statement)
            for source, statement in zip(sources, statements, strict=True)
        ]
        found = self.texts.read(text for pair in pairs for text in pair)
        wordless = [
            not (source.strip() and statement.strip()) for source, statement in zip(sources, statements, strict=True)
        ]
        return [
            self._pair(found[source], found[statement], empty)
            for (source, statement), empty in zip(pairs, wordless, strict=True)
        ]

    def _pair(self, source: Encoded, statement: Encoded, empty: bool) -> PairScore:
        tokens, cut = source.tokens + statement.tokens, source.cut + statement.cut
        if empty or min(source.tokens, statement.tokens) <= self.special:
            return PairScore(None, Status.EMPTY, tokens, cut)
        cosine = float(source.states[0].double() @ statement.states[0].double())
        return PairScore(cosine, tokens=tokens, cut=cut)
