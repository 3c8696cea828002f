"""What a citation pipeline makes of its input: tables, rows and files. Every pipeline has this one result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaeval.config import RunConfig
from metaeval.experiment.job_folder import close_job
from metaeval.files import csv_text, safe_name, sha256_file, write_texts
from metaeval.report.grid import Grid, Note
from metaeval.report.html_report import table_of
from metaeval.report.notebook import frame
from metaeval.report.result import Result, save_result
from metaeval.report.sheet import Record, Sheet, write_sheet, write_tables
from metaeval.report.terminal import text_of

_ON_MISSING = ("not judged", "could be", "left out", "not read", "without facts")


@dataclass(frozen=True)
class RowTable:
    """One record an answer, sentence, statement, fact or citation.

    name: what the records are, and the backend, as in "answers:overlap". stem: name of the files (empty: made of the
    name, per-answers-overlap). columns: the CSV's header where there are no records. words: truth values are True and
    False in the CSV, not 1 and 0.
    """

    name: str
    records: Sequence[Record]
    stem: str = ""
    columns: Sequence[str] = ()
    words: bool = False

    def write(self, folder: Path) -> list[Path]:
        """Write the records as CSV (with a header even without records) and as JSON lines; the paths.

        Same records, same bytes.
        """
        stem = self.stem or "-".join(["per", *map(safe_name, self.name.split(":", 1))])
        fields = list(self.records[0]) if self.records else self.columns
        rows = [
            [int(value) if isinstance(value, bool) and not self.words else value for value in map(row.get, fields)]
            for row in self.records
        ]
        lines = (json.dumps(row, allow_nan=False, separators=(",", ":")) for row in self.records)
        texts = {"csv": csv_text([fields, *rows], "\n"), "jsonl": "".join(f"{line}\n" for line in lines)}
        return write_texts({folder / f"{stem}.{ending}": text for ending, text in texts.items()})


@dataclass(frozen=True, eq=False)
class PipelineResult:
    """What a pipeline makes of its input.

    folder: where the files go. tables: by name, in the order in which they are read; each has `records`, one a line,
    and `grid`, as it is printed. A name with a slash puts the table in a folder below. row_tables: what was judged,
    record by record. files: further texts, by path. shown: the tables that the command prints; None: all of them.
    results: of protocols, by the folder below that they go to. inputs: the files that were read, of the format `form`.
    """

    pipeline: str
    name: str
    config: RunConfig
    folder: Path
    tables: Mapping[str, Sheet]
    row_tables: Sequence[RowTable] = ()
    files: Mapping[Path, str] = field(default_factory=dict)
    shown: Sequence[Grid] | None = None
    results: Mapping[str, Sequence[Result]] = field(default_factory=dict)
    inputs: Sequence[Path] = ()
    form: str = "auto"

    def __str__(self) -> str:
        """The tables as the command prints them."""
        return "\n".join(text_of(grid) for grid in self.grids)

    def __repr__(self) -> str:
        """What it is of, in one line; `print` gives the tables."""
        return f"<PipelineResult: {self.pipeline} of {self.name}; tables {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        """The tables, for a notebook."""
        return "".join(f"<div>{table_of(grid)}</div>" for grid in self.grids)

    def to_frame(self, rows: str = "") -> Any:
        """The estimates as a data frame; rows: in their place what was judged, under its name in `rows`."""
        return frame(self.rows[rows] if rows else self.estimates)

    @property
    def grids(self) -> list[Grid]:
        """The tables that are printed."""
        return [sheet.grid for sheet in self.tables.values()] if self.shown is None else list(self.shown)

    @property
    def rows(self) -> dict[str, Sequence[Record]]:
        """The records of what was judged, under names such as "answers" and, by backend, "answers:overlap"."""
        return {table.name: table.records for table in self.row_tables}

    @property
    def estimates(self) -> list[Record]:
        """Every measure of every system, with its interval, under each backend."""
        found = (record for sheet in self.tables.values() for record in sheet.records)
        return [record for record in found if {"measure", "value"} <= record.keys()]

    @property
    def signatures(self) -> list[str]:
        """What pins every choice that made the numbers, a line for each backend or judge."""
        return list(dict.fromkeys(line for sheet in self.tables.values() for line in sheet.grid.signatures))

    @property
    def notes(self) -> list[Note]:
        """What stands below the tables, each note once."""
        return list(dict.fromkeys(note for sheet in self.tables.values() for note in sheet.grid.footer))

    @property
    def missing(self) -> list[Note]:
        """The notes that say what has no verdict or was left out, and what the numbers could be with it."""
        return [note for note in self.notes if note.label in _ON_MISSING]

    def write(self) -> list[Path]:
        """Write tables, rows, files and results; the paths. Same result, same bytes.

        The manifest in each folder holds time and machine; it alone differs.
        """
        written = write_texts(self.files)
        written += [path for table in self.row_tables for path in table.write(self.folder)]
        for name, sheet in self.tables.items():
            written += write_sheet(sheet, (self.folder / name).parent)
        for place, results in self.results.items():
            for result in results:
                path = self.folder / place / result.protocol
                saved = path.with_name(f"{path.name}.json")
                save_result(result, saved)
                written += [saved, *write_tables(result, path)]
        data = [sheet.data for sheet in self.tables.values()]
        inputs = {str(path): sha256_file(path) for path in self.inputs if path.is_file()}
        read = {"inputs": inputs, "format": self.form}
        close_job(self.config, f"cite {self.pipeline}", self.folder, data, written, read)
        return written
