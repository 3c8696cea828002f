"""Columns as arrays: numbers and texts without a Python object a row, repeated texts coded, the rest as objects."""

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
    """The texts as an array, from which each comes back as a `str`."""
    remaining, parts = iter(texts), [np.array([], dtype=np.dtypes.StringDType())]
    while block := list(islice(remaining, BLOCK)):
        try:
            parts.append(np.array(block, dtype=np.dtypes.StringDType()))
        except UnicodeEncodeError:  # half of a character
            parts.append(np.array(block, dtype=np.object_))
    return joined(parts)


def joined(parts: Sequence[Texts]) -> Texts:
    """The texts as one array."""
    mixed = len({part.dtype for part in parts}) > 1
    return np.concatenate([part.astype(np.object_) for part in parts] if mixed else parts)


def blocks(*columns: NDArray[Any] | Coded[Any]) -> Iterator[tuple[list[Any], ...]]:
    """The columns as lists of at most `BLOCK` Python values."""
    for at in range(0, len(columns[0]), BLOCK):
        yield tuple(column[at : at + BLOCK].tolist() for column in columns)


def row_blocks(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The numbers of rows, at most `BLOCK` at a time."""
    return [rows[at : at + BLOCK] for at in range(0, rows.size, BLOCK)]


def values_of(column: NDArray[Any]) -> Iterator[Any]:
    """The Python values of a column, a block of them in memory at a time."""
    for (block,) in blocks(column):
        yield from block


def numerals(numbers: NDArray[np.float64]) -> list[str]:
    """Numbers as Python writes them in JSON, null for NaN."""
    texts = to_json(numbers.tolist()).decode()[1:-1].replace("NaN", "null").split(",")
    size = np.abs(numbers)
    for row in np.flatnonzero((size > 0) & ((size < 1e-4) | (size >= 1e16))).tolist():  # exponents look different
        texts[row] = repr(float(numbers[row]))
    return texts


def interleaved(*parts: str | Iterable[str]) -> str:
    """One text of the rows whose parts these are: of a text, which is in every row, or of columns of texts."""
    columns = (repeat(part) if isinstance(part, str) else part for part in parts)
    return "".join(chain.from_iterable(zip(*columns, strict=False)))


@dataclass(frozen=True, eq=False)
class Coded(Sequence[T], Generic[T]):
    """Values that repeat: `names`, each once, and of each row the place of its value among them, codes (n,)."""

    names: Sequence[T] | Texts
    codes: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Coded[Any]:
        """Code texts, and None, in the order in which they are first met."""
        known: dict[Any, int] = {}
        codes = np.fromiter((known.setdefault(value, len(known)) for value in values), dtype=np.int32)
        return Coded(list(known) if None in known else text_array(known), codes)

    @classmethod
    def all_of(cls, name: Any, n: int) -> Coded[Any]:
        """One value n times."""
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
        """The values, as Python objects."""
        if isinstance(self.names, np.ndarray):
            return list(self.names[self.codes].tolist())
        return [self.names[code] for code in self.codes.tolist()]

    def mapped(self, to: Callable[[T], str]) -> Coded[str]:
        """The column with another text in the place of each value."""
        return Coded([to(name) for name in self.names], self.codes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each name."""
        return np.asarray(np.bincount(self.codes, minlength=len(self.names)), dtype=np.int64)

    def has(self, name: T) -> bool:
        """Whether some row has this value."""
        return bool((np.asarray(self.names)[self.counts > 0] == name).any())

    @property
    def n_used(self) -> int:
        """How many of the values some row has."""
        return int(np.count_nonzero(self.counts))

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The place of each row's text among those that some row has, in their order; (n,)."""
        used = np.flatnonzero(self.counts)
        order = used[np.argsort(np.asarray(self.names)[used], kind="stable")]
        rank = np.zeros(len(self.names), dtype=np.int64)
        rank[order] = np.arange(order.size)
        return np.asarray(rank[self.codes])


class Cells:
    """The cells of a column: numbers, NaN where a cell is blank; texts, empty where it is blank; or objects, or None.

    Indexing and iteration give Python values, None for a blank cell.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @classmethod
    def of(cls, values: Sequence[Any]) -> Cells:
        """The cells of Python values, of which the blank ones are None."""
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
        """The cells of all parts."""
        if len({part.array.dtype for part in parts}) == 1:
            return cls(np.concatenate([part.array for part in parts]))
        return cls.of([value for part in parts for value in part])

    @property
    def are_numbers(self) -> bool:
        """Whether the array is one of numbers."""
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
        """Whether each cell is blank, (n,)."""
        if self.array.dtype.kind == "f":
            return np.asarray(np.isnan(self.array))
        if self.array.dtype.kind in "iu":
            return np.zeros(len(self.array), dtype=np.bool_)
        if isinstance(self.array.dtype, np.dtypes.StringDType):
            return np.asarray(self.array == "")
        blank = (value is None or (isinstance(value, str) and not value) for value in values_of(self.array))
        return np.fromiter(blank, np.bool_, len(self.array))

    def which(self, is_wanted: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """The cells that are not blank and are wanted, (n,). A text is looked at once, however many cells hold it."""
        return self._which(is_wanted, ~self.blank)

    def which_others(self, is_wanted: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """As `which`, among the cells that hold no finite number."""
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
        """The finite number in each cell, (n,): NaN for a blank cell, infinity where it holds anything else."""
        if self.are_numbers:
            return np.where(np.isinf(self.array), math.inf, self.array).astype(np.float64, copy=False)
        parts, known = [np.zeros(0)], dict[str, float]()
        for values, blank in blocks(self.array, self.blank):
            filled = [value for value, no in zip(values, blank, strict=True) if not no]
            try:
                read = np.array([float(value) for value in filled])
            except (TypeError, ValueError, OverflowError):
                read = np.array([_finite(value, known) for value in filled])
            read[~np.isfinite(read)] = math.inf
            part = np.full(len(values), math.nan)
            part[~np.array(blank)] = read
            parts.append(part)
        return np.concatenate(parts)

    def numbers(self, number: Callable[[Any], float | None]) -> NDArray[np.float64]:
        """As `plain`, with the number that `number` finds in a cell that holds anything else, if any."""
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


def _finite(value: Any, known: dict[str, float]) -> float:
    """The number that a cell holds, infinity for none. known: of texts that were met before."""
    if isinstance(value, str) and value in known:
        return known[value]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if isinstance(value, str):
        known[value] = number
    return number


NO_CELLS = Cells.of([])
"""A column of a table without rows."""
