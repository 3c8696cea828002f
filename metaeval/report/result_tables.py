"""Tables of results: a result's own, that of the pairs of its metrics, and the first screen of a run."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.report import sentence_templates, table_notes
from metaeval.report.ranking_measures import LEVELS, Declarations, Headline, headlines, metrics_of, untested
from metaeval.report.result import Column, Comparison, Data, Result, Row, Significance, Unit, Value, records
from metaeval.report.significance_verdicts import alpha_of, best_control, control_tests, controls_of, differs
from metaeval.report.table import (
    CONTROLS,
    UNDEFINED,
    Block,
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
    place_of,
    plain,
    short,
    value_of,
)

THREE = Column(key="", label="")
"""The format of a number without a measure of its own: three decimals."""


def lay_out(result: Result) -> Table:
    """Return the printed table of a result: metrics above controls, ranks among metrics, a footnote for every mark.

    Its records hold each metric's value under each measure.
    """
    rows, columns, metrics = table_notes.in_blocks(result.rows), result.columns, metrics_of(result)
    reasons = table_notes.numbers(value_of(row, column) for row in rows for column in columns)
    heads = [_printed_column(column, metrics, rows) for column in columns]
    titles = {"metric": "", "control": CONTROLS}
    lines = ((titles[row.kind], named(row), [_cell(row, head, reasons) for head in heads]) for row in rows)
    level = sentence_templates.NOT_ABOVE + untested([(result, column) for column in columns])
    data = result.data
    return Table(
        key=(result.protocol, data.name, data.split, result.unit),
        title=plain(result.title),
        subtitle=place_of(data, units(result.unit)),
        headings=tuple(plain(column.label) for column in columns),
        blocks=blocks_of(lines),
        legend=legend(head.ranks for head in heads),
        footnotes=table_notes.footnotes(rows, columns, reasons, table_notes.plural(result.unit), level),
        footer=table_notes.footer(result),
        signatures=tuple(row.signature for row in metrics or rows),
        name=result.protocol,
        data=data,
        settings={"unit": result.unit},
        records=list(records(result)),
    ).noting(data.demo)


def units(unit: Unit) -> str:
    """Return what a row of the results is, in the plural: chunk pairs, citation pairs, ratings."""
    return table_notes.plural(unit) if unit == "rating" else f"{unit} {table_notes.plural(unit)}"


class _PrintedColumn(NamedTuple):
    """A measure of a table as it is printed.

    ranks: "best" and "second" by printed value. spelt: whether intervals are printed as "low to high", since an end is
    negative, and a dash beside a minus sign could not be read. fewer: metrics that scored fewer rows, without a rank.
    """

    column: Column
    ranks: Mapping[str, Rank]
    spelt: bool
    fewer: Collection[str]


def _printed_column(column: Column, metrics: Sequence[Row], rows: Iterable[Row]) -> _PrintedColumn:
    """Return how a measure is printed for these rows. metrics: those that are ranked if none scored more rows."""
    fewer = table_notes.on_fewer_rows(metrics)
    ranked = [row for row in metrics if row.metric not in fewer]
    spelt = has_negative_ends(rows, column)
    return _PrintedColumn(column, rank((value_of(row, column).value for row in ranked), column), spelt, fewer)


def has_negative_ends(rows: Iterable[Row], column: Column) -> bool:
    """Return whether an interval of a column has a negative end as printed, beside which a dash cannot be read."""
    return any(format_value(value_of(row, column).low, column).startswith("-") for row in rows)


def _cell(row: Row, head: _PrintedColumn, reasons: Mapping[str, str]) -> Cell:
    column, value = head.column, value_of(row, head.column)
    plain_cell = cell(value.value, value.low, value.high, column, spelt=head.spelt)
    is_ranked = row.kind == "metric" and row.metric not in head.fewer
    ranked = head.ranks.get(plain_cell.number, "") if is_ranked else ""
    marks = table_notes.marks(row, column, reasons, fewer=head.fewer)
    return replace(plain_cell, rank=ranked, marks=marks, asides=table_notes.asides(row, column))


def cell(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    column: Column = THREE,
    signed: bool = False,
    marks: tuple[str, ...] = (),
    spelt: bool = False,
) -> Cell:
    """Return a value with its interval as its column prints it.

    signed: print a sign, as for a difference. marks: footnote marks behind the value. spelt: print an interval as
    "low to high", for a table with negative ends, where a dash beside a minus sign cannot be read.
    """
    show = _signed if signed else format_value
    if value is None or low is None or high is None:
        return Cell(show(value, column), marks=marks)
    ends = show(low, column), show(high, column)
    return Cell(show(value, column), (" to " if signed or spelt else "–").join(ends), ends, marks=marks)


def rank(values: Iterable[float | None], column: Column) -> dict[str, Rank]:
    """Return the ranks of the highest and second highest printed value, by value; empty for fewer than two values.

    Ranks go by the printed digits: of two equal numbers in a table, neither may look better than the other.
    """
    defined = [format_value(value, column) for value in values if value is not None]
    if len(defined) < 2:
        return {}
    order = sorted(set(defined), key=float, reverse=True)
    names: tuple[Rank, Rank] = ("best", "second")
    return dict(zip(order[:2], names[: len(order)], strict=True))


def legend(ranks: Iterable[Mapping[str, Rank]]) -> str:
    """Return what bold and underlined numbers mean; "" if there are none. ranks: of each column, by printed value."""
    used = {rank for column in ranks for rank in column.values()}
    if "second" in used:
        return "Bold: highest value of a metric in the column; underlined: second highest."
    return "Bold: highest value of a metric in the column." if used else ""


def comparison_grid(result: Result, measures: Sequence[str] | None = None) -> Table:
    """Return a table of the tests of pairs: a row for each pair and measure. measures: keys of those shown (None: all).

    Raises `UserError` when the result holds no pairs: it has one metric, or was made without the test.
    """
    tested, data = result.significance, result.data
    if tested is None or not tested.comparisons:
        raise UserError(
            f"The {result.protocol} result of {data.name!r} compares no pairs of metrics: run at least "
            "two metrics together, with comparison.permutations above 0."
        )
    reasons = table_notes.numbers(_reason(pair) for pair in tested.comparisons if pair.holm is None)
    # One number of rows is said once; several are a column.
    rows = {pair.rows for pair in tested.comparisons}
    apart = len(rows) > 1
    # p of a single test is adjusted over nothing, unless a control is one of its sides.
    adjusted = tested.tests != 1 or any(pair.holm not in (None, pair.p) for pair in tested.comparisons)
    lines: list[TableRow] = []
    shown = [column for column in result.columns if measures is None or column.key in measures]
    for column, pair in (
        (column, pair) for column in shown for pair in tested.comparisons if pair.measure == column.key
    ):
        cells: list[Cell | str] = [
            cell(pair.difference, pair.low, pair.high, column, signed=True),
            Cell(format_p(pair.p), marks=(reasons[table_notes.reason_of(_reason(pair))],) if pair.holm is None else ()),
            *([format_p(pair.holm)] if adjusted else []),
            *([f"{pair.rows:,}"] if apart else []),
        ]
        name = f"{plain(pair.one)} {_order_sign(pair, tested.alpha)} {plain(pair.other)}"
        lines.append((plain(column.label), name, cells))
    return Table(
        key=("pairs", result.protocol, data.name, data.split, result.unit, *(measures or ())),
        title=f"{plain(result.title)}: pairs of metrics",
        subtitle=place_of(data, units(result.unit)),
        headings=("difference", "p", *(["Holm"] if adjusted else []), *(["rows"] if apart else [])),
        blocks=blocks_of(lines),
        footnotes=tuple(Note(number, reason) for reason, number in reasons.items()),
        footer=(
            Note("reading", _reading(tested, adjusted)),
            Note("test", f"{table_notes.settings(tested)}, seed {tested.seed}"),
            Note("rows", "those that both metrics scored" if apart else f"{rows.pop():,}, scored by both metrics"),
            *(note for note in table_notes.footer(result) if note.label in ("data", "settings", "uncertainty")),
        ),
        signatures=tuple(row.signature for row in metrics_of(result)),
        stub="pair",
    ).noting(data.demo)


def _order_sign(pair: Comparison, alpha: float) -> str:
    if pair.holm is None or pair.difference is None:
        return "?"
    if not differs(pair, alpha):
        return "≈"
    return ">" if pair.difference > 0 else "<"


def _signed(value: float | None, column: Column) -> str:
    """Return a difference with its sign, unless it is printed as zero."""
    text = format_value(value, column)
    return text if text == UNDEFINED or text.startswith("-") or float(text) == 0 else f"+{text}"


def _reason(pair: Comparison) -> Value:
    return Value(value=None, note=pair.note)


def _reading(tested: Significance, adjusted: bool) -> str:
    p = "Holm-adjusted p" if adjusted else "p"
    meanings = {
        ">": f"a > b: different, a better ({p} at most {tested.alpha:g})",
        "≈": "a ≈ b: not significantly different, which does not show them equal",
        "?": "a ? b: not tested, or not decided",
    }
    signs = {_order_sign(pair, tested.alpha).replace("<", ">") for pair in tested.comparisons}
    return "; ".join(text for sign, text in meanings.items() if sign in signs)


ROWS = 12
"""Metrics that the table shows; of more, those with the highest values. What is said below fits on the same screen."""

# Up to so many metrics there is room for cells of two lines, and for what each measure is.
_FEW, _EXPLAINED = 7, 5


def headline_grid(results: Sequence[Result], declarations: Declarations, most: int = ROWS) -> Table:
    """Return the first table of a run. most: largest number of metrics shown.

    Of one data set it has the ROC-AUC of pairs of levels if a result has several, else each protocol's headline measure
    (all measures of a single protocol with few metrics). Of several data sets it is `suite_grid`.
    """
    if len({(result.data.name, result.data.split, result.unit) for result in results}) > 1:
        return suite_grid(results, declarations, most)
    if result := _of_levels(results, declarations):
        return _levels_grid(result, declarations, most)
    shown = headlines(results, declarations)
    if len(results) == 1 and len(metrics_of(results[0])) <= _FEW:
        shown = [Headline(results[0], column) for column in results[0].columns]
    first = shown[0].result
    several = len(results) > 1
    grid = Table(
        key=("headline", first.data.name, first.data.split, first.unit),
        title=first.data.wording("Metrics against human labels") if several else plain(first.title),
        subtitle=_subtitle(results),
        headings=tuple(plain(headline.column.label) for headline in shown),
        groups=tuple(ColumnGroup(plain(headline.result.protocol)) for headline in shown) if several else (),
    )
    return _with_lines(grid, shown, most, declarations, intervals=True)


def in_headline(results: Sequence[Result], declarations: Declarations) -> Sequence[Result]:
    """Return the results that the headline table and the findings are about: the one that shows abilities, or all."""
    result = _of_levels(results, declarations)
    return [result] if result else results


def _of_levels(results: Sequence[Result], declarations: Declarations) -> Result | None:
    """Return the result with most measures of an ability; None if it has fewer than two, or a protocol occurs twice."""
    able = {result.protocol: len(ability_columns(result, declarations)) for result in results}
    result = max(results, key=lambda result: able[result.protocol], default=None)
    one_table = len(able) == len(results)
    return result if result and one_table and able[result.protocol] > 1 else None


def ability_columns(result: Result, declarations: Declarations) -> list[Column]:
    """Return the measures that show an ability, such as the ROC-AUC of two levels, if a metric has a value there."""
    able = declarations.of(result).ability
    return [column for column in result.columns if column.key in able and Headline(result, column).metrics]


def _levels_grid(result: Result, declarations: Declarations, most: int) -> Table:
    """Return the first table of a run: pairs of levels, the measure that ranks, and who beats word overlap by it."""
    (ranking,) = headlines([result], declarations)
    shown = [Headline(result, each) for each in dict.fromkeys((*ability_columns(result, declarations), ranking.column))]
    names, left = _names([ranking], most)
    by_name = {row.metric: row for row in metrics_of(result)}
    rows = [by_name[name] for name in names]
    controls = [row for row in controls_of(ranking, declarations.oracles) if row.control in ("lexical", "reference")]
    # A control stands below the line, also where it is a metric of the run.
    rows = [*(row for row in rows if row not in controls), *controls]
    reasons = table_notes.numbers(headline.value(row) for headline in shown for row in rows)
    heads = [_printed_column(headline.column, headline.metrics, rows) for headline in shown]
    against = next((row for row in controls if row.control == "lexical"), None)
    verdict = [sentence_templates.BETTER_THAN_OVERLAP] if against and result.significance else []
    lines: list[TableRow] = []
    for row in rows:
        cells: list[Cell | str] = [_plain_cell(row, head, reasons) for head in heads]
        cells += [_verdict(ranking, row, against) for _ in verdict if against]
        lines.append((CONTROLS if row in controls else "", plain(row.metric), cells))
    blocks = blocks_of(lines)
    unscored = table_notes.unscored(blocks, any(head.fewer for head in heads))
    groups = ", ".join(f"{plain(row.metric)} ({row.control})" for row in controls)
    intervals = result.interval.resamples > 0
    below = (
        unscored,
        *(Note(number, reason) for reason, number in reasons.items()),
        Note("", sentence_templates.INTERVALS_BESIDE.format(level=100 * result.interval.level) if intervals else ""),
        Note("", sentence_templates.BETTER_BY_MEAN.format(measure=plain(ranking.column.label)) if verdict else ""),
        Note("", sentence_templates.GROUPS_OF_CONTROLS.format(groups=groups) if controls else ""),
        Note("", f"{count(left, 'more metric')}: 'metaeval results show'" if left else ""),
    )
    return Table(
        key=("headline", result.data.name, result.data.split, result.unit),
        title=result.data.wording(plain(result.title)),
        subtitle=_subtitle([result]),
        headings=(*(plain(headline.column.label) for headline in shown), *verdict),
        blocks=_marked_by_name(blocks, len(heads)),
        legend=legend(head.ranks for head in heads),
        footnotes=tuple(note for note in below if note.text),
    )


def _marked_by_name(blocks: Iterable[Block], columns: int) -> tuple[Block, ...]:
    """Return the blocks with `UNSCORED` once, behind a line's name, where all its values, at least two, have it.

    columns: the number of columns with values; those behind them have words.
    """
    marked = []
    for block in blocks:
        lines = []
        for line in block.lines:
            values = [cell for cell in line.cells[:columns] if cell.number not in ("", UNDEFINED)]
            if len(values) > 1 and all(table_notes.UNSCORED in cell.marks for cell in values):
                line = TableLine(f"{line.name} {table_notes.UNSCORED}", tuple(map(_without_unscored, line.cells)))
            lines.append(line)
        marked.append(replace(block, lines=tuple(lines)))
    return tuple(marked)


def _without_unscored(cell: Cell) -> Cell:
    return replace(cell, marks=tuple(mark for mark in cell.marks if mark != table_notes.UNSCORED))


def _plain_cell(row: Row, head: _PrintedColumn, reasons: Mapping[str, str]) -> Cell:
    """Return a cell whose only marks are `UNSCORED` and its footnote's number. reasons: the numbers by their texts."""
    full = _headline_cell(row, head, reasons, intervals=True)
    return replace(full, marks=tuple(mark for mark in full.marks if mark in (table_notes.UNSCORED, *reasons.values())))


def _verdict(headline: Headline, row: Row, overlap: Row) -> str:
    """Return whether a metric beats the control `overlap`: yes, not shown, or worse; a dash if untested."""
    test = control_tests(headline.result, headline.column, row).get(overlap.metric)
    if test is None:
        return UNDEFINED
    if not differs(test, alpha_of(headline.result)):
        return sentence_templates.NOT_SHOWN
    return sentence_templates.YES if (test.difference or 0.0) > 0 else sentence_templates.WORSE


def named(row: Row) -> str:
    """Return a row's name as printed; " (control)" is added to that of a metric that is also a control."""
    return f"{plain(row.metric)} (control)" if row.kind == "metric" and row.control else plain(row.metric)


def suite_grid(results: Sequence[Result], declarations: Declarations, most: int = ROWS) -> Table:
    """Return one table of the results on several data sets: for each protocol, a column for each data set.

    Cells have intervals where there are few columns. most: largest number of metrics shown.
    """
    protocols = list(dict.fromkeys(result.protocol for result in results))
    shown = headlines(sorted(results, key=lambda result: protocols.index(result.protocol)), declarations)
    labels = {
        name: list(
            dict.fromkeys(plain(headline.column.label) for headline in shown if headline.result.protocol == name)
        )
        for name in protocols
    }
    several_units = len({result.unit for result in results}) > 1
    grid = Table(
        key=("headline",),
        title=Data.wording_of([result.data for result in results], "Metrics against human labels"),
        subtitle=", ".join(dict.fromkeys(units(result.unit) for result in results)),
        headings=tuple(
            plain(headline.result.data.name) + (f" {headline.result.unit}" if several_units else "")
            for headline in shown
        ),
        groups=tuple(
            ColumnGroup(
                f"{plain(name)}: {', '.join(labels[name])}", sum(headline.result.protocol == name for headline in shown)
            )
            for name in protocols
        ),
    )
    return _with_lines(grid, shown, most, declarations, intervals=len(shown) <= _FEW)


def _subtitle(results: Sequence[Result]) -> str:
    """Return, as text, the data and row counts of the result with the fewest rows; retrieval adds its pools."""
    result = min(results, key=lambda result: sum(result.data.levels.values()))
    data = result.data
    counts = [f"{name} {data.levels[name]:,}" for name in LEVELS if name in data.levels]
    largest = max(result.rows, key=lambda row: row.total, default=None)
    rows = f"{largest.total if largest else 0:,} {units(result.unit)}"
    if largest and largest.excluded:
        rows += f" (left out: {', '.join(f'{number:,} {plain(why)}' for why, number in largest.excluded.items())})"
    rows += f", {count(data.groups, 'group')}"
    return "; ".join(filter(None, (f"{place_of(data)}: {rows}", " / ".join(counts))))


def _names(shown: Sequence[Headline], most: int) -> tuple[list[str], int]:
    """Return the names of at most `most` metrics and the number left out; of more, the best by the first measure."""
    names = list(dict.fromkeys(row.metric for headline in shown for row in metrics_of(headline.result)))
    if len(names) <= most:
        return names, 0
    values = {row.metric: shown[0].value(row).value or 0.0 for row in shown[0].metrics}
    best = sorted(names, key=lambda name: -values.get(name, -math.inf))
    return best[:most], len(names) - most


def _with_lines(
    grid: Table, shown: Sequence[Headline], most: int, declarations: Declarations, intervals: bool
) -> Table:
    names, left = _names(shown, most)
    rows = [{row.metric: row for row in metrics_of(headline.result)} for headline in shown]
    reasons = table_notes.numbers(
        headline.value(row) for headline, of in zip(shown, rows, strict=True) for row in of.values()
    )
    heads = [
        _printed_column(headline.column, headline.metrics, (row for row in headline.metrics if row.metric in names))
        for headline in shown
    ]

    level = table_notes.level_of_all(shown)
    but = (table_notes.TIED, table_notes.LEVEL) if level else (table_notes.TIED,)

    def cells(rows: Iterable[Row | None]) -> list[Cell]:
        of = zip(rows, heads, strict=True)
        return [_headline_cell(row, head, reasons, intervals, but) if row else Cell() for row, head in of]

    best = [best_control(headline, declarations.oracles) for headline in shown]
    controls = dict.fromkeys(row.metric for row in best if row and row.kind == "control")
    title = f"best control{'s' if len(controls) > 1 else ''}"
    lines = [("", name, cells(of.get(name) for of in rows)) for name in names]
    lines += [(title, name, cells(row if row and row.metric == name else None for row in best)) for name in controls]
    grid = replace(grid, blocks=blocks_of(lines))
    abouts = {
        plain(headline.column.label): plain(declarations.of(headline.result).about.get(headline.column.key, ""))
        for headline in shown
    }
    return replace(
        grid,
        blocks=_marked_by_name(grid.blocks, len(heads)),
        legend=legend(head.ranks for head in heads),
        footnotes=_mark_notes(grid, shown, reasons, left, level),
        footer=tuple(Note(label, text) for label, text in abouts.items() if text) if len(names) <= _EXPLAINED else (),
    )


def _headline_cell(
    row: Row,
    head: _PrintedColumn,
    reasons: Mapping[str, str],
    intervals: bool,
    but: Collection[str] = (table_notes.TIED,),
) -> Cell:
    """Return a cell of a headline table: no values in brackets, no leading zeros.

    reasons: the footnotes' numbers by their texts. intervals: whether intervals are printed. but: marks to leave out.
    """
    full = _cell(row, head, {})
    return replace(
        full,
        number=short(full.number),
        interval=(" to " if head.spelt else "–").join(map(short, full.ends or ())) if intervals else "",
        ends=full.ends if intervals else None,
        marks=table_notes.marks(row, head.column, reasons, but, head.fewer),
        asides=(),
    )


def _mark_notes(
    grid: Table, shown: Sequence[Headline], reasons: Mapping[str, str], left: int, level: str
) -> tuple[Note, ...]:
    """Return the notes on the marks of a headline table. level: the sentence in place of all marks `LEVEL`, or ""."""
    used = {mark for line in grid.lines for cell in line.cells for mark in cell.marks}
    below = (
        Note("a", table_notes.shared_letter(used)),
        Note(
            table_notes.LEVEL,
            f"not significantly better than every control{untested(shown)}" if table_notes.LEVEL in used else "",
        ),
        Note("", level),
        table_notes.unscored(grid.blocks, any(table_notes.on_fewer_rows(headline.metrics) for headline in shown)),
        *(Note(number, reason) for reason, number in reasons.items() if number in used),
        Note("", f"{count(left, 'more metric')}: --full" if left else ""),
    )
    return tuple(note for note in below if note.text)
