"""Published rows: JSON lines or a JSON list, gzipped or not, with every field checked where it is taken."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from metaeval.corpus.problems import shown
from metaeval.errors import UserError, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a published file, and where it stands. Each method raises `UserError` naming place and field."""

    where: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A string."""
        value = self._value(name)
        if not isinstance(value, str):
            raise self.error(name, "a string")
        return value

    def optional_text(self, name: str) -> str:
        """A string, or empty where the field is null or absent."""
        return "" if self.fields.get(name) is None else self.text(name)

    def number(self, name: str) -> int:
        """A whole number."""
        value = self._value(name)
        if not isinstance(value, int):
            raise self.error(name, "a whole number")
        return value

    def only(self, known: Sequence[str]) -> None:
        """Raise `UserError` for a field that is not among those known."""
        for name in self.fields:
            if name not in known:
                hint = did_you_mean(name, known)
                raise UserError(f"{self.where}: no field {name!r}.{hint} Known: {', '.join(known)}.")

    def identifier(self, name: str) -> str:
        """A string or a whole number, as a string that is not empty."""
        value = self._value(name)
        if not isinstance(value, str | int) or value == "":
            raise self.error(name, "a string or a whole number, not empty")
        return str(value)

    def choice(self, name: str, allowed: Mapping[Any, T]) -> T:
        """What a value stands for, among the values that are known."""
        value = self._value(name)
        if isinstance(value, list | dict) or value not in allowed:
            raise self.error(name, ", ".join(map(shown, allowed)))
        return allowed[value]

    def texts(self, name: str) -> list[str]:
        """A list of strings."""
        return self._list(name, str, "a list of strings")

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers."""
        return self._list(name, int, "a list of whole numbers")

    def lists(self, name: str) -> list[list[Any]]:
        """A list of lists."""
        return self._list(name, list, "a list of lists")

    def row(self, name: str) -> Row:
        """An object inside this one."""
        value = self._value(name)
        if not isinstance(value, dict):
            raise self.error(name, "an object")
        return Row(f"{self.where}, {name}", value)

    def rows(self, name: str) -> list[Row]:
        """A list of objects; null counts as an empty list."""
        if self._value(name) is None:
            return []
        values = self._list(name, dict, "a list of objects")
        return [Row(f"{self.where}, {name}[{index}]", value) for index, value in enumerate(values)]

    def error(self, name: str, allowed: str) -> UserError:
        """The error for a field whose value cannot be used."""
        return UserError(f"{self.where}: field {name!r} is {shown(self.fields.get(name))}; allowed: {allowed}.")

    def _value(self, name: str) -> Any:
        if name not in self.fields:
            raise UserError(f"{self.where}: field {name!r} is missing; the row has {', '.join(self.fields) or 'none'}.")
        return self.fields[name]

    def _list(self, name: str, kind: type[T], allowed: str) -> list[T]:
        value = self._value(name)
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise self.error(name, allowed)
        return value


FETCH = "fetch the published file again"


def read_rows(path: Path, hint: str = FETCH) -> Iterator[Row]:
    """Yield the rows of a published file; whether it is gzip and a list or lines is told from its content.

    hint: what to do about a file that cannot be read. Raises `UserError` when the file cannot be read, is not UTF-8 or
    JSON, or a row is no object.
    """
    text = _decoded(path, hint)
    if text.lstrip()[:1] == "[":
        values = _parsed(text, f"{path}", hint)
        numbered = ((f"{path} record {number}", value) for number, value in enumerate(values, start=1))
    else:
        lines = ((f"{path} line {number}", line) for number, line in enumerate(text.split("\n"), start=1))
        numbered = ((where, _parsed(line, where, hint)) for where, line in lines if line.strip())
    for where, value in numbered:
        if not isinstance(value, dict):
            raise UserError(f"{where} is {shown(value)}; allowed: an object.")
        yield Row(where, value)


def _decoded(path: Path, hint: str) -> str:
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}): {hint}.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"Cannot read {path}: {error}; {hint}.") from error


def _parsed(text: str, where: str, hint: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} is not JSON ({error}): {hint}.") from error
