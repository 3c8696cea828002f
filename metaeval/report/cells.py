"""From a result to the grid that all renderers print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metaeval.report.footer import cluster, footer, in_blocks, plural
from metaeval.report.footnotes import asides, footnotes, letters, marks
from metaeval.report.grid import UNDEFINED, Block, Cell, Grid, Line, Rank, numeral, one_line, plain, value_of
from metaeval.report.result import Column, Result, Row, Unit

CONTROLS = "controls"


def lay_out(result: Result) -> Grid:
    """Build the grid: metrics above controls, ranks among metrics only, every mark with its footnote."""
    rows, columns = in_blocks(result.rows), result.columns
    metrics = [row for row in rows if row.kind == "metric"]
    controls = [row for row in rows if row.kind == "control"]
    reasons = letters(value_of(row, column) for row in rows for column in columns)
    joiners = [_joiner(rows, column) for column in columns]
    ranks = {column.key: rank(metrics, column) for column in columns}
    data = result.data
    shown = _lines(metrics, columns, joiners, reasons, ranks), _lines(controls, columns, joiners, reasons, {})
    return Grid(
        key=(result.protocol, data.name, data.split, result.unit),
        title=plain(result.title),
        subtitle=", ".join(part for part in (plain(data.name), plain(data.split), units(result.unit)) if part),
        headings=tuple(plain(column.label) for column in columns),
        blocks=tuple(Block(title, lines) for title, lines in zip(("", CONTROLS), shown, strict=True) if lines),
        legend=legend(ranks.values()),
        footnotes=footnotes(rows, columns, reasons, plural(result.unit)),
        footer=footer(result),
        signatures=tuple(one_line(row.signature) for row in metrics or controls),
    )


def units(unit: Unit) -> str:
    """The name of the rows of the judged table: chunk pairs, citation pairs, ratings."""
    return plural(unit) if unit == "rating" else f"{unit} {plural(unit)}"


def _lines(
    rows: Sequence[Row],
    columns: Sequence[Column],
    joiners: Sequence[str],
    reasons: Mapping[str, str],
    ranks: Mapping[str, Mapping[str, Rank]],
) -> tuple[Line, ...]:
    return tuple(_line(row, columns, joiners, reasons, ranks) for row in rows)


def _line(
    row: Row,
    columns: Sequence[Column],
    joiners: Sequence[str],
    reasons: Mapping[str, str],
    ranks: Mapping[str, Mapping[str, Rank]],
) -> Line:
    cells = []
    for column, joiner in zip(columns, joiners, strict=True):
        value = value_of(row, column)
        number = numeral(value.value, column)
        ends = None
        if value.low is not None and value.high is not None:
            ends = (numeral(value.low, column), numeral(value.high, column))
        cells.append(
            Cell(
                number=number,
                interval=joiner.join(ends) if ends else "",
                ends=ends,
                rank=ranks.get(column.key, {}).get(number, ""),
                marks=tuple(filter(None, (cluster(row, column), *marks(row, column, reasons)))),
                asides=asides(row, column),
            )
        )
    return Line(plain(row.metric), tuple(cells))


def rank(metrics: Sequence[Row], column: Column) -> dict[str, Rank]:
    """The printed numbers that are best and second best; none when only one metric has a value.

    Ranks go by the printed digits: of two equal numbers in a table, neither may look better than the other.
    """
    printed = [numeral(value_of(row, column).value, column) for row in metrics]
    defined = [number for number in printed if number != UNDEFINED]
    if len(defined) < 2:
        return {}
    order = sorted(set(defined), key=float, reverse=True)
    names: tuple[Rank, Rank] = ("best", "second")
    return dict(zip(order[:2], names[: len(order)], strict=True))


def legend(ranks: Iterable[Mapping[str, Rank]]) -> str:
    """Explain bold and underlined numbers, if the table has any."""
    used = {rank for column in ranks for rank in column.values()}
    if "second" in used:
        return "Bold: best metric in the column; underlined: second best."
    return "Bold: best metric in the column." if used else ""


def _joiner(rows: Sequence[Row], column: Column) -> str:
    """A dash, unless some end in the column is negative: a dash beside a minus sign cannot be read."""
    values = [value_of(row, column) for row in rows]
    ends = [end for value in values for end in (value.low, value.high) if end is not None]
    return " to " if any(numeral(end, column).startswith("-") for end in ends) else "–"
