"""Parse JSON, YAML, CSV, gzip and Parquet files and texts of any encoding that come from outside, within limits.

A text over a limit is malformed, like one that is not of its format: an error says so in one sentence, and a program
never sees a value that it could not hash, compare, print or write again.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import logging
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError, count, install_extra, shown
from metaeval.core.files import MOST_BYTES, ending, read_bytes, read_most

DEPTH = 100
"""Deepest nesting of lists and objects. The deepest of the published files has 8."""

LARGEST = 2**63 - 1
"""The largest whole number: what 64 bits hold."""

EXPANSION = 200
"""Most bytes that one byte of a gzip file can stand for. The published file that repeats itself most has 49."""

LONGEST_LINE = 1 << 29
"""Most bytes of a line of a compressed file. The longest of the published files has 52 million."""

_log = logging.getLogger("metaeval")
_FREE = 1 << 26  # bytes that any compressed file may grow to
_BATCH_BYTES = 1 << 28  # of the texts of a Parquet batch
_PARQUET_FREE, _PARQUET_EXPANSION = 1 << 28, 1000  # texts that rows repeat are stored once
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedError(ValueError):
    """Raised for a text of a wrong format or over a size limit. line: number, from 1; None where it is unknown."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def parse_json(text: str, lone_surrogates: bool = False, constants: bool = True, long_integers: bool = False) -> Any:
    """Return the value of a JSON text.

    lone_surrogates: allow halves of a surrogate pair, which chat models write, although they have no UTF-8 form.
    constants: allow NaN and Infinity as numbers. long_integers: return a whole number that 64 bits cannot hold as the
    nearest float. Where a flag is False such texts are malformed. Raises `MalformedError` for a text that is not JSON,
    an object that names a field twice, a whole number that 64 bits cannot hold, and more than `DEPTH` lists and objects
    in one another.
    """
    try:
        if text.startswith("\ufeff"):
            raise MalformedError("Unexpected UTF-8 BOM (decode using utf-8-sig)", 1)
        value = _decoder(constants, long_integers).decode(text)
    except json.JSONDecodeError as error:
        raise MalformedError(error.msg, error.lineno) from error
    except RecursionError:
        raise MalformedError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEPTH:
        _check_depth(value)
    if not lone_surrogates and _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise MalformedError(f"{half} is half of a character, and no text") from None
    return value


@cache
def _decoder(constants: bool, long_integers: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_int=_any_integer if long_integers else _integer,
        parse_constant=float if constants else _no_constant,
    )


_TOO_DEEP = f"more than {DEPTH} lists and objects in one another"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise MalformedError(f"field {_short(repr(twice))} appears twice")
    return record


def _no_constant(name: str) -> Any:
    raise MalformedError(f"{name} is not a JSON number")


def _integer(text: str) -> int:
    digits = len(text.lstrip("+-"))
    if digits > 19 or abs(int(text)) > LARGEST:
        raise MalformedError(f"a whole number of {digits:,} digits; the largest is {LARGEST}")
    return int(text)


def _any_integer(text: str) -> int | float:
    try:
        return _integer(text)
    except MalformedError:
        return float(text)


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise MalformedError(_TOO_DEEP)


def gunzipped(content: bytes) -> bytes:
    """Return the content of a gzip file with all its members; other bytes are returned unchanged.

    Raises `MalformedError` for a damaged file, for one that grows to more than `most_expanded` bytes, and for a line of
    more than `LONGEST_LINE` bytes.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    most = most_expanded(len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            whole = read_most(file, most, LONGEST_LINE)
    except (OSError, EOFError, zlib.error) as error:
        raise MalformedError(f"not a whole gzip file: {error}") from error
    if whole is None:
        raise MalformedError(f"the gzip file grows to more than {most:,} bytes, or {LONGEST_LINE:,} in a line")
    return whole


def most_expanded(size: int) -> int:
    """Return the most bytes that a compressed file of `size` bytes may grow to."""
    return min(_FREE + EXPANSION * size, MOST_BYTES)


def read_text(path: Path, then: str = "") -> str:
    """Read a file as UTF-8 text, decompressed if gzipped, without a byte-order mark.

    Raises `UserError`, with `then` as advice, for a file that cannot be read, and for text in another encoding.
    """
    try:
        content = gunzipped(read_bytes(path, then))
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 text (byte {error.start}){ending(then or 'save it as UTF-8 and try again')}"
        ) from error
    except MalformedError as error:
        raise UserError(f"Cannot read {path}: {error}{ending(then, ';')}") from error


_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_USUAL = "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp932 gb18030 big5 cp949 mac_roman".split()
_SAMPLE = 1 << 16
_WORD = re.compile(rb"[^\x00-\x2c;\x7f]*[\x80-\xff][^\x00-\x2c;\x7f]*")
_SAVE = "save it as UTF-8 (in a spreadsheet: CSV UTF-8), or name its encoding with --set encoding=NAME"


def decoded(path: Path, encoding: str = "") -> str:
    """Return the text of a file, decompressed if gzipped, without a byte-order mark.

    encoding: of the file; empty: that of its byte-order mark, else UTF-8, else what its bytes look like, and a warning.
    Raises `UserError` for a file that cannot be read, an unknown encoding, and bytes that are not text in it.
    """
    try:
        content = gunzipped(read_bytes(path, _SAVE))
    except MalformedError as error:
        raise UserError(f"Cannot read {path}: {error}; {_SAVE}.") from error
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        return _text(content, encoding or marked)
    except LookupError as error:
        raise UserError(f"--set encoding={shown(encoding)} is unknown; allowed: Python's, such as cp1252.") from error
    except UnicodeError as error:
        place = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        likely, others = ("", []) if encoding else _likely(content)
        if not likely:
            raise UserError(f"{path} is not {encoding or 'UTF-8'} text ({place}): {_SAVE}.") from error
    word = _WORD.search(content)
    example = f" ({shown(word[0][:40].decode(likely, 'replace'))})" if word else ""
    also = f", and could be {' or '.join(others)}" if others else ""
    _log.warning("%s is not UTF-8: it is read as %s%s%s; --set encoding=NAME decides.", path, likely, example, also)
    return _text(content, likely)


def _text(content: bytes, encoding: str) -> str:
    return content.decode(encoding).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _likely(content: bytes) -> tuple[str, list[str]]:
    """Return the encoding that bytes look like ("" if none fits), and the others that fit as well.

    Lines that are not ASCII decide. Encodings that fit equally come in the order of `_USUAL`, the most used first.
    """
    from charset_normalizer import from_bytes  # most files are UTF-8 and spared its start

    lines = [line for line in content.split(b"\n") if not line.isascii()]
    matches = from_bytes(b"\n".join(lines)[:_SAMPLE], cp_isolation=_USUAL)
    best = matches.best()
    if best is None:
        return "", []
    alike = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    names = [min(match.could_be_from_charset, key=_USUAL.index) for match in alike]
    fitting = []
    for name in sorted(names, key=_USUAL.index):
        with suppress(UnicodeError):
            content.decode(name)
            fitting.append(name)
    return (fitting[0], fitting[1:]) if fitting else ("", [])


def read_json(path: Path, then: str = "") -> Any:
    """Read a JSON file, which may be gzipped; raises `UserError` that names the line, with `then` as advice."""
    text = read_text(path, then)
    try:
        return parse_json(text)
    except MalformedError as error:
        line = f"line {error.line}: " if error.line else ""
        raise UserError(f"{path} is not JSON ({line}{error}){ending(then)}") from error


def read_object(path: Path, then: str = "") -> dict[str, Any]:
    """Read a JSON object from a file. Raises `UserError` as `read_json` does, and for any other value."""
    value = read_json(path, then)
    if not isinstance(value, dict):
        raise UserError(f"{path} is {shown(value)}; allowed: a JSON object{ending(then)}")
    return value


def json_objects(path: Path, then: str, lone_surrogates: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (location, object) for the objects of a file: JSON lines, a JSON list or one object, gzipped or not.

    Raises `UserError` that names the location of anything but a JSON object, with `then` as advice.
    """
    text = read_text(path, then)

    def parsed(text: str, where: str) -> Any:
        try:
            return parse_json(text, lone_surrogates)
        except MalformedError as error:
            raise UserError(f"{where} is not JSON ({error}){ending(then)}") from error

    if text.lstrip()[:1] == "[":
        placed = ((f"{path} record {number}", record) for number, record in enumerate(parsed(text, f"{path}"), start=1))
    else:
        # Only "\n" separates lines: str.splitlines would also cut at separators that may stand inside a string.
        kind, lines = ("record", [text]) if _is_spread_object(text) else ("line", text.split("\n"))
        numbered = ((f"{path} {kind} {number}", line) for number, line in enumerate(lines, start=1))
        placed = ((where, parsed(line, where)) for where, line in numbered if line.strip())
    for where, value in placed:
        if not isinstance(value, dict):
            raise UserError(f"{where} is {shown(value)}; allowed: a JSON object{ending(then)}")
        yield where, value


def _is_spread_object(text: str) -> bool:
    """Return whether a text holds a single object on several lines."""
    first, _, rest = text.strip().partition("\n")
    with suppress(MalformedError):
        spread = rest and first.startswith("{") and not first.rstrip().endswith("}")
        return bool(spread and parse_json(text, lone_surrogates=True) is not None)
    return False


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text by the rules of YAML 1.2: mappings, lists, text, numbers, booleans and null.

    Dates are text; an empty text is None. Raises `MalformedError` for a text that is not YAML, a mapping that names a
    key twice or has a list or a mapping as key, a whole number that begins with 0 (YAML 1.1 reads it in base 8),
    numbers that are not finite, anchors, aliases and explicit tags, and what is over a limit.
    """
    if len(text) > _MOST_YAML:
        raise MalformedError(f"{count(len(text), 'character')}; allowed: {_MOST_YAML:,}")
    from ruamel.yaml import YAML  # most commands read no YAML, and are spared its start
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="safe", pure=True)
    yaml.Parser, yaml.Constructor = _yaml_parser(), _yaml_constructor()
    try:
        return yaml.load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        # Of a key that is there twice it repeats both values, which may be secrets.
        raise MalformedError(_short(reason.partition(" with value ")[0]), mark.line + 1 if mark else None) from error
    except MalformedError:
        raise
    except ValueError as error:  # what the library takes for a number, 0x_
        raise MalformedError(_short(str(error))) from error


_MOST_YAML = 1 << 20
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")


@cache
def _yaml_parser() -> Any:
    """Return ruamel's parser, changed: nesting deeper than `DEPTH`, anchors, aliases and explicit tags are errors."""
    from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
    from ruamel.yaml.parser import Parser

    class CheckingParser(Parser):
        depth = 0

        def get_event(self) -> Any:
            event = super().get_event()
            self.depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            reason = _TOO_DEEP if self.depth > DEPTH else ""
            if getattr(event, "anchor", None):
                reason = "anchors and aliases (&name, *name) are not read: write the value at each place"
            elif tag := getattr(event, "tag", None):
                reason = f"explicit tags ({_short(str(tag))}) are not read: leave the tag out, put text in quotes"
            if reason:
                raise MalformedError(reason, event.start_mark.line + 1)
            return event

    return CheckingParser


@cache
def _yaml_constructor() -> Any:
    """Return ruamel's class that makes Python values, changed: dates are text, numbers and keys are checked."""
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.nodes import ScalarNode

    class Constructor(SafeConstructor):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            for key, _ in node.value:
                if not isinstance(key, ScalarNode):
                    raise MalformedError("a key is a list or a mapping", key.start_mark.line + 1)
            return super().construct_mapping(node, deep)

    for kinds, construct in {"str timestamp value": _yaml_text, "int": _yaml_integer, "float": _yaml_float}.items():
        for kind in kinds.split():
            Constructor.add_constructor(f"tag:yaml.org,2002:{kind}", construct)
    return Constructor


def _yaml_text(constructor: Any, node: Any) -> str:
    if _NO_TEXT.search(node.value):
        raise MalformedError("NUL, or half of a character, is not text", node.start_mark.line + 1)
    return str(node.value)


def _yaml_integer(constructor: Any, node: Any) -> int:
    if _LEADING_ZERO.fullmatch(node.value):  # 010 is 8 in YAML 1.1
        number = _short(node.value)
        reason = f"{number} can be read as two numbers; text stands in quotes, '{number}'"
        raise MalformedError(reason, node.start_mark.line + 1)
    digits = node.value.replace("_", "")
    return _integer(digits if digits.lstrip("+-").isdecimal() else str(int(digits, 0)))


def _yaml_float(constructor: Any, node: Any) -> float:
    number = float(constructor.construct_yaml_float(node))
    if not math.isfinite(number):
        raise MalformedError(f"{_short(node.value)} is not a finite number", node.start_mark.line + 1)
    return number


def _short(text: str) -> str:
    """Return an error's text on one line of at most 100 printable characters: parsers repeat what they read in it."""
    line = "".join(character if character.isprintable() else "�" for character in " ".join(text.split()))
    return line if len(line) <= 100 else f"{line[:99]}…"


def csv_records(path: Path, then: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (location, texts by column) for each row of a CSV file with a header line.

    Raises `UserError`, with `then` as advice, when the file cannot be read or has no rows, the header names a column
    twice, or a row is longer or shorter than the header.
    """
    reader = csv.DictReader(io.StringIO(read_text(path, then), newline=""), strict=True)
    try:
        header = reader.fieldnames or ()
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise UserError(f"{path}: column {shown(twice)} appears twice{ending(then)}")
        for fields in reader:
            where = f"{path} line {reader.line_num}"
            if None in fields or None in fields.values():
                names = _short(", ".join(header))
                raise UserError(f"{where} does not hold one value for each of {names}{ending(then)}")
            yield where, fields
        if not reader.line_num > 1:
            raise UserError(f"{path} holds no rows; allowed: a header line, and rows{ending(then)}")
    except csv.Error as error:
        raise UserError(f"{path} line {reader.line_num} is not CSV ({error}){ending(then)}") from error


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the settings in a YAML file, {} if it is empty; raises `UserError` if it is not YAML, or not a mapping."""
    return yaml_settings(read_text(path), str(path))


def yaml_settings(text: str, place: str) -> dict[str, Any]:
    """Return the settings in the YAML text of a file, as `read_yaml` does; place: the file, for errors."""
    try:
        values = parse_yaml(text)
    except MalformedError as error:
        line = f", line {error.line}" if error.line else ""
        raise UserError(f"{place}{line}: not YAML ({error}).") from error
    if not isinstance(values, dict | None):
        raise UserError(f"{place} holds a {type(values).__name__}, not settings: write lines 'key: value'.")
    return values or {}


def parquet_library() -> Any:
    """Return the package pyarrow with its Parquet module; raises `UserError` if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UserError(f"Parquet needs pyarrow: type {install_extra('parquet')}, or use .jsonl.") from error
    return pyarrow


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file as mappings; raises `UserError` as `parquet_parts` does."""
    return (row for batch in parquet_parts(path, 1024) for row in batch.to_pylist())


def parquet_parts(path: Path, rows: int = 65_536) -> Iterator[Any]:
    """Yield the record batches of a Parquet file, of at most `rows` rows.

    Raises `UserError` for another format, a column that appears twice, and more than `MOST_BYTES`, texts of coded
    columns included.
    """
    pyarrow, size = parquet_library(), 0
    try:
        with pyarrow.BufferReader(read_bytes(path)) as file, pyarrow.parquet.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise UserError(f"{path}: column {shown(twice)} appears twice: rename one of the two.")
            most = min(MOST_BYTES, _PARQUET_FREE + _PARQUET_EXPANSION * file.size())
            for batch in _bounded_batches(file, parquet, rows):
                plain = (each.dictionary_decode() if hasattr(each, "dictionary") else each for each in batch)
                size += sum(column.nbytes for column in plain)
                if size > most:
                    raise UserError(f"{path} holds more than {most:,} bytes: cut it into several files.")
                yield batch
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{path} is not a Parquet file ({_short(str(error))}): write it again.") from error


def _bounded_batches(file: Any, parquet: Any, rows: int) -> Iterator[Any]:
    """Yield batches of at most `rows` rows; of fewer where each could repeat a long text that the file stores once."""
    from pyarrow import compute

    library = parquet_library()
    kinds = library.types
    fields = parquet.schema_arrow
    texts = [field.name for field in fields if kinds.is_string(field.type) or kinds.is_dictionary(field.type)]
    coded = library.parquet.ParquetFile(file, metadata=parquet.metadata, read_dictionary=texts) if texts else None
    for group in range(parquet.num_row_groups):
        longest = 1
        for batch in coded.iter_batches(1, [group], texts, use_threads=False) if coded else ():
            sizes = (compute.max(compute.binary_length(column.dictionary)).as_py() for column in batch.columns)
            longest = max([1, *filter(None, sizes)])
            break
        at_once = max(1, min(rows, _BATCH_BYTES // longest))
        yield from parquet.iter_batches(at_once, [group], use_threads=False)
