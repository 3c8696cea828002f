"""AlignScore's network: a RoBERTa encoder and three linear heads, read from the published Lightning checkpoint."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from metaeval.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model
from metaeval.scoring.backends.models import DType, broken_files, check_memory, quiet_transformers, settle

Size = Literal["large", "base"]
SIZES: dict[Size, str] = {"large": "4.9 GB", "base": "1.97 GB"}

HEADS = {"bin": slice(0, 2), "nli": slice(2, 5), "reg": slice(5, 6)}
"""Where a head's outputs stand in a row of six logits."""

_LAYERS = {"bin": "bin_layer", "nli": "tri_layer", "reg": "reg_layer"}
# All that transformers may read of a RoBERTa folder, weights aside; a hub copy has the first four.
_BACKBONE = ("config.json", "merges.txt", "tokenizer.json", "vocab.json", "tokenizer_config.json")


_ROBERTA: dict[Size, str] = {
    "large": "722cf37b1afa9454edce342e7895e588b6ff1d59",
    "base": "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
}


def published(size: Size) -> Checkpoint:
    """AlignScore's own checkpoint of a size."""
    revision = "8509e78d25bb914939fc585c626500c9b2944249"
    return Checkpoint("yzha/AlignScore", f"{SIZES[size]}, MIT", revision, (f"AlignScore-{size}.ckpt",))


def published_backbone(size: Size) -> Checkpoint:
    """RoBERTa's configuration and tokenizer on the hub."""
    download = "configuration and tokenizer, 3 MB, MIT"
    return Checkpoint(f"FacebookAI/roberta-{size}", download, _ROBERTA[size], _BACKBONE[:4])


def find_backbone(size: Size, given: Path | None, beside: Path | None) -> ModelFolder:
    """RoBERTa's configuration and tokenizer (its weights are in AlignScore's own file): `given`, else `beside` the
    checkpoint or in a subfolder of it named roberta-large, else from the hub, where `beside` is None.
    """
    name = f"roberta-{size}"
    places = [given] if given else [beside / name, beside] if beside else []
    if not places:
        return find_model(published_backbone(size))
    for place in places:
        files = tuple(file for file in _BACKBONE if (place / file).is_file())
        if "config.json" in files and ("tokenizer.json" in files or {"vocab.json", "merges.txt"} <= {*files}):
            return ModelFolder(place, files)
    raise UserError(
        f"{' and '.join(map(str, places))} lack config.json, vocab.json and merges.txt of {name}, which AlignScore "
        f"reads: put them into {places[0]}, or name their folder with the option 'backbone_folder'."
    )


def load_aligner(found: ModelFolder, backbone: ModelFolder, dtype: DType, device: str) -> Any:
    """The network in eval mode on `device`: `model(input_ids=..., attention_mask=...).logits` is (pairs, 6), see HEADS.

    The checkpoint's vocabulary head is not read: no score depends on it.

    Raises `UserError` when the files are broken or are not those of an AlignScore model of this size.
    """
    import torch
    from transformers import AutoConfig, RobertaModel

    class Aligner(torch.nn.Module):
        def __init__(self, base_model: Any, heads: torch.nn.Linear) -> None:
            super().__init__()
            self.config = base_model.config
            self.base_model = base_model
            self.heads = heads

        def forward(self, **given: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(logits=self.heads(self.base_model(**given).pooler_output))

    number = getattr(torch, dtype)
    with quiet_transformers(), broken_files(found):
        config = AutoConfig.from_pretrained(backbone.folder, local_files_only=True)
        state = _read(found, backbone, config)
        check_memory(found, dtype, device, sum(4 * value.numel() for value in state.values()))
        base, report = RobertaModel.from_pretrained(
            None,
            config=config,
            state_dict=_part(state, "base_model"),
            dtype=number,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # told below, in our own words
        )
        unmet = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
        if unmet:
            named = ", ".join(unmet[:2])
            raise UserError(f"{found.weights[0]} lacks weights of AlignScore ({named} ...): fetch it again.")
        heads = torch.nn.Linear(config.hidden_size, 6, dtype=number)
        with torch.no_grad():
            for head, layer in _LAYERS.items():
                heads.weight[HEADS[head]] = state[f"{layer}.weight"].to(number)
                heads.bias[HEADS[head]] = state[f"{layer}.bias"].to(number)
    return settle(Aligner(base, heads), dtype, device)


def _read(found: ModelFolder, backbone: ModelFolder, config: Any) -> dict[str, Any]:
    """The checkpoint's weights without its vocabulary head, once they are known to be AlignScore's of this size."""
    import torch

    # mmap: the optimiser's state, two thirds of the file, is never read. weights_only: no code in the file is run.
    whole = torch.load(found.weights[0], map_location="cpu", weights_only=True, mmap=True)["state_dict"]
    state = {name: value for name, value in whole.items() if name.startswith(("base_model.", *_LAYERS.values()))}
    state.pop("base_model.embeddings.position_ids", None)  # no weight; older versions of transformers saved it
    shapes = {
        "base_model.embeddings.word_embeddings.weight": (config.vocab_size, config.hidden_size),
        "base_model.embeddings.position_embeddings.weight": (config.max_position_embeddings, config.hidden_size),
        "bin_layer.weight": (2, config.hidden_size),
        "tri_layer.weight": (3, config.hidden_size),
        "reg_layer.weight": (1, config.hidden_size),
    }
    if any(name not in state or tuple(state[name].shape) != shape for name, shape in shapes.items()):
        raise UserError(
            f"{found.weights[0]} is not an AlignScore checkpoint for the backbone in {backbone.folder}: check the "
            "option 'size' (large or base), and that the folder is that of roberta-large or roberta-base."
        )
    return state


def _part(state: dict[str, Any], name: str) -> dict[str, Any]:
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
