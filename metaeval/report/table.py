"""The one table: what every renderer prints, as plain text in named places, the data behind it, and numbers as text.

Every text of a table becomes `Shown` as it is put in: renderers ask for that type and add what their format needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from pydantic import ConfigDict

from metaeval.core.errors import Bounds, Items, Shown, Texts, Words, count
from metaeval.core.files import sha256_json
from metaeval.report.data_frame import Recorded
from metaeval.report.result import Column, Data, Row
from metaeval.stats.estimate import Estimate

Rank = Literal["best", "second", ""]
Scalar = bool | int | float | str | None
Record = Mapping[str, Scalar]
Key = TypeVar("Key")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Cell:
    """One value as printed, with the ends of its interval (None: no interval).

    rank: best or second best of its column. marks: letters of significance and names of footnotes, in the
    footnotes' order. asides: values in brackets below.
    """

    number: Words = Words("")
    ends: Bounds = Bounds(None)
    rank: Rank = ""
    marks: Texts = Texts(())
    asides: Texts = Texts(())

    @property
    def interval(self) -> Shown:
        """Return the interval as one text, "" without one; beside a sign a dash could not be read."""
        if self.ends is None:
            return Shown("")
        return Shown((" to " if {end[:1] for end in self.ends} & {"-", "+"} else "–").join(self.ends))


@dataclass(frozen=True)
class TableLine:
    """A line of a table, such as that of a metric: its name, and its cells in the order of `Table.headings`."""

    name: Words = Words("")
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Block:
    """A block of table lines under a title (empty: none)."""

    title: Words = Words("")
    lines: tuple[TableLine, ...] = ()


# The note on demo data in every table, page and list of findings.
DEMO = "the labels were written for this package: report no metric's quality from them"

# A line of a table as it is made: (title of its block, name, cells); a text stands for a cell that prints it.
TableRow = tuple[str, str, Sequence["Cell | str"]]


def blocks_of(rows: Iterable[TableRow]) -> tuple[Block, ...]:
    """Return these lines in blocks of one title each, in the order of first lines; one empty block without lines."""
    blocks = grouped(
        (title, TableLine(plain(name), tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells)))
        for title, name, cells in rows
    )
    return tuple(Block(title, tuple(lines)) for title, lines in blocks.items()) or (Block(),)


@dataclass(frozen=True)
class ColumnGroup:
    """A heading over `columns` neighbouring columns."""

    title: Words = Words("")
    columns: int = 1


@dataclass(frozen=True)
class Note:
    """A footnote or footer line: a mark or label, a sentence, and items (names of rows, text) on single rows."""

    label: Words = Words("")
    text: Words = Words("")
    items: Items = Items(())

    @property
    def line(self) -> str:
        """Return the text of the note and its items in one line, without the label."""
        return " ".join(filter(None, (self.text, "; ".join(f"{names}: {text}" for names, text in self.items))))


# The data of a table that belongs to no data set.
NO_DATA = Data(
    name="", split="", fingerprint=sha256_json([]), statements=0, documents=0, citations=0, groups=0, levels={}
)


@dataclass(frozen=True, repr=False)
class Table(Recorded):
    """A table, both as printed (headings and lines) and as data (a sequence of records).

    Parameters
    ----------
    key : tuple of str
        What distinguishes it from other tables (protocol, data set, split, unit).
    title, subtitle : str
        Printed above it.
    headings : tuple of str
        Of the columns of values.
    blocks : tuple of Block
        The printed lines.
    legend : str
        What bold and underlined numbers mean.
    footnotes, footer : tuple of Note
        Printed below it.
    signatures : tuple of str
        What the numbers depend on.
    stub : str, default "metric"
        The heading of the column of names.
    groups : tuple of ColumnGroup
        They cover all columns in order, or there are none.
    name : str
        Of its files.
    data : Data
        What was judged.
    settings : mapping
        What else the numbers depend on.
    records : sequence of mapping
        One mapping a row of the data behind the lines, all with the same fields; raw numbers, None where undefined.

    Raises
    ------
    ValueError
        For records of unlike fields.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    key: Texts = Texts(())
    title: Words = Words("")
    subtitle: Words = Words("")
    headings: Texts = Texts(())
    blocks: tuple[Block, ...] = ()
    legend: Words = Words("")
    footnotes: tuple[Note, ...] = ()
    footer: tuple[Note, ...] = ()
    signatures: Texts = Texts(())
    stub: Words = Words("metric")
    groups: tuple[ColumnGroup, ...] = ()
    name: str = ""
    data: Data = NO_DATA
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    records: Sequence[Record] = ()

    def __post_init__(self) -> None:
        if len({tuple(sorted(record)) for record in self.records}) > 1:
            raise ValueError("records must all have the same fields")

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, place: int) -> Record:
        return self.records[place]

    def __repr__(self) -> str:
        first = f"; the first is {self[0]!r}" if self else ""
        return f"<{count(len(self), 'row')} of {', '.join(self[0]) if self else 'nothing'}{first}>"

    @property
    def lines(self) -> tuple[TableLine, ...]:
        """Return every line, block after block."""
        return tuple(line for block in self.blocks for line in block.lines)

    def noting(self, demo: bool) -> Table:
        """Return the table, with a note that its labels are made up if so.

        Parameters
        ----------
        demo : bool
            Whether they are.

        Returns
        -------
        Table
        """
        if not demo or any(note.text == DEMO for note in self.footer):
            return self
        return replace(self, footer=(Note("demo data", DEMO), *self.footer))


CONTROLS = "controls"  # title of the block of controls

CONTROL = " (control)"  # what follows the name of a metric that is also a control

# Labels of the footer's notes on what is missing and what cells mean; others say how the numbers were made.
READING = frozenset(
    {"not run", "not judged", "could be", "left out", "not read", "without facts", "warnings", "blank"}
    | {"significance", "ceiling", "published", "reading"}
)

UNDEFINED = "–"
_MISSING = Estimate(None, note="not computed")


def value_of(row: Row, column: Column) -> Estimate:
    """Return the row's value in a column; an undefined one when the result does not hold it."""
    return row.values.get(column.key, _MISSING)


def format_value(value: float | None, column: Column) -> str:
    """Return a value as printed: times the column's scale, with its digits; a dash for None and NaN."""
    if value is None or math.isnan(value):
        return UNDEFINED
    text = f"{value * column.scale:.{column.digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def short(number: str) -> str:
    """Return a printed number without a zero before its point: .585, -.585."""
    return re.sub(r"^(-?)0\.", r"\1.", number)


def format_p(p: float | None) -> str:
    """Return a p-value with four decimals: 1,000 permutations can give 0.0010, and 0.0504 must not look like 0.05."""
    if p is None:
        return UNDEFINED
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def place_of(data: Data, *more: str) -> str:
    """Return the data set and its split as text. more: what else identifies the data of a table."""
    return ", ".join(part for part in (plain(data.name), plain(data.split), *more) if part)


def known(value: float) -> float | None:
    """Return a statistic as files store it: None where it is undefined (NaN)."""
    return None if math.isnan(value) else float(value)


def share(part: int, whole: int) -> str:
    """Return a share in per cent with one decimal; only 0 (and of a whole of 0) and the whole are printed as 0, 100."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 0.05:
        return "under 0.1 %"
    if 99.95 <= percent < 100:
        return "over 99.9 %"
    return f"{percent:.1f} %"


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Return the items of each key; keys and items in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def plain(text: str) -> Shown:
    """Return a name or sentence as one line of visible characters, with single spaces."""
    return Shown(" ".join(Shown(text).split()))
