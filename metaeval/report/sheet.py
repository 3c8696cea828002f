"""Tables as files: a result in every format, and sheets, each one table of an analysis as tidy data and as printed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from metaeval.errors import UserError, unknown
from metaeval.files import csv_text, write_texts
from metaeval.report import latex, markdown, terminal
from metaeval.report.cells import lay_out
from metaeval.report.grid import Block, Grid, Group, Note, plain
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Data, Result, checked, read_versioned

SCHEMA = "metaeval-sheet/1"

_PAGE = 40  # lines that a page of LaTeX holds

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
    data = {
        "schema": SCHEMA,
        "name": sheet.name,
        "data": sheet.data.model_dump(mode="json"),
        "settings": dict(sheet.settings),
        "signatures": list(sheet.grid.signatures),
        "records": [dict(record) for record in sheet.records],
    }
    texts = {
        "json": json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n",
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


def _tex(grid: Grid) -> str:
    """LaTeX: one table, or one for each block where there are more lines than a page holds."""
    if len(grid.lines) <= _PAGE or len(grid.blocks) < 2:
        return latex.table_of(grid)
    parts = [replace(grid, key=(*grid.key, block.title), blocks=(block,)) for block in grid.blocks]
    return "\n".join(latex.table_of(part) for part in parts)


FIELDS = (
    *("protocol", "dataset", "split", "unit", "metric", "kind", "measure"),
    *("value", "low", "high", "tie_worst", "tie_best", "bound_worst", "bound_best", "ceiling"),
    *("perfect_full", "perfect_any", "perfect_share", "published", "cluster", "note"),
    *("scored", "unscored", "excluded", "total", "signature"),
)
"""Names of what `records` gives."""


def tidy_csv(result: Result) -> str:
    """A table for other programs, one row for each metric and measure, as RFC 4180 text.

    Numbers are raw (not scaled, not rounded) and read back to the same float; undefined is empty. A row's measures are
    those of the table in its order, then any that the table does not show.
    """
    return csv_text([[*FIELDS], *(record.values() for record in records(result))])


def records(result: Result) -> Iterator[dict[str, str | float | int | None]]:
    """The rows of `tidy_csv`, each by its fields."""
    data, shown, nothing = result.data, [column.key for column in result.columns], (None, None)
    for row in result.rows:
        for key in (*(key for key in shown if key in row.values), *sorted(set(row.values) - set(shown))):
            value, perfect = row.values[key], result.perfect.values.get(key, {}) if result.perfect else {}
            fields = (
                *(result.protocol, data.name, data.split, result.unit, row.metric, row.kind, key),
                *(
                    value.value,
                    value.low,
                    value.high,
                    *(value.ties or nothing),
                    *(value.bounds or nothing),
                    value.ceiling,
                ),
                *(perfect.get(what) for what in (FULL_SUPPORT, ANY_SUPPORT, EVIDENCE_SHARE)),
                *(value.published, row.clusters.get(key), value.note),
                *(row.scored, row.unscored, sum(row.excluded.values()), row.total, row.signature),
            )
            yield dict(zip(FIELDS, fields, strict=True))


FORMATS = {"terminal": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv"}
"""The formats of a result's table, with the endings of their files."""


def check_format(name: str) -> None:
    """Raise `UserError`, with the nearest name and all known ones, for a format that is none."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)


def table_text(result: Result, name: str, controls: bool = False) -> str:
    """A result in the format of that name. controls: LaTeX with the controls too. Raises as `check_format`."""
    check_format(name)
    if name == "csv":
        return tidy_csv(result)
    grid = lay_out(result)
    if name == "latex":
        return latex.table_of(grid, controls)
    return terminal.text_of(grid) if name == "terminal" else markdown.page_of(grid)


def write_tables(result: Result, stem: Path) -> list[Path]:
    """Write `stem` plus each format's ending and return the paths."""
    return write_texts({stem.with_name(stem.name + end): table_text(result, name) for name, end in FORMATS.items()})
