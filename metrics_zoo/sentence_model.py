"""A sentence-embedding model as its folder describes it: what is pooled, how long an input may be, what it asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import ModelFolder
from metaeval.scoring.backends.encoder import Keep, TextEncoder
from metaeval.scoring.backends.models import DType, broken_files, load_model, load_tokenizer
from metaeval.scoring.backends.tokens import backend

if TYPE_CHECKING:
    import torch

Pooling = Literal["mean", "cls", "max"]

# mean_sqrt_len_tokens is the mean times a number: the same cosine.
_POOLINGS: dict[str, Pooling] = {"mean": "mean", "mean_sqrt_len_tokens": "mean", "cls": "cls", "max": "max"}
_FLAG = "pooling_mode_"  # older folders: pooling_mode_cls_token, pooling_mode_mean_tokens ... true or false
_LIBRARY = "sentence_transformers."
_POOLER = ("pooler.dense.weight", "pooler.dense.bias", "pooler.weight", "pooler.bias")
_OFFSET = {"camembert", "mpnet", "roberta", "xlm-roberta"}  # positions are counted from behind the padding's id


class Recipe(NamedTuple):
    """pooling: of the last hidden states, special tokens included. limit: tokens (None: the model's own)."""

    pooling: Pooling
    limit: int | None = None
    lower: bool = False


def read_recipe(found: ModelFolder, pooling: Pooling | None, prompted: bool) -> Recipe:
    """What modules.json and the files that it names say; `pooling` serves for a folder without modules.json alone.

    prompted: the user says what goes before the texts.

    Raises `UserError` for anything that would be left out silently: dense layers, other poolings, default prompts.
    """
    modules = _json(found, "modules.json")
    if modules is None:
        if pooling is None:
            raise UserError(
                f"{found.folder} has no modules.json, and so does not say how its embeddings are pooled: give the "
                "option 'pooling' (mean, cls or max), as the model's page has it."
            )
        return Recipe(pooling)
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    ours = all(str(module["type"]).startswith(_LIBRARY) for module in modules)
    if not ours or kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise _unsupported(found, f"is made of {', '.join(kinds)}", "Transformer, Pooling and Normalize")
    if modules[0]["path"]:
        raise _unsupported(found, f"keeps its transformer in {modules[0]['path']}", "a transformer at the top")
    said = _json(found, f"{modules[1]['path']}/config.json")
    if said is None:
        raise UserError(f"{found.folder} lacks {modules[1]['path']}/config.json: fetch the whole model again.")
    _check_prompt(found, prompted, bool(said.get("include_prompt", True)))
    settings = next((_json(found, name) for name in found.files if name.startswith("sentence_")), None) or {}
    if settings.get("transformer_task", "feature-extraction") != "feature-extraction":
        raise _unsupported(found, f"is made for {settings['transformer_task']}", "feature-extraction")
    return Recipe(_pooling(found, said), settings.get("max_seq_length"), bool(settings.get("do_lower_case")))


def load_sentence_model(
    found: ModelFolder, recipe: Recipe, dtype: DType, batch_tokens: int, device: str, trust_remote_code: bool
) -> TextEncoder:
    """The encoder; `UserError` for a model that cannot be loaded as one."""
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as Normalizers
    from transformers import AutoModel

    tokenizer = load_tokenizer(found, trust_remote_code=trust_remote_code)
    model = load_model(AutoModel, found, dtype, device, unused=_POOLER, trust_remote_code=trust_remote_code)
    config = model.config
    if config.is_encoder_decoder:
        raise _unsupported(found, f"has a decoder ({config.model_type})", "encoders")
    raw = backend(tokenizer)
    if recipe.lower:
        raw.normalizer = Normalizers([Lowercase(), *([raw.normalizer] if raw.normalizer else [])])
    positions = int(getattr(config, "max_position_embeddings", 0) or 0)
    padding = int(config.pad_token_id or 0)
    limit = recipe.limit or int(min(tokenizer.model_max_length, positions or 10**6))
    if positions > 0:
        limit = min(limit, positions - (padding + 1 if config.model_type in _OFFSET else 0))
    return TextEncoder(model, raw, limit, batch_tokens, device, padding)


def pooled(pooling: Pooling) -> Keep:
    """From hidden states, (tokens, dimensions), to the pooled unit vector, (1, dimensions)."""

    def keep(states: torch.Tensor) -> torch.Tensor:
        if pooling == "mean":
            vector = states.mean(dim=0, keepdim=True)
        else:
            vector = states[:1] if pooling == "cls" else states.amax(dim=0, keepdim=True)
        unit: torch.Tensor = vector / vector.norm()
        return unit

    return keep


def _pooling(found: ModelFolder, said: dict[str, Any]) -> Pooling:
    flagged = [name.removeprefix(_FLAG) for name, value in said.items() if name.startswith(_FLAG) and value is True]
    named = said.get("pooling_mode") or [name.removesuffix("_tokens").removesuffix("_token") for name in flagged]
    modes = [named] if isinstance(named, str) else list(named)
    modes = ["mean_sqrt_len_tokens" if mode == "mean_sqrt_len" else str(mode) for mode in modes]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise _unsupported(found, f"pools by {' and '.join(modes) or 'nothing'}", "one of mean, cls and max")
    return _POOLINGS[modes[0]]


def _check_prompt(found: ModelFolder, prompted: bool, included: bool) -> None:
    settings = _json(found, "config_sentence_transformers.json") or {}
    default = (settings.get("prompts") or {}).get(settings.get("default_prompt_name"))
    if prompted and not included:
        raise _unsupported(found, "leaves the prompt out of the pooling", "prompts that are pooled with the text")
    if default and not prompted:
        raise UserError(
            f"The model in {found.folder} puts the prompt {default!r} before every text: give what goes before a "
            "source and a statement with the options 'source_prompt' and 'statement_prompt'."
        )


def _json(found: ModelFolder, name: str) -> Any:
    path = found.folder / name
    if not path.is_file():
        return None
    with broken_files(found):
        return json.loads(path.read_text(encoding="utf-8"))


def _unsupported(found: ModelFolder, what: str, allowed: str) -> UserError:
    return UserError(f"The model in {found.folder} {what}: the metric 'cosine' supports {allowed} alone.")
