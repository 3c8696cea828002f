"""One file from its origin into place: streamed, counted, hashed, and only then given its name."""

from __future__ import annotations

import hashlib
import http.client
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from metaeval.corpus.dataset import SourceFile
from metaeval.errors import UserError
from metaeval.files import atomic_write

TIMEOUT = 30.0
"""Seconds without a byte before a download is given up."""
_BLOCK = 1 << 16


class _Body(Protocol):
    """What is needed of an HTTP response; `length` is in bytes, None where the server does not say."""

    length: int | None

    def read(self, amount: int, /) -> bytes: ...


def download(file: SourceFile, path: Path, label: str, by_hand: str, timeout: float = TIMEOUT) -> None:
    """Fetch `file` to `path`; the file appears only when its length, size and SHA-256 are right.

    `label` names it in the progress on stderr; `by_hand` ends an error by saying what else can be done. `timeout` is
    in seconds, for each wait on the network.

    Raises `UserError` when the origin cannot be reached, answers with an error, stops early or sends other bytes.
    """
    digest = hashlib.sha256()
    received = 0
    with _open(file, by_hand, timeout) as body, _progress(label, file) as progress:
        expected = body.length
        with atomic_write(path) as target:
            for block in _blocks(body, file, by_hand):
                target.write(block)
                digest.update(block)
                received += len(block)
                progress.advance(len(block))
            if expected is not None and received < expected:
                raise _failed(file, f"it stopped after {received:,} of {expected:,} bytes", by_hand)
            if file.sha256 and (digest.hexdigest() != file.sha256 or received != (file.size or received)):
                found = f"{received:,} bytes with SHA-256 {digest.hexdigest()}"
                raise _failed(file, f"got {found}; the card pins {file.size:,} bytes with {file.sha256}", by_hand)


@contextmanager
def _open(file: SourceFile, by_hand: str, timeout: float) -> Iterator[_Body]:
    try:
        response = urllib.request.urlopen(file.url, timeout=timeout)
    except urllib.error.HTTPError as error:
        raise _failed(file, f"the server answered {error.code} {error.reason}", by_hand) from error
    except (OSError, http.client.HTTPException) as error:
        raise _failed(file, f"no connection ({getattr(error, 'reason', error)})", by_hand) from error
    with response:
        yield response


def _blocks(body: _Body, file: SourceFile, by_hand: str) -> Iterator[bytes]:
    # Network errors are OSErrors too: told here, or they would read as a fault of the disk.
    while True:
        try:
            block = body.read(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise _failed(file, f"the connection broke ({error})", by_hand) from error
        if not block:
            return
        yield block


def _failed(file: SourceFile, why: str, by_hand: str) -> UserError:
    return UserError(f"Cannot fetch {file.url}: {why}. Try again later. {by_hand}")


class _Silent:
    """Progress where nobody watches a bar."""

    def advance(self, size: int) -> None:
        """Show nothing."""


class _Bar:
    """A bar on the terminal."""

    def __init__(self, label: str, size: int, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self.shown = Progress(*columns, console=Console(file=stream), transient=True)
        self._task = self.shown.add_task(f"Fetching {label}", total=size or None)

    def advance(self, size: int) -> None:
        """Move by `size` bytes."""
        self.shown.advance(self._task, size)


@contextmanager
def _progress(label: str, file: SourceFile) -> Iterator[_Bar | _Silent]:
    if sys.stderr.isatty():
        bar = _Bar(label, file.size, sys.stderr)
        with bar.shown:
            yield bar
        return
    size = f" ({file.size / 1e6:.1f} MB)" if file.size else ""
    sys.stderr.write(f"Fetching {label}{size} from {file.url}\n")
    yield _Silent()
