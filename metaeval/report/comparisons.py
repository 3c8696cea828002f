"""The table of pairs: how far two metrics are apart under each measure, and whether that can be told from chance."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.errors import UserError
from metaeval.files import write_text
from metaeval.report import latex, markdown, terminal
from metaeval.report.cells import units
from metaeval.report.footer import footer
from metaeval.report.footnotes import letters, reason_of
from metaeval.report.grid import Block, Cell, Grid, Line, Note
from metaeval.report.number_format import UNDEFINED, chance, numeral, one_line, plain
from metaeval.report.result import Column, Comparison, Result, Significance, Value
from metaeval.report.significance_note import differs, settings

FIELDS = (
    "protocol",
    "dataset",
    "split",
    "unit",
    "measure",
    "one",
    "other",
    "rows",
    "difference",
    "low",
    "high",
    "p",
    "holm",
    "bh",
    "differs",
    "note",
)

_HEADINGS = ("difference", "p", "Holm", "BH")

# What a LaTeX page holds; a longer table becomes one for each measure.
_PAGE = 40


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


def render(result: Result) -> str:
    """Tidy CSV, one row per pair and measure, raw values; undefined is empty, and so is what follows from it."""
    tested = _tested(result)
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(FIELDS)
    for pair in tested.comparisons:
        told = "" if pair.holm is None else str(differs(pair, tested.alpha)).lower()
        writer.writerow(
            [
                *(result.protocol, result.data.name, result.data.split, result.unit),
                *(pair.measure, pair.one, pair.other, pair.rows),
                *(pair.difference, pair.low, pair.high, pair.p, pair.holm, pair.bh, told, pair.note),
            ]
        )
    return file.getvalue()


def tex(result: Result) -> str:
    """LaTeX: one table, or one for each measure when there are more pairs than a page holds."""
    whole = comparison_grid(result)
    if len(whole.lines) <= _PAGE:
        return latex.table_of(whole)
    compared = {pair.measure for pair in _tested(result).comparisons}
    return "\n".join(
        latex.table_of(comparison_grid(result, [column.key])) for column in result.columns if column.key in compared
    )


def write_comparisons(result: Result, stem: Path) -> list[Path]:
    """Write the pairs as text, Markdown, LaTeX and CSV beside each other and return the paths."""
    grid = comparison_grid(result)
    texts = {".txt": terminal.text_of(grid), ".md": markdown.page_of(grid), ".tex": tex(result), ".csv": render(result)}
    paths = [stem.with_name(stem.name + suffix) for suffix in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    return paths


def _tested(result: Result) -> Significance:
    tested = result.significance
    if tested is None or not tested.comparisons:
        raise UserError(
            f"The {result.protocol} result of {result.data.name!r} compares no metrics: it takes two metrics in one "
            "run, and resampling."
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
    """A difference carries its sign, unless it prints as nothing."""
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
