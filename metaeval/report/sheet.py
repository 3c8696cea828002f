"""A sheet: one table of an analysis, as tidy data and as it is printed, and its files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from metaeval.errors import UserError
from metaeval.files import csv_text, write_texts
from metaeval.report import latex, markdown, terminal
from metaeval.report.grid import Block, Grid, Group, Note, plain
from metaeval.report.result import Data, checked, read_versioned

SCHEMA = "metaeval-sheet/1"

_PAGE = 40
"""Lines that a page of LaTeX holds."""

Scalar = bool | int | float | str | None
Record = Mapping[str, Scalar]


@dataclass(frozen=True)
class Sheet:
    """name: of its files. data: what was judged. settings: what else the numbers depend on. records: one mapping a
    row, all with the same fields; raw numbers, None where undefined. grid: as printed.
    """

    name: str
    data: Data
    settings: Record
    records: Sequence[Record]
    grid: Grid


def sheet_of(
    name: str,
    title: str,
    data: Data,
    table: tuple[str, Sequence[str], Sequence[Block]],
    records: Sequence[Record],
    footer: Sequence[Note],
    signatures: Iterable[str],
    *,
    unit: str,
    settings: Record,
    subtitle: str = "",
    footnotes: Sequence[Note] = (),
    groups: Sequence[Group] = (),
) -> Sheet:
    """A sheet of lines in blocks. table: heading of the names, headings of the columns, blocks; subtitle: else data."""
    stub, headings, blocks = table
    grid = Grid(
        key=(name, data.name, data.split, unit),
        title=title,
        subtitle=subtitle or plain(data.name),
        headings=tuple(headings),
        blocks=tuple(blocks),
        footnotes=tuple(footnotes),
        footer=tuple(footer),
        signatures=tuple(signatures),
        stub=stub,
        groups=tuple(groups),
    )
    return Sheet(name, data, settings, records, grid)


class SheetFile(BaseModel):
    """A sheet read back."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)

    schema_: Literal["metaeval-sheet/1"] = Field(default="metaeval-sheet/1", alias="schema")
    name: str
    data: Data
    settings: dict[str, Scalar]
    signatures: list[str]
    records: list[dict[str, Scalar]]

    @model_validator(mode="after")
    def _one_shape(self) -> SheetFile:
        if len({tuple(sorted(record)) for record in self.records}) > 1:
            raise ValueError("records must all have the same fields")
        return self


def known(value: float) -> float | None:
    """A number of the statistics as it is stored: None where it is undefined."""
    return None if math.isnan(value) else float(value)


def write_sheet(sheet: Sheet, folder: Path) -> list[Path]:
    """Write a sheet as JSON, text, Markdown, LaTeX and CSV into a folder; the paths. Same sheet, same bytes."""
    fields = list(sheet.records[0]) if sheet.records else []
    rows = ([sheet.data.name, sheet.data.split, *(one[field] for field in fields)] for one in sheet.records)
    texts = {
        "json": _json(sheet),
        "txt": terminal.text_of(sheet.grid),
        "md": markdown.page_of(sheet.grid),
        "tex": _tex(sheet.grid),
        "csv": csv_text([["dataset", "split", *fields], *rows]),  # one line a record; undefined is empty
    }
    return write_texts({folder / f"{sheet.name}.{suffix}": text for suffix, text in texts.items()})


def load_sheet(path: Path) -> SheetFile:
    """Read a sheet's JSON; `UserError` names the field that is wrong."""
    data, version = read_versioned(path)
    if version != SCHEMA:
        raise UserError(f"{path}: schema is {version!r}; this version reads {SCHEMA!r}. Is it a sheet of an analysis?")
    return checked(SheetFile, data, path)


def _json(sheet: Sheet) -> str:
    data = {
        "schema": SCHEMA,
        "name": sheet.name,
        "data": sheet.data.model_dump(mode="json"),
        "settings": dict(sheet.settings),
        "signatures": list(sheet.grid.signatures),
        "records": [dict(record) for record in sheet.records],
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _tex(grid: Grid) -> str:
    """LaTeX: one table, or one for each block where there are more lines than a page holds."""
    if len(grid.lines) <= _PAGE or len(grid.blocks) < 2:
        return latex.table_of(grid)
    parts = [replace(grid, key=(*grid.key, block.title), blocks=(block,)) for block in grid.blocks]
    return "\n".join(latex.table_of(part) for part in parts)
