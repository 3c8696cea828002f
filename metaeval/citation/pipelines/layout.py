"""Tables of citation scores (systems by measures, in blocks by backend), and tables of any named lines.

The second half shortens a protocol's result for the terminal: few rows, with sentences on controls and tests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from metaeval.report.ranking_measures import above, control_tests, differs
from metaeval.report.result import Column, Comparison, Result
from metaeval.report.result_tables import cell, lay_out, rank
from metaeval.report.table import (
    Block,
    Cell,
    ColumnGroup,
    Note,
    Rank,
    Record,
    Table,
    TableLine,
    TableRow,
    grouped,
    plain,
)
from metaeval.report.table_notes import settings, significance_note

IntervalEnds = tuple[float | None, float | None, float | None]
"""A value and the lower and upper end of its interval; None where undefined."""

_RANKED = ("recall", "precision", "f1")
"""Keys of the headline measures, whose best values are marked."""

_KEPT = ("perfect metric",)
"""Labels of the notes of a result that are printed; the others are in the files, or common to all tables."""

_YARDSTICKS = ("constant", "oracle", "inverted oracle")
"""Controls that brief tables leave out, since their correlations are known in advance."""


@dataclass(frozen=True)
class Entry:
    """The values of one system with one backend (empty: no verdict is needed), by column key."""

    system: str
    backend: str
    values: Mapping[str, IntervalEnds]


@dataclass(frozen=True, eq=False)
class TableLines:
    """Named lines of cells in titled blocks, (block, name, cells), and their records."""

    rows: list[TableRow] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add(self, block: str, name: str, cells: Sequence[Cell | str], *records: Record) -> None:
        """Append a line to a block, and its records."""
        self.rows.append((block, name, cells))
        self.records.extend(records)


def entry_records(entries: Sequence[Entry]) -> list[dict[str, str | float | None]]:
    """Return one record per system, backend and measure."""
    return [
        {"system": entry.system, "backend": entry.backend, "measure": name, "value": value, "low": low, "high": high}
        for entry in entries
        for name, (value, low, high) in entry.values.items()
    ]


def shown_columns(columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> list[Column]:
    """Return the columns in which any entry has a value, and those whose keys are `kept`."""
    return [
        column
        for column in columns
        if column.key in kept or any(_value(entry, column) is not None for entry in entries)
    ]


def scores_grid(columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> Table:
    """Return the table of systems in blocks by backend; a single system has one block, with a line per backend.

    Columns without a value are left out, except those whose keys are `kept`.
    """
    shown = shown_columns(columns, entries, kept)
    backends = list(dict.fromkeys(entry.backend for entry in entries))
    alone = len({entry.system for entry in entries}) == 1 and backends != [""]
    blocks = []
    for backend in [None] if alone else backends:
        rows = [entry for entry in entries if backend is None or entry.backend == backend]
        ranks = [
            {} if alone or column.key not in _RANKED else rank([_value(entry, column) for entry in rows], column)
            for column in shown
        ]
        lines = tuple(
            TableLine(
                plain(entry.backend if alone else entry.system),
                tuple(
                    interval_cell(entry.values.get(column.key), column, ranks=own_ranks)
                    for column, own_ranks in zip(shown, ranks, strict=True)
                ),
            )
            for entry in rows
        )
        blocks.append(Block(plain(backend or ""), lines))
    return grid_of(blocks, "backend" if alone else "system", [column.label for column in shown])


def interval_cell(ends: IntervalEnds | None, column: Column, ranks: Mapping[str, Rank] = MappingProxyType({})) -> Cell:
    """Return the cell of a value and its interval. ranks: rank by printed number."""
    printed = cell(*(ends or (None, None, None)), column)
    return replace(printed, rank=ranks.get(printed.number, ""))


def _value(entry: Entry, column: Column) -> float | None:
    ends = entry.values.get(column.key)
    return ends[0] if ends else None


def grid_of(blocks: Sequence[Block], stub: str, headings: Sequence[str], groups: tuple[ColumnGroup, ...] = ()) -> Table:
    """Return a table of blocks under headings, with a legend where a number has a rank. stub: heading of the names."""
    ranked = any(cell.rank for block in blocks for line in block.lines for cell in line.cells)
    legend = "Bold: highest value of the block; underlined: second highest." if ranked else ""
    return Table(headings=tuple(headings), blocks=tuple(blocks), legend=legend, stub=stub, groups=groups)


def brief_grid(result: Result, names: Collection[str], columns: Collection[str]) -> Table:
    """Return a result's table with the measures `names` and these columns (all columns if it has none of them)."""
    shown = [column for column in result.columns if column.key in columns] or result.columns
    few = few_rows(result.model_copy(update={"columns": shown}), names)
    notes = (above_controls(few), differences(few))
    grid = lay_out(unmarked(few))
    kept = (note for note in grid.footer if note.label in _KEPT)
    return replace(grid, footer=(*kept, *(note for note in notes if note.text or note.items)))


def few_rows(result: Result, names: Collection[str]) -> Result:
    """Return the result with these measures (`names`) and the informative controls, without shares of ceilings."""
    keys = [column.key for column in result.columns]
    rows = []
    for row in result.rows:
        if row.metric in names if row.kind == "metric" else row.metric not in _YARDSTICKS:
            values = {key: replace(row.values[key], ceiling=None) for key in keys}
            rows.append(row.model_copy(update={"values": values}))
    ceilings = {key: ceiling for key, ceiling in result.ceilings.items() if key in keys}
    return result.model_copy(update={"rows": rows, "ceilings": ceilings})


def unmarked(result: Result) -> Result:
    """Return the result without marks about controls and tests, and without letters where no two measures differ."""
    update: dict[str, object] = {} if _differ(result) else {"letters": {}}
    return result.model_copy(
        update={
            "rows": [row.model_copy(update={"not_above": {}, **update}) for row in result.rows],
            "significance": None,
        }
    )


def above_controls(result: Result) -> Note:
    """Return the note on the measures that are significantly above each control, by the columns that were tested."""
    metrics = [row for row in result.rows if row.kind == "metric"]
    by_label = {
        plain(column.label): [control_tests(result, column, row) for row in metrics] for column in result.columns
    }
    items = []
    for control in (row.metric for row in result.rows if row.kind == "control"):
        tested = {
            label: [by_control[control] for by_control in tests if control in by_control]
            for label, tests in by_label.items()
        }
        labels_of = grouped((_measures_above(result, tests), label) for label, tests in tested.items() if tests)
        texts = [text if len(labels_of) == 1 else f"{', '.join(labels)}: {text}" for text, labels in labels_of.items()]
        if texts:
            items.append((plain(control), "; ".join(texts)))
    return Note("controls", "measures that are significantly above each control", tuple(items))


def _measures_above(result: Result, tests: Sequence[Comparison]) -> str:
    names = [plain(test.one) for test in tests if result.significance and above(test, result.significance.alpha)]
    if not names:
        return "no measure"
    return "every measure" if len(names) == len(tests) else ", ".join(names)


def differences(result: Result) -> Note:
    """Return the note on which measures are significantly different, or that none are; empty without tests."""
    tested = result.significance
    if tested is None or not tested.comparisons:
        return Note("significance", "")
    if _differ(result):
        return Note("significance", significance_note(result).text)  # the table shows the letters
    return Note("significance", f"no two of these measures are significantly different ({settings(tested)})")


def _differ(result: Result) -> bool:
    """Return whether any two measures are significantly different in a column that is shown."""
    tested, keys = result.significance, {column.key for column in result.columns}
    if tested is None:
        return False
    return any(differs(comparison, tested.alpha) for comparison in tested.comparisons if comparison.measure in keys)
