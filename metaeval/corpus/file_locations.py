"""Where published files are found: a local mirror, the cache, or their origin; always checked, never changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from metaeval.cache import cache_folder
from metaeval.corpus.dataset import Dataset, SourceFile
from metaeval.corpus.download import download
from metaeval.errors import UserError, unknown
from metaeval.files import sha256_file

Status = Literal["ok", "missing", "differs", "unpinned"]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One published file as found. `unpinned`: it is there, and the card knows no checksum to hold it against."""

    file: SourceFile
    status: Status
    path: Path


def locate(
    dataset: Dataset, split: str, data: Path | None, cache: Path | None = None, fetch: bool = True
) -> dict[str, Path]:
    """The local path of each file of a split, by its name.

    With `data`, a folder: `data/<dataset.folder>/<name>`, else `data/<name>`; nothing is fetched. Without: the cache
    (`cache`, else METAEVAL_CACHE, else the user's cache folder), where missing files are fetched when `fetch` is
    true. Every pinned file is checked against its SHA-256 each time.

    Raises `UserError` for an unknown split, and for a file that is missing, differs from its checksum or cannot be
    fetched; the message names the file, its URL, its checksum and the place to put it.
    """
    if split not in dataset.files:
        raise unknown(f"split of {dataset.name}", split, dataset.files)
    if data is not None:
        return {file.name: _in_mirror(dataset, file, data) for file in dataset.files[split]}
    return {file.name: _in_cache(dataset, file, cache or cache_folder(), fetch) for file in dataset.files[split]}


def verify(dataset: Dataset, data: Path | None, cache: Path | None = None) -> list[FileStatus]:
    """The state of every file of every split, each once; nothing is fetched and a difference is no error."""
    rows = []
    for file in dict.fromkeys(file for files in dataset.files.values() for file in files):
        if data is not None:
            path = next((path for path in _places(dataset, file, data) if path.is_file()), data / file.name)
        else:
            path = _cache_path(dataset, file, cache or cache_folder())
        rows.append(FileStatus(file, _status(file, path), path))
    return rows


def _places(dataset: Dataset, file: SourceFile, data: Path) -> Iterator[Path]:
    yield data / dataset.folder / file.name
    yield data / file.name


def _cache_path(dataset: Dataset, file: SourceFile, cache: Path) -> Path:
    return cache / dataset.folder / dataset.commit / file.name


def _status(file: SourceFile, path: Path) -> Status:
    if not path.is_file():
        return "missing"
    if not file.sha256:
        return "unpinned"
    try:
        return "ok" if sha256_file(path) == file.sha256 else "differs"
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error


def _in_mirror(dataset: Dataset, file: SourceFile, data: Path) -> Path:
    if not data.is_dir():
        what = "is a file" if data.is_file() else "does not exist"
        raise UserError(f"data={data} {what}; {dataset.name} reads {file.name} from a folder: data=FOLDER.")
    places = list(_places(dataset, file, data))
    path = next((path for path in places if path.is_file()), None)
    if path is None:
        raise UserError(
            f"data={data} holds neither {places[0].relative_to(data)} nor {file.name}. Put {_origin(file)} there, "
            "or leave data=FOLDER out to have it fetched."
        )
    if _status(file, path) == "differs":
        raise UserError(
            f"{path} has SHA-256 {sha256_file(path)}, but the {dataset.name} card pins {file.sha256}: published files "
            f"are read unchanged. Replace it by {file.url}, or leave data=FOLDER out to have it fetched."
        )
    return path


def _in_cache(dataset: Dataset, file: SourceFile, cache: Path, fetch: bool) -> Path:
    path = _cache_path(dataset, file, cache)
    status = _status(file, path)
    if status in ("ok", "unpinned"):
        return path
    by_hand = f"Or put {_origin(file)} at {path}, or into a folder of your own and pass data=FOLDER."
    if not fetch:
        why = "is not in the cache" if status == "missing" else "differs from its checksum in the cache"
        raise UserError(f"{dataset.name}: {file.name} {why}. Allow it to be fetched. {by_hand}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"Cannot make the cache folder {path.parent}: {error.strerror or error}. "
            "Set METAEVAL_CACHE to a folder that can be written, or pass data=FOLDER with the files in it."
        ) from error
    # A file that differs in the cache is ours, cut short or damaged: it is fetched again.
    download(file, path, label=f"{dataset.name}/{file.name}", by_hand=by_hand)
    return path


def _origin(file: SourceFile) -> str:
    return f"{file.url} (SHA-256 {file.sha256})" if file.sha256 else f"{file.url} (no checksum pinned)"
