"""HHEM-2.1-Open (Vectara, 2024): the encoder of a Flan-T5-base with a label at the prompt's first token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.core.errors import UserError
from metaeval.scoring.backends.batches import pad, run_batches
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model, is_cached
from metaeval.scoring.backends.model_loading import broken_files, load_model, load_tokenizer
from metaeval.scoring.backends.model_metric import ModelMetric, ModelOptions, of_checkpoint, probability
from metaeval.scoring.backends.tokenization import PromptTokens
from metaeval.scoring.contract import MetricCard, PairScore
from metrics_zoo.t5 import ask_prompts

_FOUNDATION = Checkpoint(
    "google/flan-t5-base",
    "its tokenizer alone: 3 MB, Apache-2.0",
    "7bcac572ce56db69c1ea7c8af255c5d7c9672fc2",
    ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
)


class HHEMOptions(ModelOptions):
    """Options of HHEM."""

    max_tokens: Annotated[int, Field(ge=32)] | None = None
    """Most tokens of a prompt; the end of the source is cut beyond them (official: no limit)."""


class HHEM(ModelMetric):
    """HHEM: P(consistent), the softmax over the two labels at the first token of the prompt; one encoder run per pair.

    The published model is Python code on the hub around transformers' T5ForTokenClassification under the prefix `t5.`.
    Here the weights are loaded into that class, whose size is derived from their shapes, and no code from the hub is
    run. Checked without the checkpoint: its published 109,630,082 parameters are those of this class at Flan-T5-base's
    size. The prompt's `<pad>` is a token that is read, not padding.
    """

    checkpoint = Checkpoint(
        "vectara/hallucination_evaluation_model",
        "439 MB, Apache-2.0",
        "8e4a2e6e96c708cc76c2344f7e4757df2515292c",
        ("model.safetensors",),
    )
    Options = HHEMOptions
    card = MetricCard(
        name="hhem",
        title="HHEM",
        family="classifier",
        summary="probability that a Flan-T5 encoder trained on hallucinations finds the statement consistent",
        paper="none; Vectara 2024, HHEM-2.1-Open (10.57967/hf/3240)",
        licence="Apache-2.0",
        **probability(half="the authors' documentation"),
        template=(
            "<pad> Determine if the hypothesis is true given the premise?\n\n"
            "Premise: {source}\n\nHypothesis: {statement}"
        ),
        parameters="110 M",
        **of_checkpoint(checkpoint, download=f"{checkpoint.download}; {_FOUNDATION.download} ({_FOUNDATION.hub_id})"),
    )

    @cached_property
    def tokenizer_folder(self) -> ModelFolder:
        """Folder of Flan-T5's tokenizer: that of a model of yours, if it holds one, else a hub copy."""
        folder = self._beside
        first, *others = _FOUNDATION.files
        files = (first, *(name for name in others if folder is None or (folder / name).is_file()))
        try:
            return find_model(replace(_FOUNDATION, files=files), folder)
        except UserError as error:
            raise UserError(f"{error} For HHEM these files may also lie beside the model.") from error

    @property
    def _beside(self) -> Path | None:
        folder = self.model_folder.folder if self.place else None
        return folder if folder and (folder / "tokenizer.json").is_file() else None

    @property
    def lacking_extra(self) -> str:
        """The tokenizer's size and licence if it must be downloaded, else ""."""
        return "" if self._beside or is_cached(_FOUNDATION) else _FOUNDATION.download

    @cached_property
    def prompts(self) -> PromptTokens:
        """Return the encoder of pairs to token ids."""
        return PromptTokens(load_tokenizer(self.tokenizer_folder), self.card.template, self.options.max_tokens)

    @cached_property
    def model(self) -> Any:
        """The token classifier, loaded when first used."""
        from safetensors import safe_open
        from transformers import T5ForTokenClassification

        files = self.model_folder
        with broken_files(files), safe_open(files.weights[0], framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        arguments = {"config": read_config(shapes, files.folder), "key_mapping": {r"^t5\.": ""}}
        return load_model(T5ForTokenClassification, files, self.options.dtype, self.device, **arguments)

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, including the fingerprint of the tokenizer, which comes from another model."""
        return {**super().identity(), "tokenizer": self.tokenizer_folder.fingerprint}

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model and the tokenizer."""
        _ = self.model, self.prompts

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a blank statement is EMPTY, an empty source is a premise like any other."""
        prompts = self.prompts.encode(sources, statements)
        run = partial(run_batches, length=len, forward=self._forward, budget=self.batch_tokens, device=self.device)
        answers = ask_prompts(prompts, statements, run)
        return [PairScore(score, status, prompt.tokens, prompt.cut) for prompt, status, score in answers]

    def _forward(self, batch: list[list[int]]) -> Sequence[float]:
        ids, mask = pad(batch, 0, self.device)
        logits = self.model(input_ids=ids, attention_mask=mask).logits[:, 0]
        scores: list[float] = logits.double().softmax(-1)[:, 1].tolist()
        return scores


def read_config(shapes: Mapping[str, tuple[int, ...]], folder: Path) -> Any:
    """Return a T5's configuration, derived from the shapes of its weights; other settings are as in Flan-T5-base.

    Raises `UserError` when these are not the weights of a T5 token classifier under the prefix `t5.`.
    """
    from transformers import T5Config

    encoder = "t5.transformer.encoder"
    block = f"{encoder}.block"
    try:
        embedding = shapes.get("t5.transformer.shared.weight") or shapes[f"{encoder}.embed_tokens.weight"]
        buckets, heads = shapes[f"{block}.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        return T5Config(
            vocab_size=embedding[0],
            d_model=embedding[1],
            d_kv=shapes[f"{block}.0.layer.0.SelfAttention.q.weight"][0] // heads,
            d_ff=shapes[f"{block}.0.layer.1.DenseReluDense.wi_0.weight"][0],
            num_layers=sum(name.startswith(block) and name.endswith("SelfAttention.q.weight") for name in shapes),
            num_heads=heads,
            relative_attention_num_buckets=buckets,
            feed_forward_proj="gated-gelu",
            num_labels=shapes["t5.classifier.weight"][0],
        )
    except KeyError as error:
        raise UserError(f"{folder} holds weights other than HHEM's (no {error.args[0]}): check 'model'.") from error
