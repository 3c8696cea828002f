"""From a result to the grids that all renderers print: its table, and the table of the pairs of its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from metaeval.errors import UserError
from metaeval.report.cell_notes import asides, footnotes, letters, marks, not_above, reason_of, tests_controls
from metaeval.report.grid import (
    CONTROLS,
    UNDEFINED,
    Block,
    Cell,
    Grid,
    Line,
    Note,
    Rank,
    chance,
    numeral,
    place_of,
    plain,
    value_of,
)
from metaeval.report.measures import untested
from metaeval.report.notes import cluster, differs, footer, in_blocks, plural, settings
from metaeval.report.result import Column, Comparison, Result, Row, Significance, Unit, Value

THREE = Column(key="", label="")
"""How a number without a measure of its own is printed: three decimals."""


def lay_out(result: Result) -> Grid:
    """Build the grid: metrics above controls, ranks among metrics only, every mark with its footnote."""
    rows, columns = in_blocks(result.rows), result.columns
    metrics = [row for row in rows if row.kind == "metric"]
    controls = [row for row in rows if row.kind == "control"]
    reasons = letters(value_of(row, column) for row in rows for column in columns)
    spelt = [_spelt(rows, column) for column in columns]
    ranks = {column.key: rank((value_of(row, column).value for row in metrics), column) for column in columns}
    level = not_above(tests_controls(result)) + untested([(result, column) for column in columns])
    data = result.data
    shown = (
        tuple(_line(row, columns, spelt, reasons, ranks) for row in metrics),
        tuple(_line(row, columns, spelt, reasons, {}) for row in controls),
    )
    return Grid(
        key=(result.protocol, data.name, data.split, result.unit),
        title=plain(result.title),
        subtitle=place_of(data, units(result.unit)),
        headings=tuple(plain(column.label) for column in columns),
        blocks=tuple(Block(title, lines) for title, lines in zip(("", CONTROLS), shown, strict=True) if lines),
        legend=legend(ranks.values()),
        footnotes=footnotes(rows, columns, reasons, plural(result.unit), level),
        footer=footer(result),
        signatures=tuple(row.signature for row in metrics or controls),
    )


def units(unit: Unit) -> str:
    """The name of the rows of the judged table: chunk pairs, citation pairs, ratings."""
    return plural(unit) if unit == "rating" else f"{unit} {plural(unit)}"


def _line(
    row: Row,
    columns: Sequence[Column],
    spelt: Sequence[bool],
    reasons: Mapping[str, str],
    ranks: Mapping[str, Mapping[str, Rank]],
) -> Line:
    cells = []
    for column, to in zip(columns, spelt, strict=True):
        value = value_of(row, column)
        made = cell(value.value, value.low, value.high, column, spelt=to)
        cells.append(
            replace(
                made,
                rank=ranks.get(column.key, {}).get(made.number, ""),
                marks=tuple(filter(None, (cluster(row, column), *marks(row, column, reasons)))),
                asides=asides(row, column),
            )
        )
    return Line(plain(row.metric), tuple(cells))


def cell(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    column: Column = THREE,
    signed: bool = False,
    marks: tuple[str, ...] = (),
    spelt: bool = False,
) -> Cell:
    """A value with its interval as a column prints it.

    signed: a difference or a preference, with its sign. spelt: "to" between the ends, for a table with negative ends,
    where a dash beside a minus sign cannot be read.
    """
    show = _signed if signed else numeral
    if value is None or low is None or high is None:
        return Cell(show(value, column), marks=marks)
    ends = show(low, column), show(high, column)
    return Cell(show(value, column), (" to " if signed or spelt else "–").join(ends), ends, marks=marks)


def rank(values: Iterable[float | None], column: Column) -> dict[str, Rank]:
    """The printed numbers that are best and second best; none when only one value is defined.

    Ranks go by the printed digits: of two equal numbers in a table, neither may look better than the other.
    """
    defined = [numeral(value, column) for value in values if value is not None]
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


def _spelt(rows: Sequence[Row], column: Column) -> bool:
    """Whether some end in the column is negative: a dash beside a minus sign cannot be read."""
    values = [value_of(row, column) for row in rows]
    ends = [end for value in values for end in (value.low, value.high) if end is not None]
    return any(numeral(end, column).startswith("-") for end in ends)


_HEADINGS = ("difference", "p", "Holm", "BH")


def comparison_grid(result: Result, measures: Sequence[str] | None = None) -> Grid:
    """One row per pair and measure, the measures in the table's order (`measures`: only these, by key).

    Raises `UserError` when the result holds no pairs: it has one metric, or was made without the test.
    """
    tested = _tested(result)
    columns = [column for column in result.columns if measures is None or column.key in measures]
    reasons = letters(_reason(pair) for pair in tested.comparisons if pair.p is None)
    blocks = [(column, [pair for pair in tested.comparisons if pair.measure == column.key]) for column in columns]
    data = result.data
    # One number of rows is said once; several are a column.
    rows = {pair.rows for pair in tested.comparisons}
    apart = len(rows) > 1
    return Grid(
        key=("pairs", result.protocol, data.name, data.split, result.unit, *(measures or ())),
        title=f"{plain(result.title)}: pairs of metrics",
        subtitle=place_of(data, units(result.unit)),
        headings=(*_HEADINGS, "rows") if apart else _HEADINGS,
        blocks=tuple(
            Block(plain(column.label), tuple(_pair_line(pair, column, tested.alpha, reasons, apart) for pair in pairs))
            for column, pairs in blocks
            if pairs
        ),
        footnotes=tuple(Note(letter, reason) for reason, letter in reasons.items()),
        footer=(
            Note("reading", _reading(tested)),
            Note("test", settings(tested) + f", seed {tested.seed}; BH: Benjamini-Hochberg"),
            Note("rows", "those that both metrics scored" if apart else f"{rows.pop():,}, scored by both metrics"),
            *(note for note in footer(result) if note.label in ("data", "settings", "uncertainty")),
        ),
        signatures=tuple(row.signature for row in result.rows if row.kind == "metric"),
        stub="pair",
    )


def _tested(result: Result) -> Significance:
    tested = result.significance
    if tested is None or not tested.comparisons:
        raise UserError(
            f"The {result.protocol} result of {result.data.name!r} has no pairs of metrics: they need two metrics in "
            "one run, and resampling."
        )
    return tested


def _pair_line(pair: Comparison, column: Column, alpha: float, reasons: Mapping[str, str], apart: bool) -> Line:
    letter = (reasons[reason_of(_reason(pair))],) if pair.p is None else ()
    cells = [
        cell(pair.difference, pair.low, pair.high, column, signed=True),
        Cell(chance(pair.p), marks=letter),
        Cell(chance(pair.holm)),
        Cell(chance(pair.bh)),
        *([Cell(f"{pair.rows:,}")] if apart else []),
    ]
    return Line(f"{plain(pair.one)} {_order_sign(pair, alpha)} {plain(pair.other)}", tuple(cells))


def _order_sign(pair: Comparison, alpha: float) -> str:
    if pair.holm is None or pair.difference is None:
        return "?"
    if not differs(pair, alpha):
        return "≈"
    return ">" if pair.difference > 0 else "<"


def _signed(value: float | None, column: Column) -> str:
    """A difference with its sign, unless it is printed as zero."""
    text = numeral(value, column)
    return text if text == UNDEFINED or text.startswith("-") or float(text) == 0 else f"+{text}"


def _reason(pair: Comparison) -> Value:
    return Value(value=None, note=pair.note)


def _reading(tested: Significance) -> str:
    said = {
        ">": f"a > b: different, a better (Holm-adjusted p at most {tested.alpha:g})",
        "≈": "a ≈ b: not told apart, which does not show them equal",
        "?": "a ? b: not tested",
    }
    signs = {_order_sign(pair, tested.alpha).replace("<", ">") for pair in tested.comparisons}
    return "; ".join(text for sign, text in said.items() if sign in signs)
