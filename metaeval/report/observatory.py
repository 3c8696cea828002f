"""The page of the reference results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PAGE = "index.html"


def observatory(cells: Sequence[Mapping[str, str]], tests: Sequence[Mapping[str, str]]) -> str:
    """Return the page of the cells and tests."""
    return ""
