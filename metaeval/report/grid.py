"""The format-neutral table: what every renderer prints, as plain text in named places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rank = Literal["best", "second", ""]


@dataclass(frozen=True)
class Cell:
    """One value as printed.

    `interval` is the interval as one text, empty when there is none, and `ends` its two ends; `marks` name footnotes,
    in the footnotes' order.
    """

    number: str
    interval: str = ""
    ends: tuple[str, str] | None = None
    rank: Rank = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One metric or control with its cells, in the order of `Grid.headings`."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Note:
    """A footnote or footer line: its mark or label, a sentence, and what it says of single rows as (names, text)."""

    label: str
    text: str
    items: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Grid:
    """A whole table. `key` tells it from other tables: protocol, data set, split, unit."""

    key: tuple[str, ...]
    title: str
    subtitle: str
    headings: tuple[str, ...]
    metrics: tuple[Line, ...]
    controls: tuple[Line, ...]
    legend: str
    footnotes: tuple[Note, ...]
    footer: tuple[Note, ...]
    signatures: tuple[str, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every row, metrics first."""
        return self.metrics + self.controls
