"""A small published file that stands alone at its origin: fetched once into the cache, known by its SHA-256."""

from __future__ import annotations

from pathlib import Path

from metaeval.cache import cache_folder
from metaeval.corpus.dataset import SourceFile
from metaeval.corpus.download import download
from metaeval.files import sha256_file


def fetch_file(url: str, sha256: str, size: int, by_hand: str) -> Path:
    """The file at `url`, with the bytes that `sha256` (64 hex digits) and `size` say: from the cache, else its origin.

    `by_hand` ends the sentence of an error by saying what else can be done.

    Raises `UserError` when the origin cannot be reached or sends other bytes.
    """
    path = _place(url, sha256)
    if not path.is_file() or sha256_file(path) != sha256:
        download(SourceFile(path.name, url, sha256, size), path, path.name, by_hand)
    return path


def file_is_here(url: str, sha256: str) -> bool:
    """Whether `fetch_file` would find the file in the cache; its bytes are not looked at."""
    return _place(url, sha256).is_file()


def _place(url: str, sha256: str) -> Path:
    return cache_folder() / "files" / sha256[:16] / url.rpartition("/")[2]
