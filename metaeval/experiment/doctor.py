"""The doctor: this machine, what is installed, and for each metric what it needs and whether it would fit."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from metaeval.cache import cache_folder
from metaeval.experiment.readiness import Readiness, judges_keys, registered
from metaeval.experiment.version_issues import TrapHere, traps_here
from metaeval.scoring.backends.models import free_memory
from metaeval.scoring.backends.sentences import find_splitter

_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "huggingface-hub", "nltk", "openai")
_TRAPPED = ("setuptools", "minicheck")
_UNITS = {"T": 1e12, "B": 1e9, "M": 1e6}


@dataclass(frozen=True)
class Device:
    """A device that models can run on; bytes are None where the system does not tell."""

    name: str
    what: str
    free: int | None
    total: int | None


@dataclass(frozen=True)
class Folder:
    """A cache folder: where, why there, and the free bytes of its disk."""

    path: str
    because: str
    free: int


@dataclass(frozen=True)
class MetricCheck:
    """A metric's state; bytes of its model in float32 (None: no model, or not known), and whether they fit here."""

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
    """Everything that the doctor saw."""

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


def examine() -> Diagnosis:
    """Look at the machine and every registered metric. Downloads nothing; torch is imported to see its devices."""
    packages = {name: _version(name) for name in _PACKAGES}
    versions = {name: _version(name) for name in (*_PACKAGES, *_TRAPPED)}
    states, devices = registered(), _devices()
    room = max((device.free or 0 for device in devices), default=0)
    return Diagnosis(
        metaeval=version("metaeval"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        devices=devices,
        cores=_cores(),
        caches={"metaeval": _own_cache(), "hub": _hub_cache()},
        splitter=find_splitter("auto").name,
        keys={name: bool(os.environ.get(name, "").strip()) for name in judges_keys()},
        metrics=[_check(state, room) for state in states],
        traps=list(traps_here({name: found for name, found in versions.items() if found})),
    )


def model_bytes(parameters: str) -> int | None:
    """Bytes in float32 of a count in a card's words ('110 M', '11.3 B'); None where there is no such count."""
    found = re.search(r"(\d+(?:\.\d+)?)\s*([TBM])\b", parameters)
    return int(float(found[1]) * _UNITS[found[2]] * 4) if found else None


def _check(state: Readiness, room: int) -> MetricCheck:
    card = state.card
    if card is None:
        return MetricCheck(state.name, state.state, state.detail, "", "", "", None, None)
    size = model_bytes(card.parameters)
    fits = size < room if size and room else None
    return MetricCheck(state.name, state.state, state.detail, card.download, card.licence, card.parameters, size, fits)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _devices() -> list[Device]:
    total = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    devices = [Device("cpu", platform.machine(), free_memory("cpu"), total)]
    if find_spec("torch") is None:
        return devices
    try:
        import torch
    except (ImportError, OSError) as error:  # half installed: one of its libraries is missing
        return [*devices, Device("torch", f"cannot be imported: {error}", None, None)]
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        free, whole = torch.cuda.mem_get_info(number)
        devices.append(Device(f"cuda:{number}", torch.cuda.get_device_name(number), free, whole))
    return devices


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _own_cache() -> Folder:
    named = [name for name in ("METAEVAL_CACHE", "XDG_CACHE_HOME") if os.environ.get(name)]
    return _folder(cache_folder(), f"by {named[0]}" if named else "METAEVAL_CACHE is not set")


def _hub_cache() -> Folder:
    if find_spec("huggingface_hub") is None:
        return _folder(Path("~/.cache/huggingface/hub").expanduser(), "huggingface-hub is not installed")
    from huggingface_hub import constants

    named = [name for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME") if os.environ.get(name)]
    return _folder(Path(constants.HF_HUB_CACHE), f"by {named[0]}" if named else "HF_HOME is not set")


def _folder(path: Path, because: str) -> Folder:
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    return Folder(str(path), because, shutil.disk_usage(there).free)
