"""A table for other programs: tidy CSV, one row for each metric and measure, at full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from metaeval.report.result import Result, Row, Value

FIELDS = (
    "protocol",
    "dataset",
    "split",
    "unit",
    "metric",
    "kind",
    "measure",
    "value",
    "low",
    "high",
    "tie_worst",
    "tie_best",
    "bound_worst",
    "bound_best",
    "ceiling",
    "published",
    "cluster",
    "note",
    "scored",
    "unscored",
    "excluded",
    "total",
    "signature",
)


def render(result: Result) -> str:
    """RFC 4180 text. Numbers are raw (not scaled, not rounded) and read back to the same float; undefined is empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, FIELDS)
    writer.writeheader()
    for row in result.rows:
        for measure in _measures(result, row):
            writer.writerow(_record(result, row, measure, row.values[measure]))
    return file.getvalue()


def _measures(result: Result, row: Row) -> Iterator[str]:
    """The row's measures: those of the table in its order, then any that the table does not show."""
    shown = [column.key for column in result.columns]
    yield from (key for key in shown if key in row.values)
    yield from sorted(set(row.values) - set(shown))


def _record(result: Result, row: Row, measure: str, value: Value) -> dict[str, str | float | int | None]:
    tie_worst, tie_best = value.ties or (None, None)
    bound_worst, bound_best = value.bounds or (None, None)
    return {
        "protocol": result.protocol,
        "dataset": result.data.name,
        "split": result.data.split,
        "unit": result.unit,
        "metric": row.metric,
        "kind": row.kind,
        "measure": measure,
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "tie_worst": tie_worst,
        "tie_best": tie_best,
        "bound_worst": bound_worst,
        "bound_best": bound_best,
        "ceiling": value.ceiling,
        "published": value.published,
        "cluster": row.clusters.get(measure),
        "note": value.note,
        "scored": row.scored,
        "unscored": row.unscored,
        "excluded": sum(row.excluded.values()),
        "total": row.total,
        "signature": row.signature,
    }
