"""Cosine of the sentence embeddings of statement and source, by any sentence-embedding model: `cosine:MODEL_ID`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from metaeval.core.errors import UserError
from metaeval.core.parsing import read_json
from metaeval.scoring.backends import minilm, model_loading
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder
from metaeval.scoring.backends.model_metric import ModelMetric, ModelOptions, of_checkpoint
from metaeval.scoring.backends.text_encoder import JobTexts, Keep, TextEncoder, first_products, wordless_and_counts
from metaeval.scoring.backends.tokenization import backend
from metaeval.scoring.contract import MetricCard, PairScore, Status

if TYPE_CHECKING:
    import torch

Pooling = Literal["mean", "cls", "max"]

# mean_sqrt_len_tokens is the mean times a number: the same cosine.
_POOLINGS: dict[str, Pooling] = {"mean": "mean", "mean_sqrt_len_tokens": "mean", "cls": "cls", "max": "max"}
_FLAG = "pooling_mode_"  # older folders: pooling_mode_cls_token, pooling_mode_mean_tokens ... true or false
_LIBRARY = "sentence_transformers."


class Recipe(NamedTuple):
    """The settings by which a model encodes texts. pooling: how hidden states become one vector.

    limit: most tokens of a text (None: the tokenizer's limit). lower: whether texts are lower-cased.
    """

    pooling: Pooling
    limit: int | None = None
    lower: bool = False


def read_recipe(model: ModelFolder, pooling: Pooling | None, prompted: bool) -> Recipe:
    """Return the settings in modules.json and the files that it names; without modules.json those of `pooling`.

    prompted: whether an option sets a prompt before the texts.

    Raises `UserError` without both, and for what is not supported: dense layers, other poolings, default prompts.
    """
    modules = _json(model, "modules.json")
    if modules is None:
        if pooling is None:
            raise UserError(f"{model.folder} has no modules.json: set the option 'pooling' to mean, cls or max.")
        return Recipe(pooling)
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    ours = all(str(module["type"]).startswith(_LIBRARY) for module in modules)
    if not ours or kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise _unsupported(model, f"is made of {', '.join(kinds)}", "Transformer, Pooling and Normalize")
    if modules[0]["path"]:
        raise _unsupported(model, f"keeps its transformer in {modules[0]['path']}", "a transformer at the top")
    pooling_config = _json(model, f"{modules[1]['path']}/config.json")
    if pooling_config is None:
        raise UserError(f"{model.folder} lacks {modules[1]['path']}/config.json: fetch the whole model again.")
    prompts = _json(model, "config_sentence_transformers.json") or {}
    default = (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name"))
    if prompted and not pooling_config.get("include_prompt", True):
        raise _unsupported(model, "leaves the prompt out of the pooling", "prompts that are pooled with the text")
    if default and not prompted:
        raise UserError(f"{model.folder} puts {default!r} before texts: set source_prompt and statement_prompt.")
    settings = next((_json(model, name) for name in model.files if name.startswith("sentence_")), None) or {}
    if settings.get("transformer_task", "feature-extraction") != "feature-extraction":
        raise _unsupported(model, f"is made for {settings['transformer_task']}", "feature-extraction")
    return Recipe(_pooling(model, pooling_config), settings.get("max_seq_length"), bool(settings.get("do_lower_case")))


def load_sentence_model(
    files: ModelFolder,
    recipe: Recipe,
    dtype: model_loading.DType,
    batch_tokens: int,
    device: str,
    trust_remote_code: bool,
) -> TextEncoder:
    """Load a sentence encoder with the limit and lower-casing of `recipe`; `UserError` for an encoder-decoder."""
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as Normalizers
    from transformers import AutoModel

    trust: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    tokenizer = model_loading.load_tokenizer(files, **trust)
    model = model_loading.load_model(AutoModel, files, dtype, device, model_loading.POOLER, **trust)
    config = model.config
    if config.is_encoder_decoder:
        raise _unsupported(files, f"has a decoder ({config.model_type})", "encoders")
    raw = backend(tokenizer)
    if recipe.lower:
        raw.normalizer = Normalizers([Lowercase(), *([raw.normalizer] if raw.normalizer else [])])
    limits = (recipe.limit or int(tokenizer.model_max_length), model_loading.position_limit(config))
    return TextEncoder(model, raw, min(filter(None, limits)), batch_tokens, device, int(config.pad_token_id or 0))


def pooled(pooling: Pooling) -> Keep:
    """Return a function from hidden states, (tokens, dimensions), to the pooled unit vector, (1, dimensions)."""

    def keep(states: torch.Tensor) -> torch.Tensor:
        if pooling == "mean":
            vector = states.mean(dim=0, keepdim=True)
        else:
            vector = states[:1] if pooling == "cls" else states.amax(dim=0, keepdim=True)
        unit: torch.Tensor = vector / vector.norm()
        return unit

    return keep


def _pooling(model: ModelFolder, config: dict[str, Any]) -> Pooling:
    flagged = [name.removeprefix(_FLAG) for name, value in config.items() if name.startswith(_FLAG) and value is True]
    named = config.get("pooling_mode") or [name.removesuffix("_tokens").removesuffix("_token") for name in flagged]
    modes = [named] if isinstance(named, str) else list(named)
    modes = ["mean_sqrt_len_tokens" if mode == "mean_sqrt_len" else str(mode) for mode in modes]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise _unsupported(model, f"pools by {' and '.join(modes) or 'nothing'}", "one of mean, cls and max")
    return _POOLINGS[modes[0]]


def _json(model: ModelFolder, name: str) -> Any:
    path = model.folder / name
    if not path.is_file():
        return None
    with model_loading.broken_files(model):
        return read_json(path, model_loading.FETCH_AGAIN)


def _unsupported(model: ModelFolder, what: str, allowed: str) -> UserError:
    return UserError(f"The model in {model.folder} {what}: the metric 'cosine' supports only {allowed}.")


class CosineOptions(ModelOptions):
    """Options of a sentence encoder."""

    pooling: Pooling | None = None
    """Pooling of the last hidden states, for a model without modules.json, which does not give it."""
    source_prompt: str = ""
    """Text put before each source, as models such as E5 ask for."""
    statement_prompt: str = ""
    """Text put before each statement."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model."""


class Cosine(ModelMetric):
    """Cosine of the two texts' embeddings as sentence-transformers computes it, with its folder's settings.

    A model that needs more (dense layers, other poolings, default prompts) raises `UserError`.
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
        parameters="22.7 M",
        **of_checkpoint(checkpoint),
    )
    Options = CosineOptions

    @cached_property
    def wanted(self) -> Checkpoint:
        """Return the checkpoint that the options name, with its Python files if they are trusted."""
        wanted = super().wanted
        return replace(wanted, also=(*wanted.also, "*.py")) if self.options.trust_remote_code else wanted

    @cached_property
    def recipe(self) -> Recipe:
        """The model's pooling, input limit and lower-casing."""
        options = self.options
        return read_recipe(self.model_folder, options.pooling, bool(options.source_prompt or options.statement_prompt))

    @cached_property
    def texts(self) -> JobTexts:
        """Return the store of the job's encoded texts, one unit vector each; the model is loaded when first used."""
        options = self.options
        encoder = load_sentence_model(
            self.model_folder, self.recipe, options.dtype, self.batch_tokens, self.device, options.trust_remote_code
        )
        return JobTexts(encoder, pooled(self.recipe.pooling))

    @cached_property
    def special(self) -> int:
        """Return the number of special tokens that the tokenizer adds to a text."""
        return len(self.texts.encoder.tokenise([""])[0][0])

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model and encode the job's statements."""
        self.texts.prepare(self.options.statement_prompt + statement for statement in statements)

    def score(self, sources: Sequence[str], statements: Sequence[str]) -> list[PairScore]:
        """Score pairs; a pair with a text that is blank or has no token is EMPTY."""
        options = self.options
        pairs = [
            (options.source_prompt + source, options.statement_prompt + statement)
            for source, statement in zip(sources, statements, strict=True)
        ]
        texts = self.texts.read(text for pair in pairs for text in pair)
        sides = [(texts[source], texts[statement]) for source, statement in pairs]
        read = [
            bool(source.strip() and statement.strip()) and min(source_text.tokens, statement_text.tokens) > self.special
            for source, statement, (source_text, statement_text) in zip(sources, statements, sides, strict=True)
        ]
        cosines = iter(first_products(list(compress(sides, read))))
        return [
            PairScore(
                next(cosines) if known else None,
                Status.OK if known else Status.EMPTY,
                *wordless_and_counts(source_text, statement_text)[1:],
            )
            for known, (source_text, statement_text) in zip(read, sides, strict=True)
        ]
