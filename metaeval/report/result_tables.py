"""Tables of results: measures across, metrics and controls down; a result's own table, and that of pairs of metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from metaeval.core.errors import UserError
from metaeval.report import table_notes
from metaeval.report.ranking_measures import CONTRAST, Headline, differs, metrics_of
from metaeval.report.result import Column, Comparison, Result, Row, Unit, records
from metaeval.report.table import (
    CONTROL,
    CONTROLS,
    READING,
    UNDEFINED,
    Cell,
    ColumnGroup,
    Note,
    Rank,
    Table,
    TableLine,
    TableRow,
    blocks_of,
    format_p,
    format_value,
    grouped,
    place_of,
    plain,
    short,
    value_of,
)

THREE = Column(key="", label="")  # the format of a number without a measure of its own: three decimals

_EDITED = {"fall": "falls", "auc": "AUC of the fall", "side": "crosses, or keeps, the threshold"}
_READING = (
    "falls: share of edits that score below their original; AUC: of the fall against the falls under harmless edits of "
    "other kinds, .5 where they are alike; threshold: of edits whose original is on its right side, the "
    "share that crosses it (destroying), or keeps the side (harmless, attack); in brackets: edits with their original"
)

_NO_RANKING = "edits are made by rule: not a ranking of metrics; see the ROC-AUC of the original pairs"

# A line of a table of measures: title of its block, kind of its row (metric or control), and name.
TableKey = tuple[str, str, str]


def lay_out(result: Result, brief: bool = False) -> Table:
    """Return the printed table of a result: metrics above controls, ranks among metrics, a footnote for every mark.

    Its records hold each metric's value under each measure. brief: of a contrast set, values without intervals.
    """
    rows, data = table_notes.in_blocks(result.rows), result.data
    lines = [(CONTROLS if row.kind == "control" else "", row.kind, row.metric) for row in rows]
    table = replace(
        measure_table([Headline(result, column) for column in result.columns], lines),
        key=(result.protocol, data.name, data.split, result.unit),
        title=plain(result.title),
        subtitle=place_of(data, units(result.unit)),
        footer=table_notes.footer(result),
        signatures=tuple(row.signature for row in metrics_of(result) or rows),
        name=result.protocol,
        data=data,
        settings={"unit": result.unit},
        records=list(records(result)),
    ).noting(data.demo)
    return _of_edits(result, table, brief) if result.protocol == CONTRAST else table


def _of_edits(result: Result, whole: Table, brief: bool) -> Table:
    """Return the table of a contrast set, a line for each kind of edit. whole: that of metrics, with its footer."""
    metrics, lines = metrics_of(result), []
    reasons = table_notes.numbers(value_of(row, column) for row in metrics for column in result.columns)
    names = [name for name in _EDITED if any(column.key.startswith(f"{name}:") for column in result.columns)]
    for title, same in grouped((column.label.rpartition(": ")[0], column) for column in result.columns).items():
        of, (family, _, kind) = {column.key.partition(":")[0]: column for column in same}, title.partition(" ")
        cells: list[Cell | str] = []
        for name, row in ((name, row) for name in names for row in metrics):
            if name not in of:
                cells.append("")
                continue
            shown = Headline(result, of[name])
            value, marks = shown.value(row), table_notes.marks(shown, row, reasons)
            low, high = (None, None) if brief else (value.low, value.high)
            cells.append(cell(value.value, low, high, of[name], marks=marks))
        lines.append((family, kind, cells))
    areas = {row.metric: row.values["originals"].value for row in metrics if "originals" in row.values}
    known = ", ".join(f"{plain(name)} {short(format_value(area, THREE))}" for name, area in areas.items())
    originals = f" (full support against the rest): {known}" if known else ": they are of one level"
    left = {
        "auc": "AUC of the fall: the data have no harmless edits",
        "side": "threshold: the originals are of one level",
    }
    blocks = blocks_of(lines)
    return replace(
        whole,
        headings=tuple(plain(row.metric) for _ in names for row in metrics),
        groups=tuple(ColumnGroup(_EDITED[name], len(metrics)) for name in names),
        blocks=blocks,
        legend="",
        stub="kind of edit",
        footnotes=table_notes.footnotes(blocks, [result], reasons, spans=True),
        footer=(
            Note("reading", _READING),
            Note("reading", f"{_NO_RANKING}{originals}"),
            *(Note("left out", why) for name, why in left.items() if name not in names),
            *(note for note in whole.footer if not brief or note.label in READING),
        ),
    )


def measure_table(
    shown: Sequence[Headline],
    lines: Sequence[TableKey],
    brief: bool = False,
    intervals: bool = True,
    but: Collection[str] = (),
) -> Table:
    """Return the headings, lines, legend and footnotes of a table of these measures, one a column.

    lines: what the lines are of; a cell is blank where the column's result lacks the row. brief: without values in
    brackets, leading zeros and marks, but those of missing scores and undefined values. but: other marks to leave out.
    """
    rows_of = [{(str(row.kind), row.metric): row for row in column.result.rows} for column in shown]
    of_lines = [[rows.get((kind, name)) for rows in rows_of] for _, kind, name in lines]
    reasons = table_notes.numbers(
        column.value(row) for of_line in of_lines for column, row in zip(shown, of_line, strict=True) if row
    )
    fewer = []  # of each column, the metrics that scored fewer rows than another: no rank compares them
    for column in shown:
        scored = {row.metric: row.scored for row in metrics_of(column.result)}
        fewer.append({name for name, number in scored.items() if 0 < number < max(scored.values())})
    ranks = [
        rank([column.value(row).value for row in rows if row and _ranked(row, less)], column.column)
        for column, rows, less in zip(shown, zip(*of_lines, strict=True), fewer, strict=True)
    ]
    kept = {table_notes.UNSCORED, *reasons.values()}
    table_rows: list[TableRow] = []
    for (title, kind, name), of_line in zip(lines, of_lines, strict=True):
        cells: list[Cell | str] = []
        for column, row, less, rank_of in zip(shown, of_line, fewer, ranks, strict=True):
            if row is None:
                cells.append("")
                continue
            value = column.value(row)
            printed = cell(value.value, value.low, value.high, column.column)
            marks = [mark for mark in table_notes.marks(column, row, reasons) if mark not in but]
            ranked = rank_of.get(printed.number, "") if _ranked(row, less) else ""
            if brief:
                ends = (short(printed.ends[0]), short(printed.ends[1])) if printed.ends and intervals else None
                marks = [mark for mark in marks if mark in kept]
                cells.append(Cell(short(printed.number), ends, ranked, tuple(marks)))
            else:
                asides = table_notes.asides(row, column.column)
                cells.append(replace(printed, rank=ranked, marks=tuple(marks), asides=asides))
        is_control = kind == "metric" and any(row and row.control for row in of_line)
        table_rows.append((title, f"{name}{CONTROL}" if is_control and not brief else name, cells))
    blocks = blocks_of(table_rows)
    if brief:
        blocks = tuple(replace(block, lines=tuple(map(_marked_by_name, block.lines))) for block in blocks)
    results = list({id(column.result): column.result for column in shown}.values())
    return Table(
        headings=tuple(column.label for column in shown),
        blocks=blocks,
        legend="Bold: highest value of a metric in the column; underlined: second highest." if any(ranks) else "",
        footnotes=table_notes.footnotes(blocks, results, reasons, not brief and len(results) == 1),
    )


def _ranked(row: Row, fewer: Collection[str]) -> bool:
    return row.kind == "metric" and row.metric not in fewer


def _marked_by_name(line: TableLine) -> TableLine:
    """Return the line with `UNSCORED` once, behind its name, where all its values, at least two, have it."""
    values = [cell for cell in line.cells if cell.number not in ("", UNDEFINED)]
    if len(values) < 2 or not all(table_notes.UNSCORED in cell.marks for cell in values):
        return line
    cells = (replace(cell, marks=tuple(m for m in cell.marks if m != table_notes.UNSCORED)) for cell in line.cells)
    return TableLine(f"{line.name} {table_notes.UNSCORED}", tuple(cells))


def units(unit: Unit) -> str:
    """Return what a row of the results is, in the plural: chunk pairs, citation pairs, ratings."""
    return table_notes.plural(unit) if unit == "rating" else f"{unit} {table_notes.plural(unit)}"


def cell(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    column: Column = THREE,
    signed: bool = False,
    marks: tuple[str, ...] = (),
) -> Cell:
    """Return a value with its interval as its column prints it.

    signed: print a sign, as for a difference. marks: footnote marks behind the value.
    """

    def show(number: float | None) -> str:
        text = format_value(number, column)
        bare = not signed or text == UNDEFINED or text.startswith("-") or float(text) == 0
        return text if bare else f"+{text}"

    ends = None if value is None or low is None or high is None else (show(low), show(high))
    return Cell(show(value), ends, marks=marks)


def rank(values: Iterable[float | None], column: Column) -> dict[str, Rank]:
    """Return the ranks of the highest and second highest printed value, by value; empty for fewer than two values.

    Ranks go by the printed digits: of two equal numbers in a table, neither may look better than the other.
    """
    defined = [format_value(value, column) for value in values if value is not None]
    order = sorted(set(defined), key=float, reverse=True)
    names: tuple[Rank, Rank] = ("best", "second")
    return dict(zip(order[:2], names[: len(order)], strict=True)) if len(defined) > 1 else {}


def comparison_grid(result: Result, measures: Sequence[str] | None = None) -> Table:
    """Return a table of the tests of pairs: a row for each pair and measure. measures: keys of those shown (None: all).

    Raises `UserError` when the result holds no pairs: it has one metric, or was made without the test.
    """
    tested, data = result.significance, result.data
    if tested is None or not tested.comparisons:
        what = f"The {result.protocol} result of {data.name!r} compares no pairs of metrics"
        raise UserError(f"{what}: run two or more, with comparison.permutations above 0.")
    reasons = list(dict.fromkeys(table_notes.reason_of(pair) for pair in tested.comparisons if pair.holm is None))
    number_of = {reason: str(number) for number, reason in enumerate(reasons, start=1)}
    # One number of rows is said once; several are a column.
    rows = {pair.rows for pair in tested.comparisons}
    apart = len(rows) > 1
    # p of a single test is adjusted over nothing, unless a control is one of its sides.
    adjusted = tested.tests != 1 or any(pair.holm not in (None, pair.p) for pair in tested.comparisons)
    lines: list[TableRow] = []
    shown = [column for column in result.columns if measures is None or column.key in measures]
    for column, pair in ((c, pair) for c in shown for pair in tested.comparisons if pair.measure == c.key):
        cells: list[Cell | str] = [
            cell(pair.difference, pair.low, pair.high, column, signed=True),
            Cell(format_p(pair.p), marks=() if pair.holm is not None else (number_of[table_notes.reason_of(pair)],)),
            *([format_p(pair.holm)] if adjusted else []),
            *([f"{pair.rows:,}"] if apart else []),
        ]
        name = f"{plain(pair.one)} {order_sign(pair, tested.alpha)} {plain(pair.other)}"
        lines.append((plain(column.label), name, cells))
    signs = {order_sign(pair, tested.alpha).replace("<", ">") for pair in tested.comparisons}
    of_signs = {">": "a > b: a is significantly better", "≈": "a ≈ b: n.s.", "?": "a ? b: not tested, or not decided"}
    return Table(
        key=("pairs", result.protocol, data.name, data.split, result.unit, *(measures or ())),
        title=f"{plain(result.title)}: pairs of metrics",
        subtitle=place_of(data, units(result.unit)),
        headings=("difference", "p", *(["Holm"] if adjusted else []), *(["rows"] if apart else [])),
        blocks=blocks_of(lines),
        footnotes=tuple(Note(number, reason) for reason, number in number_of.items()),
        footer=(
            Note("reading", "; ".join(text for sign, text in of_signs.items() if sign in signs)),
            Note("test", f"{table_notes.settings(tested)}, seed {tested.seed}"),
            Note("rows", "those that both metrics scored" if apart else f"{rows.pop():,}, scored by both metrics"),
            *(note for note in table_notes.footer(result) if note.label in ("data", "settings", "uncertainty")),
        ),
        signatures=tuple(row.signature for row in metrics_of(result)),
        stub="pair",
    ).noting(data.demo)


def order_sign(pair: Comparison, alpha: float) -> str:
    """Return the sign between the two metrics of a pair: > or < where they differ, ≈ where n.s., ? without a test."""
    if pair.holm is None or pair.difference is None:
        return "?"
    if not differs(pair, alpha):
        return "≈"
    return ">" if pair.difference > 0 else "<"
