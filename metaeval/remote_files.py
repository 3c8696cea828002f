"""Files of object stores and other file systems that pyarrow opens (`s3://BUCKET/PREFIX`), with the methods of `Path`.

A file appears whole or not at all. Keys come from the environment or from the files of the store's own tools, as
pyarrow finds them: an address that holds any is refused, so that none reaches a file or a message.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from metaeval.errors import UserError

# pathlib makes one slash of two: options are paths.
_ADDRESS = re.compile(r"(file|s3|gs|gcs|abfss?|hdfs):/+(.*)", re.DOTALL)
_PARAMETERS = ("region", "scheme", "endpoint_override")
_WHOLE = ("s3", "gcs")  # stores in which an object exists when its upload is complete, and not before


@dataclass(frozen=True, order=True)
class RemotePath:
    """A file or folder of a remote file system. scheme, query: of its address. path: the bucket and the key."""

    scheme: str
    path: PurePosixPath
    query: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.path}{f'?{self.query}' if self.query else ''}"

    def __truediv__(self, name: str) -> RemotePath:
        return replace(self, path=self.path / name)

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.name

    @property
    def parent(self) -> RemotePath:
        """Return the folder of the file."""
        return replace(self, path=self.path.parent)

    def is_file(self) -> bool:
        """Return whether the file exists."""
        with self._sentences():
            return bool(self._files.get_file_info(str(self.path)).is_file)

    def glob(self, pattern: str) -> list[RemotePath]:
        """Return the files whose path from this folder matches the pattern, which may hold slashes; [] without any."""
        import pyarrow.fs

        with self._sentences():
            selected = pyarrow.fs.FileSelector(str(self.path), allow_not_found=True, recursive="/" in pattern)
            paths = [PurePosixPath(info.path) for info in self._files.get_file_info(selected) if info.is_file]
        depth = len(self.path.parts) + len(PurePosixPath(pattern).parts)
        return [replace(self, path=path) for path in paths if len(path.parts) == depth and path.match(pattern)]

    def open(self, mode: str = "rb") -> Any:
        """Open the file for reading bytes, with random access. mode: only for likeness to `Path.open`."""
        with self._sentences():
            return self._files.open_input_file(str(self.path))

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        with self._sentences(), self._files.open_input_file(str(self.path)) as file:
            return bytes(file.read())

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """Yield a binary file in memory, which is uploaded at the end of the block; not after an exception."""
        content = io.BytesIO()
        yield content
        whole = self._files.type_name in _WHOLE
        path = str(self.path if whole else self.path.with_name(f".{self.name}.unfinished"))
        with self._sentences():
            if not whole:
                self._files.create_dir(str(self.path.parent), recursive=True)
            with self._files.open_output_stream(path) as file:
                file.write(content.getbuffer())
            if not whole:
                self._files.move(path, str(self.path))

    @property
    def _files(self) -> Any:
        bucket = self.path.parts[0]
        return _file_system(f"{self.scheme}://{bucket}{f'?{self.query}' if self.query else ''}")

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn an error of the file system into a `UserError`."""
        try:
            yield
        except OSError as error:
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"Cannot read or write {self}: {reason}. Files that are there are kept: check the address."
            ) from error


def location(path: Path | RemotePath | str) -> Path | RemotePath:
    """Return a `RemotePath` for an address of a remote file system, and a `Path` for file:// and any other path.

    Raises `UserError` for an address with keys or unknown parameters, and where pyarrow is missing or cannot open it.
    """
    if isinstance(path, RemotePath):
        return path
    address = _ADDRESS.fullmatch(path if isinstance(path, str) else path.as_posix())
    if address is None:
        return Path(path)
    scheme, rest = address.groups()
    if scheme == "file":
        return Path(f"/{unquote(rest)}")
    parts = urlsplit(f"{scheme}://{rest}")
    if "@" in parts.netloc or any(name not in _PARAMETERS for name, _ in parse_qsl(parts.query, True)):
        raise UserError(
            f"An address of {scheme} may hold a bucket, a path, and the parameters {', '.join(_PARAMETERS)}: leave out "
            "all else, and give keys in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3)."
        )
    remote = RemotePath(scheme, PurePosixPath(parts.netloc + unquote(parts.path)), parts.query)
    with remote._sentences():
        _ = remote._files
    return remote


@cache
def _file_system(address: str) -> Any:
    try:
        import pyarrow
        import pyarrow.fs
    except ImportError as error:
        raise UserError("Addresses such as s3://BUCKET need pyarrow: install the extra 'parquet'.") from error
    try:
        return pyarrow.fs.FileSystem.from_uri(address)[0]
    except (pyarrow.ArrowException, ValueError) as error:
        scheme = address.partition(":")[0]
        raise UserError(f"This address of {scheme} cannot be opened: {str(error)[:200]}.") from error
