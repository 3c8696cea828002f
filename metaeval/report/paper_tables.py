"""The tables of a paper, several data sets side by side, made from results alone.

The first counts the pairs of each human level. Those of the protocols have metrics down, data sets and their measures
across, and a number with its interval a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report import sentence_templates, table_notes
from metaeval.report.ranking_measures import LEVELS, metrics_of
from metaeval.report.result import Column, Data, Result, Row, records
from metaeval.report.result_tables import cell, has_negative_ends, legend, rank, units
from metaeval.report.table import (
    CONTROLS,
    UNDEFINED,
    Cell,
    ColumnGroup,
    Note,
    Rank,
    Table,
    blocks_of,
    format_value,
    place_of,
    plain,
    value_of,
)

_SHARED = ("data", "settings", "pairs", "ratings", "uncertainty", "perfect metric", "perfect detector", "evidence")


BASE_PAPER_GROUPS: Mapping[str, str] = {
    "llm judge": "LLM-based",
    **dict.fromkeys(("classifier", "entailment by generation", "NLI over sentence pairs"), "entailment-based"),
    **dict.fromkeys(("embedding", "likelihood", "lexical"), "similarity-based"),
}
"""The groups of the base paper's Tables 2 and 3 (arXiv 2406.15264) in its order, by the family on a metric's card."""
OTHER_GROUP = "other"


class PaperLayout(NamedTuple):
    """How a paper's tables are laid out.

    groups: the title above each metric, by name; empty for one block of all. percent_digits: decimals of measures that
    are printed in per cent; None for those that the protocol declares.
    """

    groups: Mapping[str, str] = MappingProxyType({})
    percent_digits: int | None = None

    def blocks(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Return (title of the block, name) for each metric, in the order of `BASE_PAPER_GROUPS`, other groups last."""
        if not self.groups:
            return [("", name) for name in names]
        order = [*dict.fromkeys(BASE_PAPER_GROUPS.values()), OTHER_GROUP]
        titles = {name: self.groups.get(name, OTHER_GROUP) for name in names}
        return [(title, name) for title in order for name in names if titles[name] == title]

    def of(self, result: Result) -> Result:
        """Return the result with this layout's decimals of measures in per cent; unchanged where it has none."""
        if self.percent_digits is None:
            return result
        digits = {"digits": self.percent_digits}
        columns = [column.model_copy(update=digits) if column.scale == 100 else column for column in result.columns]
        return result.model_copy(update={"columns": columns})


FLAT = PaperLayout()


def _named(results: Sequence[Result]) -> dict[str, Result]:
    """Return the results of one protocol under the names of their data sets; units are named where they differ.

    Raises `UserError` when two results would get the same name: a table has one column group for each.
    """
    several = len({result.unit for result in results}) > 1
    by_name: dict[str, Result] = {}
    for result in results:
        name = place_of(result.data)
        name += f" ({result.unit})" if several else ""
        if name in by_name:
            raise UserError(f"Two {result.protocol} results are of {name}, unit {result.unit}: leave one of them out.")
        by_name[name] = result
    return by_name


def _shared_footer(results: Mapping[str, Result]) -> tuple[Note, ...]:
    """Return the footers of results, by data set, as one: a note that all share once, others with each set's name."""
    footers = {name: {str(note.label): note for note in table_notes.footer(result)} for name, result in results.items()}
    below = []
    for label in _SHARED:
        notes_by_name = {name: notes_of[label] for name, notes_of in footers.items() if label in notes_of}
        if notes_by_name and len(notes_by_name) == len(results) and len(set(notes_by_name.values())) == 1:
            below.append(next(iter(notes_by_name.values())))
        elif notes_by_name:
            below.append(
                Note(
                    label,
                    "",
                    tuple((name, note.line.removeprefix(f"{name}: ")) for name, note in notes_by_name.items()),
                )
            )
    return tuple(below)


def level_counts(results: Sequence[Result]) -> Table | None:
    """Return a table with the number of rows at each level; None when no data set has three-level gold.

    A line is a data set, split and unit. Protocols see different rows of one data set (retrieval adds its pools):
    the smallest set of rows is counted, that of the cited documents.
    """
    least: dict[tuple[str, str, str], Result] = {}
    for result in results:
        key = (result.data.name, result.data.split, result.unit)
        fewer = key not in least or _total(result.data) < _total(least[key].data)
        if fewer and set(LEVELS) & set(result.data.levels):
            least[key] = result
    if not least:
        return None
    rows, level_records = [], []
    for name, result in _named(list(least.values())).items():
        counts = [*map(result.data.levels.get, LEVELS), _total(result.data)]
        level_records.append({"data set": name, **dict(zip((*LEVELS, "total"), counts, strict=True))})
        rows.append(("", name, [UNDEFINED if number is None else f"{number:,}" for number in counts]))
    return Table(
        key=("levels",),
        title="Pairs by labelled level",
        subtitle=", ".join(dict.fromkeys(f"{result.unit} pairs" for result in least.values())),
        headings=(*LEVELS, "total"),
        blocks=blocks_of(rows),
        signatures=tuple(
            f"data:{plain(data.name)}/{plain(data.split)}@{data.fingerprint[:12]}"
            for data in (result.data for result in least.values())
        ),
        stub="data set",
        name="table-1-levels",
        records=level_records,
    ).noting(any(result.data.demo for result in least.values()))


def _total(data: Data) -> int:
    return sum(data.levels.values())


def score_table(results: Sequence[Result], layout: PaperLayout = FLAT) -> Table:
    """Return one protocol's results as one table; best and second best are per data set and measure.

    A measure with published values has a second column, `paper`. A metric has blank cells where a data set lacks
    it. layout: groups of metrics, and decimals.
    """
    results = [layout.of(result) for result in results]
    sources = _named(results)
    parts = {name: [_measured(result, column) for column in result.columns] for name, result in sources.items()}
    measured = [measure for part in parts.values() for measure in part]
    order = [row for result in results for row in table_notes.in_blocks(result.rows)]
    reasons = table_notes.numbers(
        value_of(row, column) for result in results for row in result.rows for column in result.columns
    )
    said_once = table_notes.level_of_all((result, column) for result in results for column in result.columns)
    but = (table_notes.TIED, *([table_notes.LEVEL] if said_once else []))
    blocks = blocks_of(
        (title, name, [cell for measure in measured for cell in measure.cells(name, kind, reasons, but)])
        for kind in ("metric", "control")
        for title, name in _lines(order, kind, layout)
    )
    flagged = any(table_notes.LEVEL in cell.marks for block in blocks for line in block.lines for cell in line.cells)
    unscored = table_notes.unscored(blocks, any(measure.fewer for measure in measured))
    level = f"{sentence_templates.NOT_ABOVE} (the two oracles aside)" if flagged else ""
    return Table(
        key=("paper", results[0].protocol),
        title=_title(results),
        subtitle=", ".join(dict.fromkeys(units(result.unit) for result in results)),
        headings=tuple(heading for measure in measured for heading in measure.headings),
        blocks=blocks,
        legend=legend(measure.ranks for measure in measured),
        footnotes=(
            *([Note(table_notes.LEVEL, level)] if level else []),
            *([unscored] if unscored.text else []),
            *(Note(mark, reason) for reason, mark in reasons.items()),
        ),
        footer=(*_reading(results, said_once), *_shared_footer(sources)),
        signatures=tuple(row.signature for result in results for row in metrics_of(result)),
        groups=tuple(ColumnGroup(name, sum(len(measure.headings) for measure in part)) for name, part in parts.items()),
        records=[record for result in results for record in _shown_records(result)],
    ).noting(any(result.data.demo for result in results))


def _title(results: Sequence[Result]) -> str:
    """Return the title of one protocol's results; "human" in it becomes "demo", or both words, for demo data."""
    title = next((result.title for result in results if not result.data.demo), results[0].title)
    return plain(Data.wording_of([result.data for result in results], title))


def _lines(order: Sequence[Row], kind: str, layout: PaperLayout) -> list[tuple[str, str]]:
    """Return (title of the block, name) for each line. kind: "metric" or "control", of which the lines are."""
    names = list(dict.fromkeys(row.metric for row in order if row.kind == kind))
    return layout.blocks(names) if kind == "metric" else [(CONTROLS, name) for name in names]


class _Measured(NamedTuple):
    """A measure of one result as printed, in one column or, with published values, in two.

    ranks: by printed value. fewer: metrics that scored fewer rows than others, without a rank. spelt: whether intervals
    are printed as "low to high", since an end is negative.
    """

    column: Column
    ranks: Mapping[str, Rank]
    headings: tuple[str, ...]
    rows: Mapping[tuple[str, str], Row]
    fewer: Collection[str]
    spelt: bool

    def cells(self, name: str, kind: str, reasons: Mapping[str, str], but: Collection[str]) -> list[Cell]:
        """Return a line's cells, blank if it has no row. reasons: footnote numbers by text. but: marks to leave out."""
        row, column = self.rows.get((name, kind)), self.column
        if row is None:
            return [Cell("") for _ in self.headings]
        value = value_of(row, column)
        number = format_value(value.value, column)
        held = self.ranks.get(number, "") if kind == "metric" and name not in self.fewer else ""
        marks = table_notes.marks(row, column, reasons, but, self.fewer)
        printed = cell(value.value, value.low, value.high, column, marks=marks, spelt=self.spelt)
        mine = replace(printed, rank=held)
        paper = Cell("" if value.published is None else format_value(value.published, column))
        return [mine, paper][: len(self.headings)]


def _measured(result: Result, column: Column) -> _Measured:
    fewer = table_notes.on_fewer_rows(metrics_of(result))
    ranks = rank((value_of(row, column).value for row in metrics_of(result) if row.metric not in fewer), column)
    published = any(value_of(row, column).published is not None for row in result.rows)
    spelt = has_negative_ends(result.rows, column)
    headings = (plain(column.label), "paper") if published else (plain(column.label),)
    return _Measured(column, ranks, headings, {(row.metric, row.kind): row for row in result.rows}, fewer, spelt)


def _reading(results: Sequence[Result], said_once: str) -> tuple[Note, ...]:
    """Return notes on all values (`said_once`), raised letters, second columns and blank cells, if there are any."""
    tests = dict.fromkeys(
        table_notes.settings(result.significance) for result in results if result.significance is not None
    )
    cells = [(row, column) for result in results for row in result.rows for column in result.columns]
    values = [value_of(row, column) for row, column in cells]
    shared = table_notes.shared_letter(filter(None, (table_notes.letters(row, column) for row, column in cells)))
    published = any(value.published is not None for value in values)
    sources = ", ".join(filter(None, dict.fromkeys(map(_published_source, results))))
    names = {(row.metric, row.kind) for result in results for row in result.rows}
    blank = sum(len(result.rows) for result in results) < len(names) * len(results)
    below = (
        Note("all values", said_once),
        Note(
            "significance",
            f"{shared} ({'; '.join(tests)})" if shared else "; ".join(tests),
        ),
        Note("paper", sources or "published values" if published else ""),
        Note("blank", "not scored on that data set" if blank else ""),
    )
    return tuple(note for note in below if note.text)


def _published_source(result: Result) -> str:
    """Return what the published values of a result are, as text; empty where there are none."""
    source, elsewhere = plain(result.published), plain(result.published_elsewhere)
    if not source:
        return ""
    if elsewhere:
        return sentence_templates.PUBLISHED_ELSEWHERE.format(elsewhere=elsewhere, source=f" ({source})")
    return f"published values ({source})"


class NumberedTable(NamedTuple):
    """The number of a protocol's table in a paper, and the keys of its measures; (): those that its own table shows."""

    number: int
    measures: tuple[str, ...] = ()


def paper_tables(
    results: Sequence[Result],
    left_out: Sequence[tuple[str, str]] = (),
    numbered: Mapping[str, NumberedTable] = MappingProxyType({}),
    layout: PaperLayout = FLAT,
) -> list[Table]:
    """Return the tables of a paper; raises `UserError` where there are no results.

    left_out: metrics or data sets that could not be run, and why; each table's footer says so. numbered: the
    protocols whose tables have a number, by name. layout: groups of metrics, and decimals.
    """
    if not results:
        raise UserError("No results are given: a paper's tables need at least one result file.")
    tables = [table for table in [level_counts(results)] if table is not None]
    for stem, same in _by_protocol(results, numbered).items():
        tables.append(replace(score_table(same, layout), name=stem))
    absent = (Note("not run", "", tuple(left_out)),) if left_out else ()
    return [replace(table, footer=(*table.footer, *absent)) for table in tables]


def _by_protocol(results: Sequence[Result], numbered: Mapping[str, NumberedTable]) -> dict[str, list[Result]]:
    """Return the results of each protocol's table, by the name of its file; numbered tables come first, in order."""
    in_order = sorted(numbered, key=lambda name: numbered[name].number)
    groups: dict[str, list[Result]] = {}
    for name in dict.fromkeys([*in_order, *(result.protocol for result in results)]):
        number = f"{numbered[name].number}-" if name in numbered else ""
        measures = numbered[name].measures if name in numbered else ()
        if same := [_with_columns(result, measures) for result in results if result.protocol == name]:
            groups[f"table-{number}{safe_name(name)}"] = same
    return groups


def _with_columns(result: Result, keys: Sequence[str]) -> Result:
    """Return the result with only these columns, if it has them all; otherwise unchanged."""
    columns = [column for key in keys for column in result.columns if column.key == key]
    return result.model_copy(update={"columns": columns}) if columns and len(columns) == len(keys) else result


def _shown_records(result: Result) -> list[dict[str, str | float | int | None]]:
    """Return the result's records, of metrics and controls, under the measures that its table shows."""
    keys = {column.key for column in result.columns}
    return [record for record in records(result) if record["measure"] in keys]
