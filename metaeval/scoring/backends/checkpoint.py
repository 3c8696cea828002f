"""Checkpoints: find them in a folder or the Hugging Face hub's cache, download them if need be, and hash their bytes.

A single published file (`fetch_file`) is downloaded into metaeval's cache once, and identified by its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from metaeval.core.errors import NoModelError, UserError, shown
from metaeval.core.files import cache_folder, marks_of, sha256_file, sha256_json, write_text
from metaeval.core.parsing import read_object
from metaeval.corpus.dataset import SourceFile
from metaeval.corpus.loading import download

_WEIGHTS = (".safetensors", ".bin", ".ckpt", ".pt", ".pth")
_TEXTS = (".json", ".txt", ".model", ".jinja")
_OTHER_FRAMEWORKS = re.compile(r"(^|/)(flax_|tf_|rust_|onnx|openvino|coreml|training_args|optimizer|scheduler|README)")
_LISTED = 8
_SHA256 = re.compile(r"[0-9a-f]{64}")
_log = logging.getLogger("metaeval")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A published model: hub id and revision; download: its size and licence, as text.

    files: names of the files to read; empty for those of a transformers folder (configuration, tokenizer, and one copy
    of the weights, safetensors before pickle). also: patterns (as in `fnmatch`) of more files, read where they exist.
    """

    hub_id: str
    download: str
    revision: str = "main"
    files: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def at(self, hub_id: str | None, revision: str | None) -> Checkpoint:
        """Return the checkpoint with another hub id or revision; None keeps it, but another id has revision "main"."""
        if hub_id in (None, self.hub_id):
            return replace(self, revision=revision or self.revision)
        return Checkpoint(
            str(hub_id), "size and licence: see its page on the hub", revision or "main", self.files, self.also
        )


@dataclass(frozen=True)
class ModelFolder:
    """A checkpoint on this machine: its folder, and the names of the files to read."""

    folder: Path
    files: tuple[str, ...]

    @cached_property
    def fingerprint(self) -> str:
        """Return `sha256:` and 16 hex digits of the hash over the names and bytes of all `files`."""
        return f"sha256:{sha256_json({name: _sha256(self.folder / name) for name in self.files})[:16]}"

    @property
    def weights(self) -> tuple[Path, ...]:
        """Return the paths of the files that hold weights."""
        return tuple(self.folder / name for name in self.files if name.endswith(_WEIGHTS))

    @property
    def size(self) -> int:
        """Return the number of bytes of the weights."""
        return sum(path.stat().st_size for path in self.weights)


def find_model(checkpoint: Checkpoint, place: Path | None = None, fetch: bool = True) -> ModelFolder:
    """Find the checkpoint at `place`, a folder or its one file; without it in the hub's cache, else download it.

    Raises `UserError` when files are missing, and when the hub does not know the id or cannot be reached.
    """
    if place is not None and place.is_dir():
        return _complete(checkpoint, place)
    if place is not None and place.is_file() and len(checkpoint.files) == 1:
        return ModelFolder(place.parent, (place.name,))
    if place is not None and place.is_file():
        raise UserError(f"{place} is a file, and this metric reads a folder: name {place.parent}, with config.json.")
    if place is not None:
        parent = next(folder for folder in (*place.parents, Path()) if folder.is_dir())
        raise UserError(f"There is no model {place}, and {_content(parent)}: name a folder or a hub name.")
    if (cached := _cached(checkpoint)) is not None:
        return cached
    if not fetch:
        raise UserError(f"The model {checkpoint.hub_id} ({checkpoint.download}) is not on this machine.")
    return _download(checkpoint)


def is_cached(checkpoint: Checkpoint) -> bool:
    """Return whether the hub's cache holds the checkpoint, so that nothing has to be downloaded."""
    return _cached(checkpoint) is not None


def _complete(checkpoint: Checkpoint, folder: Path) -> ModelFolder:
    inside = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))]
    files = checkpoint.files or _choose(inside, checkpoint.also)
    missing = [name for name in files if not (folder / name).is_file()]
    if not checkpoint.files:
        missing += _unmet(folder, files)
    if missing:
        raise UserError(f"The folder {folder} lacks {', '.join(missing)}, which the metric reads: {_content(folder)}.")
    return ModelFolder(folder, tuple(files))


def _content(folder: Path) -> str:
    """Return what a folder holds, as the end of a message."""
    names = sorted(path.name for path in folder.glob("*") if not path.name.startswith("."))
    listed = ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if names[_LISTED:] else "")
    return f"the folder {folder} holds {listed or 'nothing'}"


def _unmet(folder: Path, files: tuple[str, ...]) -> list[str]:
    """Return what a transformers folder lacks: config.json, weights, or files of weights that its index names.

    files: names of the files in it that would be read. Raises `UserError` for an index without names.
    """
    missing = [] if "config.json" in files else ["config.json"]
    if not any(name.endswith(_WEIGHTS) for name in files):
        missing.append("its weights (model.safetensors or pytorch_model.bin)")
    for name in files:
        if name.endswith(".index.json"):
            named = read_object(folder / name).get("weight_map")
            if not isinstance(named, dict):
                raise UserError(f"{folder / name} names no files of weights: fetch the whole model again.")
            # A shard must be one of this folder's hashed files, not a path to another folder.
            missing += sorted({str(shard) for shard in named.values()} - set(files))
    return missing


def _choose(names: list[str], also: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return which of a transformers folder's files are read: top level, weights in one format, and those of `also`.

    Names that lead out of the folder, which a hub could list, are left out.
    """
    names = [name for name in names if not {"..", ""} & {*re.split(r"[/\\]", name)}]
    here = [name for name in names if "/" not in name and not _OTHER_FRAMEWORKS.search(name)]
    weights = [name for name in here if name.endswith(_WEIGHTS)]
    safe = [name for name in weights if name.endswith(".safetensors")]
    chosen = safe or [name for name in weights if name.endswith(".bin")]
    other_index = ".bin.index.json" if safe else ".safetensors.index.json"
    texts = [name for name in here if name.endswith(_TEXTS) and not name.endswith(other_index)]
    more = [name for name in names if any(fnmatch(name, pattern) for pattern in also)]
    return tuple(sorted({*chosen, *texts, *more}))


def _cached(checkpoint: Checkpoint) -> ModelFolder | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    # Not snapshot_download(local_files_only=True): it refuses a snapshot that lacks files which nothing here reads.
    name = (checkpoint.files or ("config.json",))[0]
    try:
        config_path = try_to_load_from_cache(checkpoint.hub_id, name, revision=checkpoint.revision)
    except HFValidationError as error:
        raise UserError(
            f"{checkpoint.hub_id!r} is not a model's id: give an id as the Hugging Face hub has it, ORGANISATION/NAME."
        ) from error
    if not isinstance(config_path, str):
        return None
    folder = Path(config_path.removesuffix(name))
    try:
        return _complete(checkpoint, folder)
    except UserError:
        return None


def _download(checkpoint: Checkpoint) -> ModelFolder:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HTTPError, RepositoryNotFoundError, RevisionNotFoundError  # type: ignore[attr-defined]  # HTTPError: the hub client's own library's

    name = checkpoint.hub_id
    try:
        listed = HfApi().model_info(name, revision=checkpoint.revision).siblings or []
        wanted = list(checkpoint.files or _choose([file.rfilename for file in listed], checkpoint.also))
        _log.warning("Downloading %s (%s) from the hub.", name, checkpoint.download)
        folder = snapshot_download(name, revision=checkpoint.revision, allow_patterns=wanted)
    except GatedRepoError as error:
        raise UserError(f"The model {name} is gated: accept its terms, then type 'hf auth login'.") from error
    except RepositoryNotFoundError as error:
        raise UserError(f"The hub has no public model {name!r}: check the id, or type 'hf auth login'.") from error
    except RevisionNotFoundError as error:
        raise UserError(f"The model {name} has no revision {checkpoint.revision!r}: leave 'revision' out.") from error
    except (HTTPError, OSError) as error:
        raise NoModelError(name, checkpoint.download, type(error).__name__) from error
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"The hub sent unusable data on {name} ({shown(str(error), 120)}): try again.") from error
    return _complete(checkpoint, Path(folder))


def forget_hashes() -> None:
    """Delete the stored hashes of files of weights; each hash is recomputed when it is next needed."""
    _hashes_path().unlink(missing_ok=True)


def _hashes_path() -> Path:
    return cache_folder() / "weights.json"


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a file; that of weights is stored (45 GB take minutes) with marks of the file's state.

    Size and time of change are not enough: a copying tool can set both. The inode's time cannot be set, but is coarse
    or missing on some file systems, so a part of the content is compared as well.
    """
    real = path.resolve()
    if not path.name.endswith(_WEIGHTS):
        return sha256_file(real)
    size, *marks = marks_of(real)
    seen = [size, *marks, _sample(real, size)]
    known: dict[str, Any] = {}
    with suppress(UserError, KeyError, TypeError, AttributeError):  # no hash is stored
        known = read_object(_hashes_path())
        remembered = known[str(real)]
        if remembered["seen"] == seen and _SHA256.fullmatch(remembered["sha256"]):
            return str(remembered["sha256"])
    sha256 = sha256_file(real)
    with suppress(UserError):  # another process may have added others meanwhile
        known = read_object(_hashes_path())
    kept = {name: note for name, note in known.items() if isinstance(note, dict)}
    more = {**kept, str(real): {"seen": seen, "sha256": sha256}}
    with suppress(UserError):  # a cache that cannot be written
        write_text(_hashes_path(), json.dumps(more, indent=1, sort_keys=True), update=True)
    return sha256


def _sample(path: Path, size: int) -> str:
    """Return a hash of the first, the middle and the last 64 KiB of a file. size: of the file, in bytes."""
    digest, part = hashlib.sha256(), 1 << 16
    with path.open("rb") as file:
        for start in (0, size // 2 - part // 2, size - part):
            file.seek(max(start, 0))
            digest.update(file.read(part))
    return digest.hexdigest()[:32]


def fetch_file(url: str, sha256: str, size: int, by_hand: str) -> Path:
    """Return the path in the cache of the file at `url`, which is downloaded unless a file with this hash is there.

    sha256: 64 hex digits. size: in bytes. by_hand: the advice at the end of an error. Raises `UserError` when `url`
    cannot be reached or sends other bytes.
    """
    path = _place(url, sha256)
    if not path.is_file() or sha256_file(path) != sha256:
        download(SourceFile(path.name, url, sha256, size), path, path.name, by_hand)
    return path


def file_is_here(url: str, sha256: str) -> bool:
    """Return whether the cache has a file where `fetch_file` would look first; its content is not checked."""
    return _place(url, sha256).is_file()


def _place(url: str, sha256: str) -> Path:
    return cache_folder() / "files" / sha256[:16] / url.rpartition("/")[2]
