"""The doctor: what each metric needs before it can score here, the machine, and known problems of its packages."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metaeval import registry
from metaeval.config_files import UntrustedError, variants
from metaeval.errors import UserError
from metaeval.files import cache_folder
from metaeval.runs.job_folder import installed
from metaeval.runs.loaded_metrics import load_metric
from metaeval.scoring.backends import minilm
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model
from metaeval.scoring.backends.model_loading import Device, devices, model_bytes
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.backends.sentence_splitting import find_splitter
from metaeval.scoring.backends.version_traps import TrapHere, traps_here
from metaeval.scoring.contract import Metric, MetricCard
from metaeval.yaml_variants import metric_variant


class ReadinessState(StrEnum):
    """The state of a metric: ready, or what it needs before it can score."""

    READY = "ready"
    PACKAGE = "needs package"
    DOWNLOAD = "needs download"
    KEY = "needs key"
    NAME = "needs a name"
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


def judges_keys() -> list[str]:
    """Return the environment variables from which registered chat-model judges read API keys by default, sorted."""
    variables = set()
    for name in registry.names("metric"):
        try:
            options = registry.find("metric", name).Options
        except (UserError, AttributeError):
            continue
        if field := options.model_fields.get("api_key_env"):
            variables.add(str(field.default))
    return sorted(variables)


def readiness(name: str, metric: Metric) -> Readiness:
    """Return the state of a metric; raises `UserError` if a folder that its options name is missing or incomplete."""
    card = metric.card
    if missing := [module for module in card.modules if find_spec(module) is None]:
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
        return Readiness(name, None, ReadinessState.TRUST, "--trust-config")
    except UserError as error:
        card = getattr(kind, "card", None)
        # A metric that needs an argument is not broken.
        if isinstance(card, MetricCard) and card.argument:
            return Readiness(name, card, ReadinessState.NAME, f"{name}:{card.argument.upper()}")
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
    if card.download in ("", "none") or getattr(metric.options, "folder", None) is not None:
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


_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "huggingface-hub", "nltk", "aiohttp")
_TRAPPED = ("setuptools", "minicheck")


@dataclass(frozen=True)
class Folder:
    """A cache folder. because: why this folder is used. free: free bytes of its disk."""

    path: str
    because: str
    free: int


@dataclass(frozen=True)
class MetricCheck:
    """A metric's state. model_bytes: of its model in float32. fits: whether a device has as many. None: unknown."""

    name: str
    state: str
    detail: str
    download: str
    licence: str
    parameters: str
    model_bytes: int | None
    fits: bool | None


@dataclass(frozen=True)
class Diagnosis:
    """The report of `metrics doctor`: the machine, every metric's state, and package faults (`traps`) present here."""

    metaeval: str
    python: str
    system: str
    packages: Mapping[str, str | None]
    devices: list[Device]
    cores: int
    caches: Mapping[str, Folder]
    splitter: str
    keys: Mapping[str, bool]
    metrics: list[MetricCheck]
    traps: list[TrapHere]

    def __repr__(self) -> str:
        ready = sum(metric.state == ReadinessState.READY for metric in self.metrics)
        counted = f"{ready} of {len(self.metrics)} metrics ready"
        return f"<Diagnosis: metaeval {self.metaeval} on Python {self.python}, {counted}>"


def examine() -> Diagnosis:
    """Return what the doctor reports of the machine and every registered metric.

    Nothing is downloaded; torch is imported to list devices.
    """
    packages = {name: installed(name) for name in _PACKAGES}
    versions = {name: installed(name) for name in (*_PACKAGES, *_TRAPPED)}
    states, machine = registered_states(), devices()
    room = max((device.free or 0 for device in machine), default=0)
    return Diagnosis(
        metaeval=version("metaeval"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        devices=machine,
        cores=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        caches={
            "metaeval": _cache(cache_folder(), "METAEVAL_CACHE", "METAEVAL_CACHE", "XDG_CACHE_HOME"),
            "hub": _hub_cache(),
        },
        splitter=find_splitter("auto").name,
        keys={name: bool(os.environ.get(name, "").strip()) for name in judges_keys()},
        metrics=[_check(state, room) for state in states],
        traps=list(traps_here({name: number for name, number in versions.items() if number})),
    )


def _check(state: Readiness, room: int) -> MetricCheck:
    card = state.card
    if card is None:
        return MetricCheck(state.name, state.state, state.detail, "", "", "", None, None)
    size = model_bytes(card.parameters)
    fits = size < room if size and room else None
    return MetricCheck(state.name, state.state, state.detail, card.download, card.licence, card.parameters, size, fits)


def _hub_cache() -> Folder:
    if find_spec("huggingface_hub") is None:
        cache = _cache(Path(os.path.expanduser("~/.cache/huggingface/hub")), "")
        return replace(cache, because="huggingface-hub is not installed")
    from huggingface_hub import constants

    return _cache(Path(constants.HF_HUB_CACHE), "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def _cache(path: Path, usual: str, *variables: str) -> Folder:
    """Return a cache folder, the reason for its path, and the free bytes of its disk.

    usual: the environment variable that users set to move the folder. variables: all that may name it, by precedence.
    """
    named = [name for name in variables if os.environ.get(name)]
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    because = f"by {named[0]}" if named else f"{usual} is not set"
    return Folder(str(path), because, shutil.disk_usage(there).free)
