"""What each metric needs before it can score on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from metaeval.core import registry
from metaeval.core.config_files import TRUST, UntrustedError, metric_variant, variants
from metaeval.core.errors import UserError
from metaeval.runs.loaded_metrics import load_metric
from metaeval.scoring.backends import minilm
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.contract import Metric, MetricCard


class ReadinessState(StrEnum):
    """The state of a metric: ready, or what it needs before it can score."""

    READY = "ready"
    PACKAGE = "needs package"
    DOWNLOAD = "needs download"
    KEY = "needs key"
    TRUST = "needs trust"
    BROKEN = "broken"


@dataclass(frozen=True)
class Readiness:
    """The state of a metric. card: None if it cannot be read. detail: what the metric needs, or why it is broken."""

    name: str
    card: MetricCard | None
    state: ReadinessState
    detail: str = ""

    def __str__(self) -> str:
        if self.state in (ReadinessState.READY, ReadinessState.BROKEN):
            return str(self.state)
        # Of a download only the size is shown; the licence is on the metric's card.
        return f"{self.state}: {self.detail.split(', ')[0] if self.state is ReadinessState.DOWNLOAD else self.detail}"


def registered_states() -> list[Readiness]:
    """Return the state of every registered metric with default options, without importing torch or downloading."""
    return [_of_name(name, name) for name in registry.names("metric")]


def variant_states() -> list[tuple[str, str, Readiness]]:
    """Return every variant of a metric: its name, its description, and its state with the variant's options."""
    read = {name: metric_variant(path) for name, path in variants("metrics").items()}
    return [
        (name, f"{variant.metric}: {variant.note}", _of_name(name, variant.metric)) for name, variant in read.items()
    ]


def readiness(name: str, metric: Metric) -> Readiness:
    """Return the state of a metric; raises `UserError` if a folder that its options name is missing or incomplete."""
    card = metric.card
    if missing := card.missing:
        detail = f"extra {card.extra!r}" if card.extra else ", ".join(missing)
        return Readiness(name, card, ReadinessState.PACKAGE, detail)
    if key := _missing_key(metric.options):
        return Readiness(name, card, ReadinessState.KEY, key)
    if download := _download_of(metric):
        return Readiness(name, card, ReadinessState.DOWNLOAD, download)
    return Readiness(name, card, ReadinessState.READY)


def _of_name(name: str, registered_as: str) -> Readiness:
    """Return the state of a metric or a variant of `registered_as`; an error in loading it is a state too."""
    kind: Any = None
    try:
        kind = registry.find("metric", registered_as) if registered_as in registry.names("metric") else None
        return readiness(name, load_metric(name, None))
    except UntrustedError:
        return Readiness(name, None, ReadinessState.TRUST, f"--set {TRUST}")
    except UserError as error:
        card = getattr(kind, "card", None)
        return Readiness(name, card if isinstance(card, MetricCard) else None, ReadinessState.BROKEN, str(error))


def _missing_key(options: Any) -> str:
    """Return the environment variable of a judge's API key if it is needed and unset; otherwise an empty text."""
    variable = getattr(options, "api_key_env", "")
    defaults = {name: field.default for name, field in type(options).model_fields.items()}
    asks_default = getattr(options, "base_url", "") == defaults.get("base_url")
    needed = variable and (asks_default or variable != defaults["api_key_env"])
    return str(variable) if needed and not os.environ.get(variable, "").strip() else ""


def _download_of(metric: Metric) -> str:
    """Return, as text, what the metric would download before it can score; "" for nothing."""
    card = metric.card
    if isinstance(metric, ModelMetric):
        return metric.lacking
    if card.download in ("", "none"):
        return ""
    if card.checkpoint == minilm.FILES.hub_id:
        return "" if minilm.is_here(minilm.FILES) else card.download
    if "/" not in card.checkpoint:  # a plug-in that finds its files by itself
        return ""
    try:
        find_model(Checkpoint(card.checkpoint, card.download, card.revision or "main"), fetch=False)
    except UserError:
        return card.download
    return ""
