"""The table formats by name, for a command that writes some or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from metaeval.errors import unknown
from metaeval.files import write_text
from metaeval.report import csv_table, latex, markdown, terminal
from metaeval.report.result import Result


@dataclass(frozen=True)
class Format:
    """A file suffix, with its dot, and the function that makes the file's text."""

    suffix: str
    render: Callable[[Result], str]


FORMATS = {
    "terminal": Format(".txt", terminal.text),
    "markdown": Format(".md", markdown.render),
    "latex": Format(".tex", latex.render),
    "csv": Format(".csv", csv_table.render),
}


def find_format(name: str) -> Format:
    """The format of that name; `UserError` with the nearest name and all known ones."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def write_tables(result: Result, stem: Path, names: Iterable[str] = tuple(FORMATS)) -> list[Path]:
    """Write `stem` plus each format's suffix and return the paths; an unknown name writes nothing."""
    formats = [find_format(name) for name in names]
    paths = [stem.with_name(stem.name + found.suffix) for found in formats]
    for found, path in zip(formats, paths, strict=True):
        write_text(path, found.render(result))
    return paths
