"""Claims: which blocks the runs that share a store have in hand, so that none of them is scored twice.

A claim is a lock on one byte of a file beside the store. The system lets it go when its process ends, however that
ends: no claim outlives who made it, and no clock is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

_SPACE = 1 << 62

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: runs that share a store there score a block that two of them lack twice
    fcntl = None


class Claims:
    """The claims of this process. Without locks on the file system every claim is granted, to every process."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file

    def take(self, name: str) -> bool:
        """Claim a block by its name in hexadecimal digits; whether no other process has it."""
        if fcntl is None or self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def release(self, name: str) -> None:
        """Let a block go."""
        if fcntl is not None and self._file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))


@contextlib.contextmanager
def claims_beside(path: Path | None) -> Iterator[Claims]:
    """The claims of runs that share the store at `path`. The file of locks is deleted by the last one of them."""
    if path is None or fcntl is None:
        yield Claims(None)
        return
    place = path.with_name(f".{path.name}.claims")
    try:
        file = place.open("ab")
    except OSError:  # a folder in which nothing can be written: the store says so
        yield Claims(None)
        return
    with file:
        try:
            yield Claims(file)
        finally:
            # Whoever has the whole file is alone. Who opens it between these lines scores a block twice, and no more.
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place.unlink()


def _place(name: str) -> int:
    return int(name[:16], 16) % _SPACE
