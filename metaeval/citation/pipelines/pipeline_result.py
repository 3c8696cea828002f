"""The result of a citation pipeline: tables, rows and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaeval.citation.pipelines.pipeline import Layout
from metaeval.config import RunConfig
from metaeval.files import declare, inputs_protected, sha256_file, write_texts
from metaeval.report.data_frame import frame
from metaeval.report.html_report import table_of
from metaeval.report.result import save_result
from metaeval.report.table import Note, Record, Table
from metaeval.report.table_files import write_page, write_rows, write_table
from metaeval.report.terminal import text_of
from metaeval.runs.job_folder import Command, close_job

_ON_MISSING = ("not judged", "could be", "left out", "not read", "without facts")


@dataclass(frozen=True, eq=False, kw_only=True)
class PipelineResult(Layout):
    """The result of a citation pipeline: what it has laid out, by name, in the folder of its job.

    tables: in reading order; a name with a slash puts the table in a subfolder. rows: what was judged, record by
    record. shown: the tables that the command prints (None: all). inputs: the files that were read, of the format
    `form`. recipe: what `metaeval results rerun` reads; empty where answers were objects.
    """

    command: Command
    pipeline: str
    name: str
    config: RunConfig
    folder: Path
    tables: Mapping[str, Table]
    rows: Mapping[str, Table]
    inputs: Sequence[Path] = ()
    form: str = "auto"
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the tables as the command prints them."""
        return "\n".join(text_of(grid) for grid in self.grids)

    def __repr__(self) -> str:
        """Return one line with the pipeline, the data and the names of the tables."""
        return f"<PipelineResult: {self.pipeline} of {self.name}; tables {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        """Return the tables as HTML, for a notebook."""
        return "".join(f"<div>{table_of(grid)}</div>" for grid in self.grids)

    def to_frame(self, rows: str = "") -> Any:
        """Return the estimates as a data frame, or with `rows`, the name of a table of rows, its records."""
        return frame(self.rows[rows] if rows else self.estimates)

    @property
    def grids(self) -> list[Table]:
        """The tables that are printed."""
        return list(self.tables.values()) if self.shown is None else list(self.shown)

    @property
    def estimates(self) -> list[Record]:
        """The records of all tables that hold a measure and its value, of every system with each backend."""
        records = (record for sheet in self.tables.values() for record in sheet.records)
        return [record for record in records if {"measure", "value"} <= record.keys()]

    @property
    def signatures(self) -> list[str]:
        """The signatures that state every choice behind the numbers, one per backend or judge."""
        return list(dict.fromkeys(line for sheet in self.tables.values() for line in sheet.signatures))

    @property
    def notes(self) -> list[Note]:
        """The notes below the tables, without duplicates."""
        return list(dict.fromkeys(note for sheet in self.tables.values() for note in sheet.footer))

    @property
    def missing(self) -> list[Note]:
        """The notes on what has no verdict or was left out, and on the bounds that this leaves."""
        return [note for note in self.notes if note.label in _ON_MISSING]

    def write(self, noted: Mapping[str, Any] | None = None) -> list[Path]:
        """Write tables, rows, files and results, and return their paths.

        The same result gives the same bytes, but for the time and machine in manifests. noted: further fields of the
        manifest (default: the recipe).
        """
        with inputs_protected():
            declare("input", *self.inputs)
            written = write_texts(self.files)
        written += [write_rows(table, self.folder) for table in self.rows.values()]
        for name, table in self.tables.items():
            written += write_table(table, (self.folder / name).parent)
        for place, results in self.results.items():
            for result in results:
                written.append(self.folder / place / f"{result.protocol}.json")
                save_result(result, written[-1])
        written += write_page(f"{self.command.name}: {self.name}", written, self.folder)
        data = [sheet.data for sheet in self.tables.values()]
        inputs = {str(path): sha256_file(path) for path in self.inputs if path.is_file()}
        recipe = {"recipe": self.recipe} if self.recipe else {}
        read = {"inputs": inputs, "format": self.form, **(recipe if noted is None else noted)}
        close_job(self.config, self.command, self.folder, data, written, read)
        return written
