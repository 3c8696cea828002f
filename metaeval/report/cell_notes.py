"""What stands below a metric's number: its share of what it could have reached, and what others published for it."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.report.grid import Note
from metaeval.report.number_format import numeral, plain, short, value_of
from metaeval.report.result import Column, Result, Row

_REACH = (
    "share of the most that the same scores, with their own ties, could reach against this gold; "
    "nothing is said where that is 1"
)
_PAPER = "published value of the same metric on the same data"


def asides(row: Row, column: Column) -> tuple[str, ...]:
    """The asides of one cell, the ceiling's first; controls have none, being yardsticks themselves."""
    return tuple(said for said in (_reach(row, column), _paper(row, column)) if said)


def aside_notes(result: Result) -> tuple[Note, ...]:
    """The footer lines that explain the asides in use by their first, and what a perfect metric would reach."""
    cells = [(row, column) for row in result.rows for column in result.columns]
    reach = next(filter(None, (_reach(row, column) for row, column in cells)), "")
    paper = next(filter(None, (_paper(row, column) for row, column in cells)), "")
    source = plain(result.published)
    return (
        Note("ceiling", f"{reach}: {_REACH}" if reach else ""),
        Note("perfect metric", _perfect(result.ceilings, result.columns)),
        Note("published", f"{paper}: {_PAPER}{f' ({source})' if source else ''}" if paper else ""),
    )


def _reach(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.value is None or value.ceiling is None:
        return ""
    if not _holds_below_one(value.ceiling, column):
        return ""
    return f"{_share(value.value, value.ceiling, column)} of {short(numeral(value.ceiling, column))}"


def _paper(row: Row, column: Column) -> str:
    value = value_of(row, column)
    if row.kind == "control" or value.published is None:
        return ""
    return f"paper {short(numeral(value.published, column))}"


def _holds_below_one(ceiling: float, column: Column) -> bool:
    return ceiling > 0 and numeral(ceiling, column) != numeral(1.0, column)


def _share(value: float, ceiling: float, column: Column) -> str:
    """A share in whole per cent that is 100 only where the two numbers print alike."""
    percent = round(100 * value / ceiling)
    if percent >= 100 and numeral(value, column) != numeral(ceiling, column):
        percent = 99 if value < ceiling else 101
    return f"{percent} %"


def _perfect(ceilings: dict[str, dict[str, float]], columns: Sequence[Column]) -> str:
    """Kind by kind: continuous Spearman 0.899, Kendall 0.763; binary Spearman 0.962."""
    kinds = dict.fromkeys(kind for column in columns for kind in ceilings.get(column.key, {}))
    said = {
        kind: ", ".join(
            f"{plain(column.label)} {numeral(ceilings[column.key][kind], column)}"
            for column in columns
            if kind in ceilings.get(column.key, {})
        )
        for kind in kinds
    }
    return "; ".join(f"{plain(kind)} {text}" for kind, text in said.items())
