"""The table of pairs: the difference between two metrics under each measure, and whether it is significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.errors import UserError
from metaeval.report.cells import units
from metaeval.report.footer import differs, footer, settings
from metaeval.report.footnotes import letters, reason_of
from metaeval.report.grid import UNDEFINED, Block, Cell, Grid, Line, Note, chance, numeral, one_line, plain
from metaeval.report.result import Column, Comparison, Result, Significance, Value

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
        subtitle=", ".join(part for part in (plain(data.name), plain(data.split), units(result.unit)) if part),
        headings=(*_HEADINGS, "rows") if apart else _HEADINGS,
        blocks=tuple(
            Block(plain(column.label), tuple(_line(pair, column, tested.alpha, reasons, apart) for pair in pairs))
            for column, pairs in blocks
            if pairs
        ),
        legend="",
        footnotes=tuple(Note(letter, reason) for reason, letter in reasons.items()),
        footer=(
            Note("reading", _reading(tested)),
            Note("test", settings(tested) + f", seed {tested.seed}; BH: Benjamini-Hochberg"),
            Note("rows", "those that both metrics scored" if apart else f"{rows.pop():,}, scored by both metrics"),
            *(note for note in footer(result) if note.label in ("data", "settings", "uncertainty")),
        ),
        signatures=tuple(one_line(row.signature) for row in result.rows if row.kind == "metric"),
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


def _line(pair: Comparison, column: Column, alpha: float, reasons: Mapping[str, str], apart: bool) -> Line:
    ends = None
    if pair.low is not None and pair.high is not None:
        ends = (_signed(pair.low, column), _signed(pair.high, column))
    letter = (reasons[reason_of(_reason(pair))],) if pair.p is None else ()
    cells = [
        Cell(_signed(pair.difference, column), " to ".join(ends) if ends else "", ends),
        Cell(chance(pair.p), marks=letter),
        Cell(chance(pair.holm)),
        Cell(chance(pair.bh)),
        *([Cell(f"{pair.rows:,}")] if apart else []),
    ]
    return Line(f"{plain(pair.one)} {_sign(pair, alpha)} {plain(pair.other)}", tuple(cells))


def _sign(pair: Comparison, alpha: float) -> str:
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
    signs = {_sign(pair, tested.alpha).replace("<", ">") for pair in tested.comparisons}
    return "; ".join(text for sign, text in said.items() if sign in signs)
