"""Claims on blocks: runs that share a store score no block twice, since each claims the block that it scores.

A claim is a lock on one byte of a file beside the store. The system releases it when its process ends, however that
ends, so no claim has to expire.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: runs that share a store there score a block that two of them lack twice
    fcntl = None


class BlockClaims:
    """The blocks that this process has claimed. Without a lock file or file locks, every process gets every claim."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file

    def take(self, name: str) -> bool:
        """Claim a block by its name (16 or more hexadecimal digits); return False if another process has claimed it."""
        if fcntl is None or self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            pass  # a file system without locks
        return True

    def release(self, name: str) -> None:
        """Release the claim on the block of this name."""
        if fcntl is not None and self._file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))


@contextlib.contextmanager
def claims_beside(path: Path | None) -> Iterator[BlockClaims]:
    """Yield the claims shared by all processes that use `path` (None: no locks); the last one deletes the lock file."""
    if path is None or fcntl is None:
        yield BlockClaims(None)
        return
    place = path.with_name(f".{path.name}.claims")
    try:
        file = place.open("ab")
    except OSError:  # a folder in which nothing can be written: the store's error reports it
        yield BlockClaims(None)
        return
    with file:
        try:
            yield BlockClaims(file)
        finally:
            # A run that locks the whole file is the last one. If another opens the file between these two lines, a
            # block may be scored twice, with the same scores.
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place.unlink()


def _place(name: str) -> int:
    return int(name[:16], 16) % (1 << 62)
