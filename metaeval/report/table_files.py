"""Tables as files: JSON, which is read back, and text, Markdown, LaTeX and CSV for people and other programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from metaeval.core.errors import UserError, unknown
from metaeval.core.files import csv_text, write_texts
from metaeval.core.parsing import json_objects
from metaeval.report import latex, markdown, terminal
from metaeval.report.html_report import Section, page_of
from metaeval.report.judge_card import judge_cards
from metaeval.report.multiverse import MULTIVERSE, load_multiverse, multiverse_tables
from metaeval.report.result import SCHEMA as RESULT
from metaeval.report.result import checked, load_result, read_versioned
from metaeval.report.result_tables import lay_out
from metaeval.report.table import NO_DATA, Note, Table, plain

SCHEMA = "metaeval-table/1"

# The formats that a table can be written in beside JSON, with the endings of their files.
FORMATS = {"text": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv"}

PAGE = "report.html"

_LAYOUT = TypeAdapter(Table)


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write a table as NAME.json, from which all other formats are made, and return the path in a list."""
    data = {
        **_LAYOUT.dump_python(table, mode="json", exclude_defaults=True, exclude={"records"}),
        "schema": SCHEMA,
        "name": table.name,
        "data": table.data.model_dump(mode="json"),
        "settings": dict(table.settings),
        "signatures": list(table.signatures),
        "records": [dict(record) for record in table.records],
    }
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return write_texts({folder / f"{table.name}.json": text})


def write_rows(table: Table, folder: Path) -> Path:
    """Write the records alone as NAME.jsonl, and return the path. The same records give the same bytes."""
    lines = (json.dumps(record, allow_nan=False, separators=(",", ":")) for record in table.records)
    return write_texts({folder / f"{table.name}.jsonl": "".join(f"{line}\n" for line in lines)})[0]


def load_table(path: Path) -> Table:
    """Read a table's JSON ; raises `UserError` for another file, or that names a wrong field."""
    data, version = read_versioned(path)
    if version != SCHEMA:
        raise UserError(f"{path}: schema is {version!r}; this version reads {SCHEMA!r}: give the JSON file of a table.")
    return checked(Table, {name: value for name, value in data.items() if name != "schema"}, path)


def tables_in(path: Path) -> list[Table]:
    """Return the tables of a JSON file of a result (with a judge's card), an analysis or a multiverse; else none."""
    version = read_versioned(path)[1] if path.suffix == ".json" else None
    if version == RESULT:
        result = load_result(path)
        return [lay_out(result), *judge_cards(result, sys.maxsize)]
    if version == SCHEMA:
        return [load_table(path)]
    return multiverse_tables(load_multiverse(path)) if version == MULTIVERSE else []


def printed(paths: Iterable[Path], labels: Mapping[str, str] | None = None) -> dict[Path, str]:
    """Return the tables of a job's files as text, by JSON file. labels: as in `table_text`."""
    tables = ((path, tables_in(path)) for path in paths)
    return {path: "\n".join(table_text(each, "text", labels=labels) for each in of) for path, of in tables if of}


def write_page(heading: str, paths: Iterable[Path], folder: Path) -> list[Path]:
    """Write the tables of these files as one HTML page; return its path in a list, which is empty without tables."""
    tables = [table for path in paths for table in tables_in(path)]
    if not tables:
        return []
    named = ", ".join(dict.fromkeys(plain(table.data.name) for table in tables if table.data.name))
    title = f"{heading}: {named}" if named else heading
    return write_texts({folder / PAGE: page_of(title, [Section([(table, "") for table in tables])])})


def check_format(name: str) -> None:
    """Raise `UserError`, with the nearest and all known names, for an unknown format."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)


def table_text(table: Table, name: str, controls: bool = False, labels: Mapping[str, str] | None = None) -> str:
    """Return a table in the format `name` (`FORMATS`); raises `UserError` for an unknown one.

    controls: whether LaTeX includes the block of controls. labels: what is printed in place of the names of metrics and
    data sets; CSV keeps the names.
    """
    check_format(name)
    if name == "csv":
        return _csv(table)
    shown = labelled(table, labels or {})
    if name == "latex":
        return latex.table_of(shown, controls)
    return terminal.text_of(shown) if name == "text" else markdown.page_of(shown)


def labelled(table: Table, labels: Mapping[str, str]) -> Table:
    """Return the table with other words for names; what follows a name, as in bertscore-f1, is kept."""
    if not labels:
        return table
    longest_first = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w-])(?:{longest_first})(?!\w)")

    def named(text: str) -> str:
        return pattern.sub(lambda match: labels[match[0]], text)

    def noted(notes: Sequence[Note]) -> tuple[Note, ...]:
        items = (tuple((named(names), named(text)) for names, text in note.items) for note in notes)
        return tuple(Note(note.label, named(note.text), of) for note, of in zip(notes, items, strict=True))

    lines = (tuple(replace(line, name=named(line.name)) for line in block.lines) for block in table.blocks)
    return replace(
        table,
        subtitle=named(table.subtitle),
        headings=tuple(map(named, table.headings)),
        groups=tuple(replace(group, title=named(group.title)) for group in table.groups),
        blocks=tuple(replace(block, lines=of) for block, of in zip(table.blocks, lines, strict=True)),
        footnotes=noted(table.footnotes),
        footer=noted(table.footer),
    )


def format_texts(path: Path, names: Iterable[str], labels: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the tables of a file in these formats, by file ending; formats without a text are left out.

    JSON lines can only be CSV. CSV holds the first table: for a multiverse, every metric under every specification.
    names: of the formats. labels: as in `table_text`.
    """
    if path.suffix == ".jsonl":
        rows = [row for _, row in json_objects(path, "export a job as it was written", True)] if "csv" in names else []
        fields = list(dict.fromkeys(name for row in rows for name in row))
        lines = [[_csv_value(row.get(name)) for name in fields] for row in rows]
        return {".csv": csv_text([fields, *lines], "\n")} if rows else {}
    tables = tables_in(path)
    texts = {
        name: [table_text(table, name, labels=labels) for table in (tables[:1] if name == "csv" else tables)]
        for name in names
    }
    return {FORMATS[name]: "\n".join(parts) for name, parts in texts.items() if parts}


def _csv_value(value: object) -> object:
    """Return a truth value as 1 or 0, and a list or an object as JSON."""
    if isinstance(value, bool):
        return int(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _csv(table: Table) -> str:
    """Return a table's records as RFC 4180 text with data set and split; without records, the table as printed.

    Numbers are raw (not scaled, not rounded) and read back to the same float; undefined is empty.
    """
    if not table.records:
        lines = ([line.name, *(cell.number for cell in line.cells)] for line in table.lines)
        return csv_text([[table.stub, *table.headings], *lines])
    fields = list(table.records[0])
    nameless = "dataset" in fields or table.data == NO_DATA
    data = {} if nameless else {"dataset": table.data.name, "split": table.data.split}
    return csv_text([[*data, *fields], *([*data.values(), *map(row.get, fields)] for row in table.records)])
