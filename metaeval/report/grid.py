"""The format-neutral table: what every renderer prints, as plain text in named places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rank = Literal["best", "second", ""]


@dataclass(frozen=True)
class Cell:
    """One value as printed.

    `interval` is the interval as one text, empty when there is none, and `ends` its two ends; `marks` are the number of
    the significance cluster and the names of footnotes, in the footnotes' order; `asides` stand below the number.
    """

    number: str
    interval: str = ""
    ends: tuple[str, str] | None = None
    rank: Rank = ""
    marks: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One metric or control with its cells, in the order of `Grid.headings`."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """Lines that belong together, under a title of their own (empty: none)."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Group:
    """A heading over `columns` neighbouring columns."""

    title: str
    columns: int


@dataclass(frozen=True)
class Note:
    """A footnote or footer line: its mark or label, a sentence, and what it says of single rows as (names, text)."""

    label: str
    text: str
    items: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Grid:
    """A whole table. `key` tells it from other tables: protocol, data set, split, unit.

    `stub` heads the column of names. `groups` cover all columns in order, or there are none.
    """

    key: tuple[str, ...]
    title: str
    subtitle: str
    headings: tuple[str, ...]
    blocks: tuple[Block, ...]
    legend: str
    footnotes: tuple[Note, ...]
    footer: tuple[Note, ...]
    signatures: tuple[str, ...]
    stub: str = "metric"
    groups: tuple[Group, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every row, block after block."""
        return tuple(line for block in self.blocks for line in block.lines)
