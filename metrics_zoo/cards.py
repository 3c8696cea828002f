"""Parts of a metric's card that several metrics share."""

from __future__ import annotations

from typing import Any

from metaeval.scoring.backends.checkpoint import Checkpoint

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
