"""Load a data set from its card and the user's settings: split, options and files are checked here, once.

Published files are found in a local mirror or the cache, or fetched from their origin: streamed, hashed, and only then
given their names. They are always checked and never changed.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from metaeval.core.errors import Shown, UserError, count, unknown
from metaeval.core.files import MOST_BYTES, atomic_write, cache_folder, sha256_file, write_text
from metaeval.corpus.dataset import Dataset, SourceFile
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings


def load_dataset(
    dataset: Dataset, split: str | None = None, data: Path | None = None, options: Mapping[str, str] | None = None
) -> Corpus | Ratings:
    """Load a split (None: the card's default).

    `options` are given as text. `data` is a folder with the published files. For a split that the card lists no files
    for, `data` is the user's own file and reaches the loader as `paths["corpus"]`.

    Raises `UserError` for an unknown split, option or option value (with the nearest known one), for a file that
    cannot be found or downloaded, and for content that does not fit the card's schema.
    """
    chosen = dataset.default_split if split is None else split
    values = check_options(dataset, options or {})
    if dataset.files_of(chosen):
        paths = locate(dataset, chosen, data)
    else:
        paths = {} if data is None or data.is_dir() else {"corpus": data}
    loaded = dataset.load(chosen, paths, values)
    return replace(loaded, demo=True) if dataset.demo and isinstance(loaded, Corpus) else loaded


def check_options(dataset: Dataset, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return every option of the card with its value. chosen: texts by option; others have their default.

    Raises `UserError` for an option that the card does not know, or a value that it does not allow.
    """
    values = {name: option.default for name, option in dataset.options.items()}
    for name, text in chosen.items():
        if name not in dataset.options:
            raise unknown(f"option of {dataset.name}", name, dataset.options)
        allowed = {str(value): value for value in dataset.options[name].allowed}
        if allowed and text not in allowed:
            raise unknown(f"value of {dataset.name}'s option {name}:", text, allowed)
        values[name] = allowed.get(text, text)
    return values


_DOWNLOAD = "leave data=FOLDER out to have the file downloaded"

FileState = Literal["ok", "missing", "differs", "unpinned"]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The state of one published file. path: where it is, or would be. unpinned: it exists, its checksum is unknown."""

    file: SourceFile
    status: FileState
    path: Path


def locate(dataset: Dataset, split: str, data: Path | None) -> dict[str, Path]:
    """Return the local path of each file of a split, by its name.

    With `data`, a folder: `data/<dataset.folder>/<name>`, else `data/<name>`; nothing is fetched. Without: the cache,
    into which missing files, and those that differ from their checksum, are fetched. Every file is checked each time
    against its SHA-256, the pinned one or that of its first download.

    Raises `UserError` for an unknown split, for a file in `data` that is missing or differs, and for one that cannot be
    fetched; the message names the file, its URL, its checksum and the place to put it.
    """
    return {
        file.name: _in_cache(dataset, file) if data is None else _in_mirror(dataset, file, data)
        for file in dataset.files_of(split)
    }


def verify(dataset: Dataset, data: Path | None) -> list[FileStatus]:
    """Return the state of all splits' files in `data` or, if None, the cache. Fetches nothing.

    A file with a wrong checksum is not an error.
    """
    rows = []
    for file in dict.fromkeys(file for files in dataset.files.values() for file in files):
        places = [_cache_path(dataset, file)] if data is None else _places(dataset, file, data)
        path = next((path for path in places if path.is_file()), places[-1])
        rows.append(FileStatus(file, _status(file, path), path))
    return rows


def _places(dataset: Dataset, file: SourceFile, data: Path) -> tuple[Path, Path]:
    return data / dataset.folder / file.name, data / file.name


def _cache_path(dataset: Dataset, file: SourceFile) -> Path:
    return cache_folder() / dataset.folder / dataset.commit / file.name


def _status(file: SourceFile, path: Path) -> FileState:
    if not path.is_file():
        return "missing"
    expected = file.sha256 or recorded(path)
    if not expected:
        return "unpinned"
    try:
        return "ok" if sha256_file(path) == expected else "differs"
    except OSError as error:
        raise UserError(
            f"Cannot read {path}: {error.strerror}. Make the file readable, then run the command again."
        ) from error


def recorded(path: Path) -> str:
    """Return the SHA-256 in the file PATH.sha256, written when a file without a pinned one was fetched; else empty."""
    beside = path.with_name(f"{path.name}.sha256")
    return beside.read_text(encoding="utf-8").partition(" ")[0].strip() if beside.is_file() else ""


def _record_checksum(path: Path) -> Path:
    """Write the SHA-256 of a file that was just fetched to PATH.sha256, and to stderr; return the file's path."""
    line = f"{sha256_file(path)}  {path.name}\n"  # as sha256sum writes it
    write_text(path.with_name(f"{path.name}.sha256"), line)
    sys.stderr.write(Shown(f"SHA-256, {count(path.stat().st_size, 'byte')}, recorded at the first download: ") + line)
    return path


def _in_mirror(dataset: Dataset, file: SourceFile, data: Path) -> Path:
    if not data.is_dir():
        what = "is a file" if data.is_file() else "does not exist"
        raise UserError(f"data={data} {what}; {dataset.name} reads {file.name} from a folder: give data=FOLDER.")
    places = _places(dataset, file, data)
    path = next((path for path in places if path.is_file()), None)
    if path is None:
        what = f"neither the file {places[0].relative_to(data)} nor {file.name}"
        raise UserError(f"The folder of data={data} has {what}. Put {_origin(file)} into it, or {_DOWNLOAD}.")
    if _status(file, path) == "differs":
        pinned = f"the published file of {dataset.name} has {file.sha256 or recorded(path)}"
        raise UserError(f"{path} has SHA-256 {sha256_file(path)}, but {pinned}. Put {file.url} there, or {_DOWNLOAD}.")
    return path


def _in_cache(dataset: Dataset, file: SourceFile) -> Path:
    path = _cache_path(dataset, file)
    if _status(file, path) in ("ok", "unpinned"):
        return path
    by_hand = f"Or put {_origin(file)} at {path}, or into a folder of your own that you name: --data FOLDER."
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"Cannot create the cache folder {path.parent}: {error.strerror or error}"
        raise UserError(f"{why}. Set METAEVAL_CACHE to another folder, or give the files: --data FOLDER.") from error
    if file.member:
        archive = _in_cache(dataset, replace(file, name=file.url.rpartition("/")[2], member=""))
        return _record_checksum(_extracted(archive, file.member, path))
    # A file that differs in the cache is ours, cut short or damaged: it is fetched again, and has to be the same.
    expected = replace(file, sha256=file.sha256 or recorded(path))
    download(expected, path, label=f"{dataset.name}/{file.name}", by_hand=by_hand)
    return path if file.sha256 else _record_checksum(path)


def _extracted(archive: Path, member: str, path: Path) -> Path:
    """Write `member` of a tar or zip archive to `path`, and return `path`.

    Raises `UserError` where `archive` is neither, or lacks the file.
    """
    opened = zipfile.ZipFile if zipfile.is_zipfile(archive) else tarfile.open
    try:
        with opened(archive) as held, atomic_write(path) as target:
            content = held.open(member) if isinstance(held, zipfile.ZipFile) else held.extractfile(member)
            if content is None:
                raise KeyError(member)
            shutil.copyfileobj(content, target)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, NotImplementedError, KeyError, EOFError) as error:
        cure = f"delete the archive and {archive.name}.sha256 beside it to have it fetched again"
        raise UserError(f"{archive} is not an archive with {member}: {cure}.") from error
    return path


def _origin(file: SourceFile) -> str:
    where = f"{file.member} of {file.url}" if file.member else file.url
    return f"{where} (SHA-256 {file.sha256})" if file.sha256 else f"{where} (no checksum pinned)"


TIMEOUT = 30.0  # seconds without a byte before a download is given up
_BLOCK = 1 << 16


def download(file: SourceFile, path: Path, label: str, by_hand: str) -> None:
    """Fetch `file` to `path`, where it appears only when it is complete and has the pinned size and SHA-256, if any.

    `label` names the file in the progress on stderr; `by_hand` is the last sentence of errors: what else can be done.

    Raises `UserError` when the origin cannot be reached, answers with an error, stops early, or sends other or more
    bytes: nothing is read beyond the block with the first byte too many.
    """
    digest, received = hashlib.sha256(), 0
    with _progress(label, file) as progress, atomic_write(path) as target:
        for block in _blocks(file, by_hand):
            received += len(block)
            target.write(block)
            digest.update(block)
            progress(len(block))
        if file.sha256 and (digest.hexdigest() != file.sha256 or received != (file.size or received)):
            received_file = f"{count(received, 'byte')} with SHA-256 {digest.hexdigest()}"
            pinned = f"the published file has {count(file.size, 'byte')} with"
            first = f"{pinned if file.size else 'the first download had'} SHA-256 {file.sha256}"
            raise _failed(file, f"got {received_file}; {first}", by_hand)


class _Onward(urllib.request.HTTPRedirectHandler):
    """A handler that follows redirects to other web addresses, but never from an encrypted to an unencrypted one."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request to the new address; raises `HTTPError` for a redirect that is not followed."""
        if urlsplit(newurl).scheme not in {"https", req.type}:
            why = f"and sends on to {newurl}, which is not followed"
            raise urllib.error.HTTPError(req.full_url, code, why, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _blocks(file: SourceFile, by_hand: str) -> Iterator[bytes]:
    """Yield the bytes that the origin sends, no more than `file` may have; errors of the network are told."""
    received, most = 0, file.size or MOST_BYTES
    try:
        with urllib.request.build_opener(_Onward).open(file.url, timeout=TIMEOUT) as body:
            expected = body.length
            while block := body.read(_BLOCK):
                received += len(block)
                if received > most:
                    pinned = "of the published file" if file.size else "that any file may have"
                    raise _failed(file, f"it sends more than the {most:,} bytes {pinned}", by_hand)
                yield block
    except urllib.error.HTTPError as error:
        raise _failed(file, f"the server answered {error.code} {error.reason}", by_hand) from error
    except (OSError, http.client.HTTPException) as error:
        why = "the connection broke" if received else "no connection"
        raise _failed(file, f"{why} ({getattr(error, 'reason', error)})", by_hand) from error
    if expected is not None and received < expected:
        raise _failed(file, f"it stopped after {received:,} of {expected:,} bytes", by_hand)


def _failed(file: SourceFile, why: str, by_hand: str) -> UserError:
    return UserError(f"Cannot fetch {file.url}: {why}. Try again later. {by_hand}")


@contextmanager
def _progress(label: str, file: SourceFile) -> Iterator[Callable[[int], None]]:
    """Yield a function of a block's size that moves a bar on a terminal; elsewhere it only writes one line first."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
        with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
            task = bar.add_task(Shown(f"Fetching {label}"), total=file.size or None)
            yield lambda size: bar.advance(task, size)
        return
    size = f" ({file.size / 1e6:.1f} MB)" if file.size else ""
    sys.stderr.write(Shown(f"Fetching {label}{size} from {file.url}") + "\n")
    yield lambda size: None
