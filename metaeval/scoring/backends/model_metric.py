"""Base classes, options and card fields of the shipped metrics that read a model."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, BeforeValidator, Field

from metaeval.core.errors import NoModelError
from metaeval.core.files import local_path
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model, is_cached
from metaeval.scoring.backends.model_loading import DType, load_model, pick_device
from metaeval.scoring.contract import Metric, MetricOptions

MODULES = ("torch", "transformers", "tokenizers", "safetensors")


def of_checkpoint(checkpoint: Checkpoint, **other: Any) -> dict[str, Any]:
    """Return the card's fields, by name, of a metric on a checkpoint, in fp32; `other` adds or replaces fields."""
    return {
        "argument": "model",
        "checkpoint": checkpoint.hub_id,
        "revision": checkpoint.revision,
        "dtype": "float32",
        "download": checkpoint.download,
        "modules": MODULES,
        "extra": "models",
        **other,
    }


def probability(half: str = "") -> dict[str, Any]:
    """Return the card's fields of a score from 0 to 1. half: where its threshold 0.5 is from; "" if it has none."""
    supported = {"neutral": 0.5, "threshold": 0.5, "threshold_from": half} if half else {}
    return {"low": 0.0, "high": 1.0, **supported}


def calibrated(threshold: float) -> dict[str, Any]:
    """Return the card fields of a threshold that was calibrated on labelled claims (WiCE dev)."""
    return {"threshold": threshold, "threshold_from": "calibrated on WiCE dev, full support"}


ModelPlace = Annotated[
    str | None,
    BeforeValidator(lambda value: os.path.join(os.curdir, value) if isinstance(value, Path) else value),
    Field(validation_alias=AliasChoices("model", "folder")),  # fitted gates may name a folder so
]
"""Where a model is: a folder, a checkpoint file, or its name on the hub; also what follows the colon in NAME:PLACE."""


class ModelOptions(MetricOptions):
    """Options of every metric that reads a model."""

    runtime: ClassVar[frozenset[str]] = frozenset({"model", "revision", "device", "batch_tokens"})

    model: ModelPlace = None
    """Model: a folder, a checkpoint file or a hub name (default: the card's); as the metric NAME:PLACE sets it."""
    revision: str | None = None
    """Revision of the model on the hub."""
    dtype: DType = "float32"
    """Number type of the weights and of the computation."""
    device: str = "auto"
    """Device: auto, cpu, cuda, cuda:1 and so on."""
    batch_tokens: Annotated[int, Field(ge=0)] = 0
    """Most tokens of a batch (0: by device)."""


class ModelMetric(Metric):
    """A metric on one checkpoint. Its identity holds the fingerprint of the model's files, not their path."""

    checkpoint: ClassVar[Checkpoint]
    Options = ModelOptions

    @cached_property
    def wanted(self) -> Checkpoint:
        """Return the checkpoint that the options name; the metric's own if they name none."""
        return self.checkpoint.at(self.options.model, self.options.revision)

    @cached_property
    def place(self) -> Path | None:
        """Return the folder or the file of the model that the options name; None for a model of the hub."""
        return local_path(self.options.model) if self.options.model else None

    @cached_property
    def model_folder(self) -> ModelFolder:
        """Return the checkpoint's files on this machine, downloaded if needed; raises `UserError` if not available."""
        try:
            return find_model(self.wanted, self.place)
        except NoModelError as error:
            raise NoModelError(*error.about, self.card.name) from error

    @property
    def lacking(self) -> str:
        """Return, as text, the size and licence of what must be downloaded before the first score; empty if nothing.

        Raises `UserError` when the folder that the options name does not exist or lacks files.
        """
        if self.place:
            _ = self.model_folder
        elif not is_cached(self.wanted):
            return self.card.download if self.wanted == self.checkpoint else self.wanted.download
        return self.lacking_extra

    @property
    def lacking_extra(self) -> str:
        """Return, as text, size and licence of files beside the checkpoint that must be downloaded; empty if none."""
        return ""

    @cached_property
    def device(self) -> str:
        """Return torch's name of the device that the options name; raises `UserError` if it is not available."""
        return pick_device(self.options.device)

    # Tokens of a batch on the CPU, which fit a core's cache; half as many keep a large model's states in it.
    cpu_batch: ClassVar[int] = 2048

    @property
    def batch_tokens(self) -> int:
        """Return the most tokens of a batch, padding included; more on a GPU, which would be idle otherwise."""
        return int(self.options.batch_tokens) or (self.cpu_batch if self.device == "cpu" else 32_768)

    @property
    def block_tokens(self) -> int:
        """Return the number of tokens of a block: enough to sort by length, and a small loss when a run is killed.

        It does not depend on the device, so that a plan is the same on all of them.
        """
        return 16 * (int(self.options.batch_tokens) or self.cpu_batch)

    def identity(self) -> dict[str, Any]:
        """Return the metric's identity, with `weights` (the files' fingerprint) for checkpoint, revision and dtype."""
        identity = super().identity()
        for name in ("checkpoint", "revision", "dtype"):  # the fingerprint and the option hold the same
            del identity[name]
        return {**identity, "weights": self.model_folder.fingerprint}

    def provenance(self) -> dict[str, str]:
        """Return the fields that describe the computation in a signature, by name: the checkpoint and its fingerprint,
        the number type, and the identity's other fields, such as the splitter, the layer, the labels' order.
        """
        identity = self.identity()
        name = self.place.absolute().name if self.place else self.wanted.hub_id
        fields = {"checkpoint": f"{name}@{identity['weights']}", "dtype": self.options.dtype}
        more = {
            key: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            for key, value in identity.items()
            if key not in _SHOWN_ELSEWHERE and value not in (None, "none")
        }
        return {**super().provenance(), **fields, **more}


class LoadedModelMetric(ModelMetric):
    """A metric on one model in memory, loaded before the first score."""

    @cached_property
    @abstractmethod
    def model(self) -> Any:
        """Return the model, loaded when first used."""

    def load(self, kind: Any, **arguments: Any) -> Any:
        """Return the checkpoint loaded.

        Parameters
        ----------
        kind : type
            A class of transformers.
        **arguments
            Of `model_loading.load_model`.

        Returns
        -------
        object
            The model, of that class.
        """
        return load_model(kind, self.model_folder, self.options.dtype, self.device, **arguments)

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model."""
        _ = self.model


_SHOWN_ELSEWHERE = frozenset({"name", "version", "options", "template", "weights", "origin"})  # in the signature
