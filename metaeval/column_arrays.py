"""Columns as arrays: numbers and texts without a Python object per row, repeated texts coded, the rest as objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, repeat
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

T = TypeVar("T")

Texts = NDArray[Any]
"""(n,) texts: numpy's StringDType, or objects where a text has no UTF-8 form."""

BLOCK = 65_536
"""Rows of which Python objects are made at a time."""


def text_array(texts: Iterable[str]) -> Texts:
    """Return texts as an array, (n,), whose items are read as Python `str`."""
    remaining, parts = iter(texts), [np.array([], dtype=np.dtypes.StringDType())]
    while block := list(islice(remaining, BLOCK)):
        try:
            parts.append(np.array(block, dtype=np.dtypes.StringDType()))
        except UnicodeEncodeError:  # half of a character
            parts.append(np.array(block, dtype=np.object_))
    return joined(parts)


def joined(parts: Sequence[Texts]) -> Texts:
    """Return arrays of texts concatenated; as Python objects if their types differ."""
    mixed = len({part.dtype for part in parts}) > 1
    return np.concatenate([part.astype(np.object_) for part in parts] if mixed else parts)


def blocks(*columns: NDArray[Any] | Coded[Any]) -> Iterator[tuple[list[Any], ...]]:
    """Yield rows in blocks of at most `BLOCK`: a tuple with one list of Python values for each column."""
    for at in range(0, len(columns[0]), BLOCK):
        yield tuple(column[at : at + BLOCK].tolist() for column in columns)


def row_blocks(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return an array of row numbers cut into arrays of at most `BLOCK`."""
    return [rows[at : at + BLOCK] for at in range(0, rows.size, BLOCK)]


def values_of(column: NDArray[Any]) -> Iterator[Any]:
    """Yield a column's values as Python objects, converting one block at a time."""
    for (block,) in blocks(column):
        yield from block


def numerals(numbers: NDArray[np.float64]) -> list[str]:
    """Return the text of each number in JSON, exponents as Python writes them; NaN is null."""
    texts = to_json(numbers.tolist()).decode()[1:-1].replace("NaN", "null").split(",")
    size = np.abs(numbers)
    for row in np.flatnonzero((size > 0) & ((size < 1e-4) | (size >= 1e16))).tolist():  # exponents look different
        texts[row] = repr(float(numbers[row]))
    return texts


def interleaved(*parts: str | Iterable[str]) -> str:
    """Return all rows as one text, without separators. A row is its parts in their order.

    A part is a text that all rows share, or a column of texts, (n,).
    """
    columns = (repeat(part) if isinstance(part, str) else part for part in parts)
    return "".join(chain.from_iterable(zip(*columns, strict=False)))


@dataclass(frozen=True, eq=False)
class Coded(Sequence[T], Generic[T]):
    """A column of repeated values, stored as the distinct `names` and the index of each row's name, codes (n,)."""

    names: Sequence[T] | Texts
    codes: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Coded[Any]:
        """Return texts, and None, as a column of codes in the order of their first appearance."""
        known: dict[Any, int] = {}
        codes = np.fromiter((known.setdefault(value, len(known)) for value in values), dtype=np.int32)
        return Coded(list(known) if None in known else text_array(known), codes)

    @classmethod
    def all_of(cls, name: Any, n: int) -> Coded[Any]:
        """Return a column that holds one value n times."""
        return Coded([name], np.zeros(n, dtype=np.int8))

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> T: ...
    @overload
    def __getitem__(self, row: slice | NDArray[Any]) -> Coded[T]: ...
    def __getitem__(self, row: int | slice | NDArray[Any]) -> T | Coded[T]:
        return (
            Coded(self.names, self.codes[row]) if isinstance(row, slice | np.ndarray) else self.names[self.codes[row]]
        )

    def __iter__(self) -> Iterator[T]:
        return (value for (block,) in blocks(self) for value in block)

    def tolist(self) -> list[T]:
        """Return the values as a list of Python objects."""
        if isinstance(self.names, np.ndarray):
            return list(self.names[self.codes].tolist())
        return [self.names[code] for code in self.codes.tolist()]

    def mapped(self, to: Callable[[T], str]) -> Coded[str]:
        """Return the column with each value replaced by a text; `to` is called once per distinct value."""
        return Coded([to(name) for name in self.names], self.codes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each name, (n_names,)."""
        return np.asarray(np.bincount(self.codes, minlength=len(self.names)), dtype=np.int64)

    def has(self, name: T) -> bool:
        """Return whether any row has this value."""
        return bool((np.asarray(self.names)[self.counts > 0] == name).any())

    @property
    def n_used(self) -> int:
        """Return the number of distinct values that occur in rows."""
        return int(np.count_nonzero(self.counts))

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Return the rank of each row's text among the sorted distinct texts that occur in rows, (n,)."""
        used = np.flatnonzero(self.counts)
        order = used[np.argsort(np.asarray(self.names)[used], kind="stable")]
        rank = np.zeros(len(self.names), dtype=np.int64)
        rank[order] = np.arange(order.size)
        return np.asarray(rank[self.codes])


class Cells:
    """The cells of a table column: numbers (NaN if blank), texts (empty if blank) or Python objects (None if blank).

    Indexing and iteration give Python values, None for a blank cell.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @classmethod
    def of(cls, values: Sequence[Any]) -> Cells:
        """Return Python values as cells; None is a blank cell."""
        kinds = set(map(type, values))
        if kinds <= {float, type(None)} and kinds != {type(None)}:
            return cls(np.array(values, dtype=np.float64))
        if kinds == {int} and all(abs(value) < 2**63 for value in values):
            return cls(np.array(values, dtype=np.int64))
        if kinds <= {str, type(None)}:
            return cls(text_array(value or "" for value in values))
        array = np.empty(len(values), dtype=np.object_)
        array[:] = values
        return cls(array)

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """Return cells concatenated."""
        if len({part.array.dtype for part in parts}) == 1:
            return cls(np.concatenate([part.array for part in parts]))
        return cls.of([value for part in parts for value in part])

    @property
    def are_numbers(self) -> bool:
        """Return whether the cells are stored as an array of numbers."""
        return self.array.dtype.kind in "fiu"

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, row: int) -> Any:
        value = self.array[row]
        return None if self.blank[row] else value.item() if self.are_numbers else value

    def __iter__(self) -> Iterator[Any]:
        for values, blank in blocks(self.array, self.blank):
            yield from (
                (None if no else value for value, no in zip(values, blank, strict=True)) if any(blank) else values
            )

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Return which cells are blank, (n,)."""
        if self.array.dtype.kind == "f":
            return np.asarray(np.isnan(self.array))
        if self.array.dtype.kind in "iu":
            return np.zeros(len(self.array), dtype=np.bool_)
        if isinstance(self.array.dtype, np.dtypes.StringDType):
            return np.asarray(self.array == "")
        blank = (value is None or (isinstance(value, str) and not value) for value in values_of(self.array))
        return np.fromiter(blank, np.bool_, len(self.array))

    def blanked(self, rows: NDArray[np.intp]) -> Cells:
        """Return the cells with those at these row numbers blank."""
        values = list(self)
        for row in rows.tolist():
            values[row] = None
        return Cells.of(values)

    def which(self, is_wanted: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Return which cells are not blank and satisfy `is_wanted`, (n,), which is called once per distinct text."""
        return self._which(is_wanted, ~self.blank)

    def which_others(self, is_wanted: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Return which filled cells without a finite number satisfy `is_wanted`, (n,)."""
        return self._which(is_wanted, np.isinf(self.plain))

    def _which(self, is_wanted: Callable[[Any], bool], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        known: dict[str, bool] = {}
        matching = np.zeros(len(self), dtype=np.bool_)
        for rows in row_blocks(np.flatnonzero(among)):
            for row, value in zip(rows.tolist(), self.array[rows].tolist(), strict=True):
                if not isinstance(value, str):
                    matching[row] = is_wanted(value)
                elif (wanted := known.get(value)) is None:
                    matching[row] = known[value] = is_wanted(value)
                else:
                    matching[row] = wanted
        return matching

    @cached_property
    def plain(self) -> NDArray[np.float64]:
        """Return the finite number in each cell (or in its text), (n,): NaN if blank, infinity for other content."""
        if self.are_numbers:
            return np.where(np.isinf(self.array), math.inf, self.array).astype(np.float64, copy=False)
        parts, known = [np.zeros(0)], dict[str, float]()
        for values, blank in blocks(self.array, self.blank):
            filled = [value for value, no in zip(values, blank, strict=True) if not no]
            text = "".join(value for value in filled if isinstance(value, str))
            try:
                number = float if text.isascii() and "_" not in text else number_in
                read = np.array([number(value) for value in filled])
            except (TypeError, ValueError, OverflowError):
                read = np.array([_number_or_infinity(value, known) for value in filled])
            read[~np.isfinite(read)] = math.inf
            part = np.full(len(values), math.nan)
            part[~np.array(blank)] = read
            parts.append(part)
        return np.concatenate(parts)

    def numbers(self, number: Callable[[Any], float | None]) -> NDArray[np.float64]:
        """Return the number in each cell, (n,): NaN if blank, else the finite number that it holds (or its text).

        Other content has what `number` returns for it, or infinity where this is None.
        """
        if not (others := np.flatnonzero(np.isinf(self.plain))).size:
            return self.plain
        numbers, known = self.plain.copy(), dict[Any, float | None]()
        for row in others.tolist():
            value = self[row]
            key = value if isinstance(value, str) else row
            if key not in known:
                known[key] = number(value)
            read = known[key]
            numbers[row] = math.inf if read is None else read
        return numbers


def number_in(value: Any) -> float:
    """Return a value as float; `ValueError` for other text, also for digits like ٣ and underscores as in 1_000."""
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):
        raise ValueError(value)
    return float(value)


def _number_or_infinity(value: Any, known: dict[str, float]) -> float:
    """Return the number that a cell holds (it can be NaN), infinity if none. known: cache of texts, which is filled."""
    if isinstance(value, str) and value in known:
        return known[value]
    try:
        number = number_in(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if isinstance(value, str):
        known[value] = number
    return number


NO_CELLS = Cells.of([])
"""A column of a table without rows."""
