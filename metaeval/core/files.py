"""Files: atomic writes (texts, tables), inputs that may not be overwritten, hashes, and the cache folder."""

from __future__ import annotations

import contextlib
import csv
import glob
import gzip
import hashlib
import io
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Literal

from metaeval.core.errors import UserError, install_extra, visible

UNFINISHED = ".unfinished"
_UNSAFE = re.compile(r"[^\w.-]+")
_FORMULA = re.compile(r"[=+@\t\r\n＝＋－＠-]")
_NUMERAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# What the running command, or call from Python, does with each file ("input", "output" or "written"), and what it keeps
# in memory.
_JOB: ContextVar[dict[Any, Any] | None] = ContextVar("metaeval-job", default=None)


@contextlib.contextmanager
def inputs_protected(from_python: bool = False) -> Iterator[None]:
    """Treat the outermost such block as one job, which may overwrite no file that it read, unless it wrote the file.

    from_python: whether a Python program called for the job, whose modules may differ from their files.
    """
    token = _JOB.set({"from_python": from_python}) if _JOB.get() is None else None
    try:
        yield
    finally:
        if token:
            _JOB.reset(token)


def job_memory() -> dict[Any, Any]:
    """Return what the running job keeps in memory until it ends; outside a job, an empty dict that nothing keeps."""
    job = _JOB.get()
    return {} if job is None else job


def declare(use: Literal["input", "output", "written"], *paths: Path) -> None:
    """Register how the job uses files; raises `UserError` for a file that it reads and would overwrite.

    Every read and write here calls it; a command declares its outputs first. It does nothing outside a job.
    """
    job = _JOB.get()
    for path in paths:
        if job is None or not (file := _file_id(path)):
            continue
        known, other = job.get(file, (use, path))
        if "written" in (known, use):
            job[file] = "written", path
        elif known == use or _file_id(other) != file:  # another file has its inode now
            job[file] = use, path
        else:
            output, read = (path, other) if use == "output" else (other, path)
            job[file] = "both", output  # refused again where the error is not passed on
            same = "" if output == read else f" (as {read})"
            raise UserError(f"{output} is read as input{same} and would be overwritten: give another output file.")


def _file_id(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a regular file, which are the same for all spellings and links; None otherwise."""
    with contextlib.suppress(OSError, ValueError):
        status = path.stat()
        return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
    return None


@contextlib.contextmanager
def atomic_write(path: Path, update: bool = False) -> Iterator[IO[bytes]]:
    """Open a binary file that appears under `path` only when it is complete.

    The bytes go to a temporary file in the same folder, are flushed to disk and then renamed: a reader sees the old
    file or the new one, never half of one. Costs one fsync per file. Unfinished temporary files of killed runs are
    deleted after a day. update: the file is one of the program's own, which is read in order to be rewritten.

    Raises `UserError` when the folder cannot be written, the disk is full or the job read the file, which then stays.
    """
    temporary = None
    if not update:
        declare("output", path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}"):
            with contextlib.suppress(FileNotFoundError):  # another run does the same
                if left.stat().st_mtime < time.time() - 86_400:  # no run writes one file for so long
                    left.unlink()
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
        declare("written", path)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"Cannot write {path}: {reason}. Nothing computed is lost: free space, try again.") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def csv_text(rows: Iterable[Iterable[object]], newline: str = "\r\n", delimiter: str = ",") -> str:
    """Return rows as CSV text (RFC 4180); a cell of None is empty. No cell can act as a formula or a terminal command.

    A text that begins as a formula does gets an apostrophe before it, which spreadsheets read as "this is text", unless
    it is a number written as text. Line breaks and tabs inside a cell stay.
    """
    file = io.StringIO()
    csv.writer(file, lineterminator=newline, delimiter=delimiter).writerows(map(_cell, row) for row in rows)  # noqa: TID251
    return file.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    runs = _FORMULA.match(value) and not _NUMERAL.fullmatch(value)
    written = value.encode("utf-8", "backslashreplace").decode("utf-8")  # as `write_text` does
    return ("'" if runs else "") + visible(written, keep="\t\n")


def local_path(text: str) -> Path | None:
    """Return the path that a text names: it begins with ., / or ~, or is there; None for another text, a hub name."""
    path = Path(os.path.expanduser(text))
    return path if text.startswith((".", "/", "~")) or path.exists() else None


def safe_name(text: str) -> str:
    """Return free text as a name of a file or folder that is valid on any system; at most 80 characters."""
    return _UNSAFE.sub("_", text)[:80]


def write_text(path: Path, text: str, update: bool = False) -> None:
    """Write a text as UTF-8 by `atomic_write`; a lone surrogate is written as its escape (\\ud800)."""
    with atomic_write(path, update) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def write_texts(texts: Mapping[Path, str]) -> list[Path]:
    """Write each text to its path as UTF-8, atomically; return the paths."""
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


WRITTEN = (".csv", ".tsv", ".xlsx", ".jsonl")
"""Endings of the tables that are written."""


def write_table(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[Any]], choices: Mapping[str, Sequence[str]]
) -> None:
    """Write a table for people to fill in, atomically, in the format of the path's ending; no text acts as a formula.

    choices: allowed cells by heading, for formats that can enforce them. Raises `UserError` where openpyxl is missing.
    """
    ending = path.suffix.lower()
    if ending == ".jsonl":
        lines = [dict(zip(headings, row, strict=True)) for row in rows]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    elif ending == ".csv":
        write_text(path, csv_text([headings, *rows]))
    elif ending == ".xlsx":
        _write_sheet(path, headings, rows, choices)
    else:
        in_lines = [
            [" ".join(visible(cell).split()) if isinstance(cell, str) else cell for cell in line]
            for line in (headings, *rows)
        ]
        write_text(path, csv_text(in_lines, newline="\n", delimiter="\t"))


def _write_sheet(
    path: Path, headings: Sequence[str], rows: Sequence[Sequence[Any]], choices: Mapping[str, Sequence[str]]
) -> None:
    openpyxl = spreadsheet_library("write .csv")
    styles, illegal = openpyxl.styles, openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE
    book = openpyxl.Workbook()
    sheet = book.active
    for number, row in enumerate([headings, *rows], start=1):
        for place, value in enumerate(row, start=1):
            cell = sheet.cell(number, place)
            if not isinstance(value, str):
                cell.value = value
                continue
            cell.value = illegal.sub(" ", visible(value, keep="\t\n"))  # openpyxl cuts what a cell cannot hold
            cell.data_type = "s"  # whatever it begins with
            cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
            cell.font = styles.Font(bold=number == 1)
    for place, heading in enumerate(headings, start=1):
        letter = openpyxl.utils.get_column_letter(place)
        longest = max((len(str(row[place - 1])) for row in rows), default=0)
        sheet.column_dimensions[letter].width = min(max(longest, len(heading), 8) + 2, 80)
        if heading in choices:
            listed, kinds = ",".join(choices[heading]), openpyxl.worksheet.datavalidation
            choice = kinds.DataValidation(type="list", formula1=f'"{listed}"', allow_blank=True)
            choice.add(f"{letter}2:{letter}{len(rows) + 1}")
            sheet.add_data_validation(choice)
    sheet.freeze_panes = "A2"
    with atomic_write(path) as file:  # around the saving, which writes temporary files: a full disk is one sentence
        book.save(file)


def spreadsheet_library(otherwise: str) -> Any:
    """Return the package openpyxl; raises `UserError` if it is not installed. otherwise: what to do without it."""
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(f"A .xlsx file needs openpyxl: type {install_extra('xlsx')}, or {otherwise}.") from error
    return openpyxl


MOST_BYTES = 1 << 32
"""Most bytes that are read of one file."""


def ending(then: str, mark: str = ":") -> str:
    """Return the end of an error message: mark, advice and full stop, or without advice the full stop alone."""
    return f"{mark} {then}." if then else "."


def read_most(file: IO[bytes] | gzip.GzipFile, most: int, longest: int | None = None) -> bytes | None:
    """Return all bytes of an open file; None if there are more than `most`, or (if given) `longest` in a line."""
    whole, line = io.BytesIO(), 0
    while block := file.read(1 << 20):
        whole.write(block)
        at = block.rfind(b"\n") + 1
        line = len(block) - at if at else line + len(block)
        if whole.tell() > most or line > (longest or most):
            return None
    return whole.getvalue()


def read_bytes(path: Path, then: str = "") -> bytes:
    """Return the bytes of a file.

    Raises `UserError`, with `then` as advice, for a file that cannot be read, a device, a pipe into which nothing
    writes, and a file larger than `MOST_BYTES`.
    """
    declare("input", path)
    try:
        # A pipe opens without waiting for a writer, who may never come; a shell's <(...) has one already.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISCHR(mode) and not file.isatty():
                raise UserError(f"{path} is a device, which never ends: give a file.")
            os.set_blocking(file.fileno(), True)
            content = read_most(file, MOST_BYTES)
            if stat.S_ISFIFO(mode) and content == b"":
                raise UserError(f"{path} is a pipe into which nothing writes: give a file.")
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"Cannot read {path}: {reason}{ending(then, ';')}") from error
    if content is None:
        raise UserError(f"{path} holds more than {MOST_BYTES:,} bytes: cut it into several files.")
    return content


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def marks_of(path: Path) -> list[int]:
    """Return numbers that change when a file is changed or replaced: size, times of change, inode."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces: the same value always gives the same text. NaN raises ValueError."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sha256_json(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON as 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def cache_folder() -> Path:
    """Return the cache folder: METAEVAL_CACHE if set, else `metaeval` in XDG_CACHE_HOME (default ~/.cache).

    Raises `UserError` where the user has no home folder.
    """
    named = os.environ.get("METAEVAL_CACHE") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/metaeval"
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise UserError(f"No home folder is known for {named}: set METAEVAL_CACHE to a folder.") from error


def signature(fields: Mapping[str, object]) -> str:
    """Return fields as name:value, in their order, joined by bars; bars and line breaks in a value become slashes."""
    return "|".join(f"{name}:{' '.join(str(value).replace('|', '/').split())}" for name, value in fields.items())


def resampled_fields(level: float, resamples: int, seed: int, fewest: float = 6) -> dict[str, object]:
    """Return the signature fields of cluster intervals. fewest: effective groups that an interval needs."""
    interval = {"interval": f"cluster-t-{level}", "fewest": f"{fewest:g}"}
    return {**interval, "by": "group", "B": resamples, "seed": seed}


def versions(*packages: str) -> dict[str, str]:
    """Return the installed version of each package, by package, as signature fields."""
    return {package: version(package) for package in packages}
