"""The table formats of a result by name, for a command that writes some or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from metaeval.errors import unknown
from metaeval.files import csv_text, write_texts
from metaeval.report import latex, markdown, terminal
from metaeval.report.cells import lay_out
from metaeval.report.result import ANY_SUPPORT, EVIDENCE_SHARE, FULL_SUPPORT, Result, Row, Value

_FIELDS: dict[str, Callable[[Result, Row, str, Value], str | float | int | None]] = {
    "protocol": lambda result, row, key, value: result.protocol,
    "dataset": lambda result, row, key, value: result.data.name,
    "split": lambda result, row, key, value: result.data.split,
    "unit": lambda result, row, key, value: result.unit,
    "metric": lambda result, row, key, value: row.metric,
    "kind": lambda result, row, key, value: row.kind,
    "measure": lambda result, row, key, value: key,
    "value": lambda result, row, key, value: value.value,
    "low": lambda result, row, key, value: value.low,
    "high": lambda result, row, key, value: value.high,
    "tie_worst": lambda result, row, key, value: value.ties[0] if value.ties else None,
    "tie_best": lambda result, row, key, value: value.ties[1] if value.ties else None,
    "bound_worst": lambda result, row, key, value: value.bounds[0] if value.bounds else None,
    "bound_best": lambda result, row, key, value: value.bounds[1] if value.bounds else None,
    "ceiling": lambda result, row, key, value: value.ceiling,
    "perfect_full": lambda result, row, key, value: _detected(result, key, FULL_SUPPORT),
    "perfect_any": lambda result, row, key, value: _detected(result, key, ANY_SUPPORT),
    "perfect_share": lambda result, row, key, value: _detected(result, key, EVIDENCE_SHARE),
    "published": lambda result, row, key, value: value.published,
    "cluster": lambda result, row, key, value: row.clusters.get(key),
    "note": lambda result, row, key, value: value.note,
    "scored": lambda result, row, key, value: row.scored,
    "unscored": lambda result, row, key, value: row.unscored,
    "excluded": lambda result, row, key, value: sum(row.excluded.values()),
    "total": lambda result, row, key, value: row.total,
    "signature": lambda result, row, key, value: row.signature,
}
"""What each field holds of a result's row, of the measure with this key and its value."""


def _detected(result: Result, key: str, what: str) -> float | None:
    """What a perfect detector of this would score under the measure; None where the result does not say."""
    return result.perfect.values.get(key, {}).get(what) if result.perfect else None


def tidy_csv(result: Result) -> str:
    """A table for other programs, one row for each metric and measure, as RFC 4180 text.

    Numbers are raw (not scaled, not rounded) and read back to the same float; undefined is empty. A row's measures are
    those of the table in its order, then any that the table does not show.
    """
    return csv_text([[*_FIELDS], *(record.values() for record in records(result))])


def records(result: Result) -> Iterator[dict[str, str | float | int | None]]:
    """The rows of `tidy_csv`, each by its fields."""
    shown = [column.key for column in result.columns]
    for row in result.rows:
        for key in (*(key for key in shown if key in row.values), *sorted(set(row.values) - set(shown))):
            yield {name: field(result, row, key, row.values[key]) for name, field in _FIELDS.items()}


@dataclass(frozen=True)
class Format:
    """A file suffix, with its dot, and the function that makes the file's text."""

    suffix: str
    render: Callable[[Result], str]


FORMATS = {
    "terminal": Format(".txt", lambda result: terminal.text_of(lay_out(result))),
    "markdown": Format(".md", lambda result: markdown.page_of(lay_out(result))),
    "latex": Format(".tex", lambda result: latex.table_of(lay_out(result))),
    "csv": Format(".csv", tidy_csv),
}


def find_format(name: str) -> Format:
    """The format of that name; `UserError` with the nearest name and all known ones."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def table_text(result: Result, name: str, controls: bool = False) -> str:
    """A result in the format of that name. controls: LaTeX with the controls too."""
    form = find_format(name)
    return latex.table_of(lay_out(result), controls) if name == "latex" else form.render(result)


def write_tables(result: Result, stem: Path) -> list[Path]:
    """Write `stem` plus each format's suffix and return the paths."""
    return write_texts({stem.with_name(stem.name + found.suffix): found.render(result) for found in FORMATS.values()})
