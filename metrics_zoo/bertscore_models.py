"""Backbones of BERTScore: the layer that stands for each, and the baselines of those that are rescaled most."""

from __future__ import annotations

from typing import Any, NamedTuple

from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import ModelFolder
from metaeval.scoring.backends.encoder import TextEncoder
from metaeval.scoring.backends.models import DType, broken_files, load_model, load_tokenizer
from metaeval.scoring.backends.tokens import backend

LAYERS = {
    "albert-xlarge-v2": 13,
    "albert-xxlarge-v2": 8,
    "allenai/scibert_scivocab_uncased": 8,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "google/electra-base-discriminator": 9,
    "google/electra-large-discriminator": 14,
    "microsoft/deberta-base": 9,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large": 16,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge": 18,
    "microsoft/deberta-xlarge-mnli": 40,
    "microsoft/deberta-v2-xlarge": 10,
    "microsoft/deberta-v2-xlarge-mnli": 17,
    "microsoft/deberta-v2-xxlarge": 21,
    "microsoft/deberta-v2-xxlarge-mnli": 22,
    "microsoft/deberta-v3-xsmall": 10,
    "microsoft/deberta-v3-small": 4,
    "microsoft/deberta-v3-base": 9,
    "microsoft/deberta-v3-large": 12,
    "microsoft/mdeberta-v3-base": 10,
    "microsoft/mpnet-base": 8,
    "princeton-nlp/sup-simcse-roberta-large": 16,
    "princeton-nlp/sup-simcse-bert-base-uncased": 10,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
}
"""Hub id -> layer, of those that correlate best with human scores on WMT16 (bert-score 0.3.13, `model2layers`)."""

BASELINES = {
    ("bert-base-uncased", 9): (0.35375935, 0.3537393, 0.35219112),
    ("microsoft/deberta-large-mnli", 18): (0.45358238, 0.45362508, 0.45173016),
    ("microsoft/deberta-xlarge-mnli", 40): (0.5169066, 0.5170288, 0.5150192),
    ("roberta-base", 10): (0.8146725, 0.8146619, 0.814463),
    ("roberta-large", 17): (0.83150584, 0.8314941, 0.83122575),
    ("roberta-large-mnli", 19): (0.6901594, 0.69018, 0.6896288),
}
"""(hub id, layer) -> precision, recall, F1 of unrelated English sentences (bert-score 0.3.13, rescale_baseline/en)."""

_FAMILIES = (
    "albert",
    "bert",
    "camembert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "mpnet",
    "roberta",
    "xlm-roberta",
)
_PUBLISHERS = ("FacebookAI/", "albert/", "distilbert/", "google-bert/")  # newer names of models known without one
_OFFSET = {"camembert", "roberta", "xlm-roberta", "mpnet"}  # positions are counted from behind the padding's id
_POOLER = ("pooler.dense.weight", "pooler.dense.bias", "pooler.weight", "pooler.bias")
_LIMIT = 512


def known_as(hub_id: str) -> str:
    """The name that the tables know a model by."""
    publisher = next((prefix for prefix in _PUBLISHERS if hub_id.startswith(prefix)), "")
    return hub_id.removeprefix(publisher)


def find_layer(hub_id: str, wished: int | None) -> int:
    """The layer whose states are compared; `UserError` when the table has none and none is wished for."""
    layer = wished or LAYERS.get(known_as(hub_id))
    if layer is None:
        raise UserError(
            f"BERTScore has no tried layer for {hub_id}: name one with the option 'layer' (about two thirds of the "
            f"model's layers), or use one of {', '.join(sorted(LAYERS))}."
        )
    return layer


def find_baseline(hub_id: str, layer: int) -> tuple[float, float, float]:
    """Precision, recall and F1 that rescaling makes 0; `UserError` when they are not known."""
    found = BASELINES.get((known_as(hub_id), layer))
    if found is None:
        raise UserError(
            f"No baseline is known here for layer {layer} of {hub_id}: give it as the option 'baseline', precision, "
            "recall and F1 with commas between, or leave 'rescale' out."
        )
    return found


class Backbone(NamedTuple):
    """An encoder as BERTScore uses it. before: what goes in front of a text; special: ids without weight; size: ids."""

    encoder: TextEncoder
    before: str
    special: list[int]
    size: int


def load_backbone(found: ModelFolder, layer: int, dtype: DType, batch_tokens: int, device: str) -> Backbone:
    """The encoder up to `layer`; the layers above are never loaded. Inputs are cut at 512 tokens.

    Raises `UserError` for a model that is no encoder of a known family, or has fewer layers.
    """
    from transformers import AutoConfig, AutoModel, GPT2Tokenizer, RobertaTokenizer

    with broken_files(found):
        config = AutoConfig.from_pretrained(found.folder, local_files_only=True)
    if config.model_type not in _FAMILIES:
        raise UserError(
            f"BERTScore does not run on the family {config.model_type!r}: allowed are {', '.join(_FAMILIES)}."
        )
    if layer > config.num_hidden_layers:
        raise UserError(
            f"The model in {found.folder} has {config.num_hidden_layers} layers, not {layer}: set 'layer' lower."
        )
    config.num_hidden_layers = layer
    tokenizer = load_tokenizer(found)
    model = load_model(AutoModel, found, dtype, device, unused=_POOLER, config=config)
    if config.model_type == "deberta":
        from metaeval.scoring.backends.deberta import quicken

        model = quicken(model)
    encoder = TextEncoder(
        model, backend(tokenizer), _limit(config), batch_tokens, device, int(config.pad_token_id or 0)
    )
    # The official code asks these two for a space before the first word, as before every other; current
    # transformers ignore the argument that it asks with.
    before = " " if isinstance(tokenizer, (RobertaTokenizer, GPT2Tokenizer)) else ""
    size = max(config.vocab_size, len(tokenizer))
    return Backbone(encoder, before, [tokenizer.cls_token_id, tokenizer.sep_token_id], size)


def _limit(config: Any) -> int:
    """The longest input. Where positions are relative any length is possible, and 512 are read all the same."""
    if config.model_type.startswith("deberta") and not config.position_biased_input:
        return _LIMIT
    reserved = config.pad_token_id + 1 if config.model_type in _OFFSET else 0
    return min(_LIMIT, int(config.max_position_embeddings) - reserved)
