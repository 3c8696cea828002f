"""Rows as a data frame, and as a table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metaeval.core.errors import Shown

ROWS = 20  # rows that a notebook shows


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as a pandas data frame whose columns are the fields of the first row; a field that lacks is None."""
    import pandas as pd

    listed = [dict(row) for row in rows]
    return pd.DataFrame({name: [row.get(name) for row in listed] for name in (listed[0] if listed else ())})


def rows_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the first `ROWS` rows as an HTML table under their fields, and the number of rows left out, if any."""
    lines = [list(rows[0]) if rows else [], *(list(row.values()) for row in rows[:ROWS])]
    cells = ["".join(f"<td>{html.escape(Shown(str(cell)))}</td>" for cell in line) for line in lines]
    more = f"<p>{len(rows) - ROWS:,} more.</p>" if len(rows) > ROWS else ""
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>{more}"


class Recorded:
    """A base of classes with `records`: a notebook shows them as a table, and `to_frame` makes a data frame."""

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the records, mappings with the same fields."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each record."""
        return frame(self.records)

    def _repr_html_(self) -> str:
        return rows_html(self.records)
