"""Shared by the loaders: published rows whose fields are checked when they are read, and the corpus built from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, starmap
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from metaeval.core.cells import is_no_number
from metaeval.core.errors import UserError, did_you_mean, shown
from metaeval.core.files import sha256_json
from metaeval.core.parsing import json_objects
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DataRow:
    """One object of a data file, whose methods return the value of a field, checked.

    where: the object's location, for messages. A field that is absent or has another value raises `UserError`.
    """

    where: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return a field's string."""
        return self._of(name, str, "a string")

    def optional_text(self, name: str) -> str:
        """Return a field's string; "" where the field is null or absent."""
        return "" if self.fields.get(name) is None else self.text(name)

    def number(self, name: str) -> int:
        """Return a field's whole number."""
        return self._of(name, int, "a whole number")

    def only(self, known: Sequence[str]) -> None:
        """Raise `UserError` for the first field that is not in `known`."""
        for name in self.fields:
            if name not in known:
                hint = did_you_mean(name, known)
                raise UserError(f"{self.where}: there is no field {name!r}.{hint} Known fields: {', '.join(known)}.")

    def identifier(self, name: str) -> str:
        """Return a field's string or whole number, as a string that is not empty."""
        value = self.value(name)
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise self.error(name, "a string or a whole number, not empty")
        return str(value)

    def choice(self, name: str, allowed: Mapping[Any, T]) -> T:
        """Return what `allowed` maps the field's value to; raises `UserError` for a value that is not a key of it."""
        value = self.value(name)
        # True equals 1, and would be found under it.
        if isinstance(value, list | dict | bool) or value not in allowed:
            raise self.error(name, ", ".join(map(shown, allowed)))
        return allowed[value]

    def texts(self, name: str) -> list[str]:
        """Return a field's list of strings."""
        return self._list(name, str, "a list of strings")

    def numbers(self, name: str) -> list[int]:
        """Return a field's list of whole numbers."""
        return self._list(name, int, "a list of whole numbers")

    def lists(self, name: str) -> list[list[Any]]:
        """Return a field's list of lists."""
        return self._list(name, list, "a list of lists")

    def row(self, name: str) -> DataRow:
        """Return the object in a field."""
        return DataRow(f"{self.where}, {name}", self._of(name, dict, "an object"))

    def rows(self, name: str) -> list[DataRow]:
        """Return a field's list of objects; null counts as an empty list."""
        if self.value(name) is None:
            return []
        values = self._list(name, dict, "a list of objects")
        return [DataRow(f"{self.where}, {name}[{index}]", value) for index, value in enumerate(values)]

    def error(self, name: str, allowed: str) -> UserError:
        """Return the error for a field whose value cannot be used. allowed: what could be, in words."""
        listed = allowed if len(allowed) <= 160 else f"{allowed[:159]}…"
        return UserError(f"{self.where}: field {name!r} is {shown(self.fields.get(name))}; allowed: {listed}.")

    def value(self, name: str) -> Any:
        """Return a field's value."""
        if name not in self.fields:
            raise UserError(f"{self.where}: field {name!r} is missing; the row has {', '.join(self.fields) or 'none'}.")
        return self.fields[name]

    def _of(self, name: str, kind: type[T], allowed: str) -> T:
        value = self.value(name)
        if not _is(value, kind):
            raise self.error(name, allowed)
        return value  # type: ignore[no-any-return]

    def _list(self, name: str, kind: type[T], allowed: str) -> list[T]:
        values: list[T] = self._of(name, list, allowed)
        if not all(_is(item, kind) for item in values):
            raise self.error(name, allowed)
        return values


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)  # a truth value is not a number


FETCH = "fetch the published file again"


def read_rows(path: Path, hint: str = FETCH, lone_surrogates: bool = False) -> Iterator[DataRow]:
    """Yield the rows of a file: gzipped or not, JSON lines, a JSON list or one object, as its content shows.

    hint: what to do about a file that cannot be read. lone_surrogates: allow halves of surrogate pairs in strings.
    Raises `UserError` when the file cannot be read, is not UTF-8 or JSON, or a row is not an object.
    """
    return starmap(DataRow, json_objects(path, hint, lone_surrogates))


def all_rows(paths: Mapping[str, Path]) -> Iterator[DataRow]:
    """Yield the rows of all files, as `read_rows` does."""
    return chain.from_iterable(map(read_rows, paths.values()))


def finite(row: DataRow, name: str) -> float:
    """Return a field's value as a finite number: a number, or a string that spells one; else raises `UserError`."""
    value = row.value(name)
    with suppress(ValueError, OverflowError):
        if isinstance(value, int | float | str) and not isinstance(value, bool) and isfinite(number := float(value)):
            return number
    raise row.error(name, "a finite number")


def finite_or_none(row: DataRow, name: str) -> float | None:
    """Return a field's finite number, or None where it is null or a text for none: "", "-", "nan"; else `UserError`."""
    value = row.value(name)
    missing = isinstance(value, str) and (is_no_number(value) or value.strip() in ("", "-"))
    return None if value is None or missing else finite(row, name)


def content_id(*parts: Any) -> str:
    """Return an id derived from content, the same in every split: the first 12 hex digits of its SHA-256."""
    return sha256_json(parts)[:12]


class CorpusDraft:
    """A corpus in the making: documents, statements and citations in file order, and counts of what is left out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.documents: dict[str, Document] = {}
        self.statements: dict[str, Statement] = {}
        self.citations: list[Citation] = []
        self.dropped: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()

    def document(
        self, text: str = "", sentences: Sequence[str] = (), title: str = "", url: str = "", **meta: Any
    ) -> str:
        """Add a document and return its id.

        Documents of the same text and sentences are one, with the first one's title, url and meta: twice in a retrieval
        pool, a passage would compete with itself. Documents without text are distinguished by their url.
        """
        document_id = f"d-{content_id(text, list(sentences)) if text or sentences else content_id(url)}"
        if document_id not in self.documents:
            self.documents[document_id] = Document(document_id, text, title, url, tuple(sentences), meta)
        return document_id

    def statement(self, statement: Statement) -> str:
        """Add a statement and return its id; one with the id of another text or group raises `UserError`."""
        known = self.statements.setdefault(statement.id, statement)
        if (known.text, known.group) != (statement.text, statement.group):
            why = f"the published files give the id {statement.id!r} to two statements"
            raise UserError(f"{self.name}: {why}: {FETCH}.")
        return statement.id

    def next_id(self, statement: str) -> str:
        """Return the id of the statement's next judgement, STATEMENT:1, STATEMENT:2 and so on.

        Call it before leaving a judgement out, so that an option that drops some does not change the ids of the others.
        """
        self._judged[statement] += 1
        return f"{statement}:{self._judged[statement]}"

    def cite(
        self, citation_id: str, statement: str, document: str, level: SupportLevel, *evidence: Evidence, **meta: Any
    ) -> None:
        """Add a judged citation. statement, document: their ids. evidence: alternative evidence sets."""
        self.citations.append(Citation(citation_id, statement, document, level, evidence, meta))

    def drop(self, reason: str, count: int = 1) -> None:
        """Count something that is left out, by reason."""
        self.dropped[reason] += count

    def corpus(self, scores: Mapping[str, Mapping[str, float | None]] = MappingProxyType({})) -> Corpus:
        """Return the corpus. scores: published ones, by metric and then by citation id.

        Raises `UserError` where nothing was cited and nothing left out, or the corpus is not valid.
        """
        if not self.citations and not self.dropped:
            raise UserError(f"{self.name} holds no judged citation: {FETCH}.")
        return Corpus(
            self.name, self.documents, self.statements, tuple(self.citations), dict(self.dropped), scores=scores
        )


_MARKS = re.compile(r"(?:\s*\[\^?\d+\^?(?:\s*,\s*\d+)*\])+(?P<next>\w)?")


def strip_marks(text: str) -> str:
    """Return the text without its citation marks, the space before them, and white space at its ends.

    "rose [1][2]." becomes "rose.", "rose[3] and" becomes "rose and", "rose[3]and" becomes "rose and".
    """
    return _MARKS.sub(lambda match: f" {match['next']}" if match["next"] else "", text).strip()
