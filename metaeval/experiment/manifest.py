"""The manifest: what stands beside result files and not in them (when, where, versions, hashes), and its check."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.columns import FILE_PREFIX
from metaeval.files import sha256_file, write_text
from metaeval.reading import read_object
from metaeval.report.result import Data
from metaeval.scoring.scorefile import manifest_path

NAME = "manifest.json"
_VERSIONED = (
    *("metaeval", "numpy", "scipy", "numba", "pyarrow", "bm25s", "rouge-score", "matplotlib"),
    *("torch", "transformers", "tokenizers"),
)


class Kept(StrEnum):
    """What a manifest says of a file beside it."""

    SAME = "the file is as it was written"
    CHANGED = "the file has changed since it was written"
    UNLISTED = "the manifest beside the file does not list it"
    GONE = "the file is gone"
    UNREADABLE = "the manifest beside the file cannot be read: whether it was changed since cannot be told"
    NO_MANIFEST = "no manifest stands beside the file: whether it was changed since cannot be told"


def manifest(config: RunConfig, command: str, data: Iterable[Data], written: Sequence[Path]) -> dict[str, Any]:
    """What made these files, as JSON: settings, time, machine, versions, and the SHA-256 of all that went in and out.

    command: as it is typed behind `metaeval`. files: each written file's hash, by its name in its folder. scores: that
    of every score file read, and of its own manifest, by path. data: the content hash of what was judged. Result files
    hold none of this but the last.
    """
    named = [Path(name.removeprefix(FILE_PREFIX)) for name in config.metrics if name.startswith(FILE_PREFIX)]
    read = [(file, manifest_path(file)) for file in named]
    return {
        "command": command,
        "config": config.model_dump(mode="json"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: found for name in _VERSIONED if (found := installed(name))},
        "data": {f"{one.name}/{one.split}": one.fingerprint for one in data},
        "scores": {str(path): sha256_file(path) for file in read for path in file if path.is_file()},
        "files": {path.name: sha256_file(path) for path in written},
    }


def write_manifests(
    config: RunConfig,
    command: str,
    data: Iterable[Data],
    written: Sequence[Path],
    read: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a manifest into each folder of the written files; the paths. read: what it says besides of what was read.

    Files that an earlier run left in the folder stay listed, under `earlier`: their settings were others.
    """
    paths, judged = [], list(data)
    for folder in dict.fromkeys(path.parent for path in written):
        own = [path for path in written if path.parent == folder]
        made = {**manifest(config, command, judged, own), **(read or {})}
        made["earlier"] = {
            name: found
            for name, found in listed_files(read_manifest(folder)).items()
            if name not in made["files"] and (folder / name).is_file()
        }
        write_text(folder / NAME, json.dumps(made, indent=1, sort_keys=True) + "\n")
        paths.append(folder / NAME)
    return paths


def check(path: Path) -> Kept:
    """Hold a written file against the manifest beside it."""
    found = read_manifest(path.parent)
    if not found:
        return Kept.UNREADABLE if os.path.lexists(path.parent / NAME) else Kept.NO_MANIFEST
    known = listed_files(found).get(path.name)
    if known is None:
        return Kept.UNLISTED
    return Kept.SAME if sha256_file(path) == known else Kept.CHANGED


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """A folder's manifest, empty where there is none that can be read: a broken one must not stop the next run."""
    try:
        return read_object(folder / NAME)
    except UserError:
        return {}


def settings_of(folder: Path) -> dict[str, Any]:
    """The settings of the run that a folder's manifest describes, empty where it cannot be read."""
    found = read_manifest(folder).get("config")
    settings = dict(found) if isinstance(found, dict) else {}
    if "evidence_threshold" in settings:  # of earlier versions, which had one rule for evidence
        settings["evidence"] = {"rule": "touched"}
    return settings


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files' hashes by name, those of earlier runs too; a path to another folder is none of a job's files."""
    listed = [manifest.get(key) for key in ("earlier", "files")]
    named = [pair for found in listed if isinstance(found, dict) for pair in found.items()]
    return {name: str(value) for name, value in named if Path(name).name == name}


def installed(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
