"""Rows as a data frame of the library that is installed."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from metaeval.errors import UserError


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as a data frame of pandas, or of polars where pandas is not installed; `UserError` where neither is.

    None is a missing value; numbers are raw.
    """
    listed = [dict(row) for row in rows]
    columns = {name: [row.get(name) for row in listed] for name in (listed[0] if listed else ())}
    with contextlib.suppress(ImportError):
        library: Any = importlib.import_module("pandas")
        return library.DataFrame(columns)
    with contextlib.suppress(ImportError):
        library = importlib.import_module("polars")
        return library.DataFrame(columns)
    raise UserError("A data frame needs pandas or polars: pip install pandas.")
