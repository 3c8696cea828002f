"""The doctor: this machine, the known traps of what is installed, and what each metric needs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from metaeval.cache import cache_folder
from metaeval.experiment.manifest import installed
from metaeval.experiment.readiness import Readiness, judges_keys, registered
from metaeval.scoring.backends.models import free_memory
from metaeval.scoring.backends.sentences import find_splitter


class Trap(NamedTuple):
    """A package, the versions that have the trap (from, and below; None: no end), what happens, and what we do."""

    package: str
    since: tuple[int, ...]
    until: tuple[int, ...] | None
    what: str
    ours: str


class TrapHere(NamedTuple):
    """A trap of an installed package ('transformers 5.23.0'), and why no score of metaeval is touched by it."""

    package: str
    what: str
    metaeval: str


# Found by running each official code against several versions of its packages.
_KNOWN: Mapping[tuple[str, tuple[int, ...], tuple[int, ...] | None], Sequence[tuple[str, str]]] = {
    ("transformers", (5,), None): (
        (
            "ALBERT, XLNet and RemBERT tokenizers leave out the segment ids: official SummaC scores are wrong, unsaid",
            "segment ids are always asked for",
        ),
        (
            "encode(add_prefix_space=True) is ignored: bert-score on RoBERTa splits the first word otherwise",
            "the tokenizer is built with the space",
        ),
        (
            "ALBERT tokenizers lose the piece for white space at a text's end: SummaC on whole documents moves",
            "that piece is put back",
        ),
        (
            "models load in their file's number type, which can be half precision",
            "the type is always named; float32 unless the option dtype says otherwise",
        ),
        (
            "a tokenizer without a length limit fails when it cuts: bert-score on DeBERTa stops",
            "every limit is given by the metric",
        ),
        ("AdamW and batch_encode_plus are gone: official AlignScore and summac do not run", "none of that is called"),
        ("saving an untied T5 that was made from a configuration loses its output layer", "no model is ever saved"),
    ),
    ("transformers", (4, 52), (5,)): (
        ("official summac stops with a TypeError (truncation_strategy given twice)", "none of that is called"),
    ),
    ("transformers", (4, 51), (5,)): (
        ("AdamW is gone: official AlignScore does not import", "none of that is called"),
    ),
    ("transformers", (4, 57), (5,)): (
        (
            "a tokenizer without a length limit does not cut: bert-score on DeBERTa runs out of memory on long texts",
            "every limit is given by the metric",
        ),
    ),
    ("torch", (2, 6), None): (
        ("torch.load refuses what is not plain weights: older loaders stop", "only plain weights are ever read"),
    ),
    ("nltk", (3, 9), None): (
        (
            "sentences need the data 'punkt_tab'; the older 'punkt' no longer serves",
            "punkt_tab is looked for, and a rule-based splitter stands in; the signature says which ran",
        ),
    ),
    ("setuptools", (82,), None): (
        (
            "pkg_resources is gone: pytorch-lightning 1.x, and so official AlignScore, does not import",
            "no Lightning is needed",
        ),
    ),
    ("minicheck", (0,), None): (
        (
            "the package of this name on the package index is another project, not the metric MiniCheck",
            "it is never imported",
        ),
    ),
}
TRAPS = tuple(Trap(*where, *said) for where, known in _KNOWN.items() for said in known)


def traps_here(versions: Mapping[str, str]) -> Iterator[TrapHere]:
    """The traps that these installed versions have; `versions` maps a package to its version."""
    for trap in TRAPS:
        version = versions.get(trap.package)
        if version is None:
            continue
        number = tuple(map(int, re.findall(r"\d+", version)[:3]))
        if number >= trap.since and (trap.until is None or number < trap.until):
            yield TrapHere(f"{trap.package} {version}", trap.what, trap.ours)


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
    packages = {name: installed(name) for name in _PACKAGES}
    versions = {name: installed(name) for name in (*_PACKAGES, *_TRAPPED)}
    states, devices = registered(), _devices()
    room = max((device.free or 0 for device in devices), default=0)
    return Diagnosis(
        metaeval=version("metaeval"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        devices=devices,
        cores=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        caches={
            "metaeval": _cache(cache_folder(), "METAEVAL_CACHE", "METAEVAL_CACHE", "XDG_CACHE_HOME"),
            "hub": _hub_cache(),
        },
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


def _hub_cache() -> Folder:
    if find_spec("huggingface_hub") is None:
        return replace(
            _cache(Path("~/.cache/huggingface/hub").expanduser(), ""), because="huggingface-hub is not installed"
        )
    from huggingface_hub import constants

    return _cache(Path(constants.HF_HUB_CACHE), "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def _cache(path: Path, usual: str, *variables: str) -> Folder:
    """A cache folder; variables: those that may name it, in their order; usual: the one to set."""
    named = [name for name in variables if os.environ.get(name)]
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    because = f"by {named[0]}" if named else f"{usual} is not set"
    return Folder(str(path), because, shutil.disk_usage(there).free)
