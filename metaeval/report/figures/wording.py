"""Names in a figure: every character as it is, long ones over several lines."""

from __future__ import annotations

from metaeval.report.column_layout import broken
from metaeval.report.number_format import plain

_WIDTH = 24


def wrapped(name: str, width: int = _WIDTH) -> str:
    """A name in lines of at most `width` characters, with no character that matplotlib would read as mathematics."""
    return "\n".join(line.rstrip() for line in broken(literal(name), width))


def literal(name: str) -> str:
    """One line of text in which a dollar sign is a dollar sign."""
    return plain(name).replace("$", r"\$")
