"""Shared by the shipped metrics: on a checkpoint the options that find and place the model, and the identity; on cards
the fields that several have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model, is_cached
from metaeval.scoring.backends.models import DType
from metaeval.scoring.contract import Metric, MetricOptions

MODULES = ("torch", "transformers", "tokenizers", "safetensors")


def of_checkpoint(checkpoint: Checkpoint, **other: Any) -> dict[str, Any]:
    """The fields of a metric on a checkpoint, computed in fp32; `other` replaces some of them."""
    fields: dict[str, Any] = {
        "checkpoint": checkpoint.hub_id,
        "revision": checkpoint.revision,
        "dtype": "float32",
        "download": checkpoint.download,
        "modules": MODULES,
        "extra": "models",
    }
    return fields | other


def probability(half: str = "") -> dict[str, Any]:
    """A score from 0 to 1. half: the source of 0.5 as the threshold of support; empty if there is none."""
    supported = {"neutral": 0.5, "threshold": 0.5, "threshold_from": half} if half else {}
    return {"low": 0.0, "high": 1.0, **supported}


def calibrated(threshold: float) -> dict[str, Any]:
    """A threshold that was calibrated here, on a data set whose claims are labelled."""
    return {"threshold": threshold, "threshold_from": "calibrated on WiCE dev, full support"}


class ModelOptions(MetricOptions):
    """Options of every metric that reads a model."""

    runtime: ClassVar[frozenset[str]] = frozenset({"model", "revision", "folder", "device", "batch_tokens"})

    model: str | None = None
    """Model, by its id on the hub (default: the card's)."""
    revision: str | None = None
    """Revision of the model on the hub."""
    folder: Path | None = None
    """Local copy of the model's files; nothing is downloaded then."""
    dtype: DType = "float32"
    """Number type of the weights and of the computation."""
    device: str = "auto"
    """Device: auto, cpu, cuda, cuda:1 and so on."""
    batch_tokens: Annotated[int, Field(ge=0)] = 0
    """Most tokens of a batch (0: by device)."""


class ModelMetric(Metric):
    """A metric on one checkpoint. Its identity holds the fingerprint of the model's files, wherever they lie."""

    checkpoint: ClassVar[Checkpoint]
    Options = ModelOptions

    @cached_property
    def wanted(self) -> Checkpoint:
        """The checkpoint that the options ask for."""
        return self.checkpoint.at(self.options.model, self.options.revision)

    @cached_property
    def model_folder(self) -> ModelFolder:
        """The checkpoint's files on this machine, downloaded if needed; `UserError` if they are not available."""
        return find_model(self.wanted, self.options.folder)

    @property
    def lacking(self) -> str:
        """A description of what must be downloaded before the first score; empty if everything is on this machine.

        Raises `UserError` when the folder that the options name is not there or lacks files.
        """
        if self.options.folder is not None:
            find_model(self.wanted, self.options.folder)
        elif not is_cached(self.wanted):
            return self.card.download if self.wanted == self.checkpoint else self.wanted.download
        return self.lacking_besides

    @property
    def lacking_besides(self) -> str:
        """A description of files from a second origin that must be downloaded besides the checkpoint; empty if none."""
        return ""

    @cached_property
    def device(self) -> str:
        """The device in torch's words."""
        from metaeval.scoring.backends.models import pick_device

        return pick_device(self.options.device)

    # Tokens of a batch on the CPU, which fit a core's cache; half as many keep a large model's states in it.
    cpu_batch: ClassVar[int] = 2048

    @property
    def batch_tokens(self) -> int:
        """Tokens of a batch: a GPU needs more to be busy."""
        return int(self.options.batch_tokens) or (self.cpu_batch if self.device == "cpu" else 32_768)

    @property
    def block_tokens(self) -> int:
        """Blocks of 16 batches of a CPU: enough to sort by length, little enough to lose when a run is killed.

        The device is not asked: a plan is the same on all, and in a process that has none.
        """
        return 16 * (int(self.options.batch_tokens) or self.cpu_batch)

    def identity(self) -> dict[str, Any]:
        """The metric's identity with `weights`, the fingerprint of the model's files."""
        identity = super().identity()
        for name in ("checkpoint", "revision", "dtype"):  # the fingerprint and the option say it
            del identity[name]
        return {**identity, "weights": self.model_folder.fingerprint}

    def provenance(self) -> dict[str, str]:
        """The signature's fields, with the checkpoint's bytes, the number type in force and whatever else the identity
        holds beside name, version and options: the splitter that ran, the layer, the labels' order.
        """
        identity, folder = self.identity(), self.options.folder
        name = folder.name if folder and self.options.model is None else self.wanted.hub_id
        fields = {"checkpoint": f"{name}@{identity['weights']}", "dtype": self.options.dtype}
        more = {
            key: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            for key, value in identity.items()
            if key not in _SAID and value not in (None, "none")
        }
        return {**super().provenance(), **fields, **more}


class LoadedModelMetric(ModelMetric):
    """A metric on one model in memory, loaded before the first score."""

    @cached_property
    @abstractmethod
    def model(self) -> Any:
        """The model, loaded when first asked for."""

    def prepare(self, sources: Sequence[str], statements: Sequence[str]) -> None:
        """Load the model."""
        _ = self.model


_SAID = frozenset({"name", "version", "options", "template", "weights", "origin"})  # elsewhere in a signature
