"""Citation scores as a table: systems down and measures across, a block for each backend; and lines of any cells.

Last, a result as it is read on a terminal: few rows, and what controls and tests say of them in sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from metaeval.report.cells import cell, lay_out, rank
from metaeval.report.notes import settings, standing
from metaeval.report.result import Column, Comparison, Result
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
    blocks_of,
    grouped,
    plain,
)
from metaeval.report.verdicts import above, control_tests, differs

Ends = tuple[float | None, float | None, float | None]
"""A value and the ends of its interval; None where undefined."""

_RANKED = ("recall", "precision", "f1")
"""Keys of the headline measures, whose best numbers are marked."""

_KEPT = ("perfect metric",)
"""Of the footer of a result; the rest is told for all tables at once, or stands in the files."""

_YARDSTICKS = ("constant", "oracle", "inverted oracle")
"""Controls whose correlations are known beforehand."""


@dataclass(frozen=True)
class Entry:
    """One system under one backend (empty: no verdict is needed), with its values by column key."""

    system: str
    backend: str
    values: Mapping[str, Ends]


@dataclass(frozen=True, eq=False)
class TableLines:
    """Named lines of cells in titled blocks, as they are printed, and the records that they are made of."""

    rows: list[TableRow] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add(self, block: str, name: str, cells: Sequence[Cell | str], *records: Record) -> None:
        """Put a line into a block, and its records behind the others."""
        self.rows.append((block, name, cells))
        self.records.extend(records)


def entry_records(entries: Sequence[Entry]) -> list[dict[str, str | float | None]]:
    """The same as records: one for each system, backend and measure."""
    return [
        {"system": entry.system, "backend": entry.backend, "measure": name, "value": value, "low": low, "high": high}
        for entry in entries
        for name, (value, low, high) in entry.values.items()
    ]


def shown_columns(columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> list[Column]:
    """The columns that have a value, and those whose keys are `kept`."""
    return [one for one in columns if one.key in kept or any(_value(entry, one) is not None for entry in entries)]


def scores_grid(frame: Table, columns: Sequence[Column], entries: Sequence[Entry], kept: Collection[str] = ()) -> Table:
    """Systems in blocks by backend; backends alone where there is one system.

    Columns without a value are left out, but for those whose keys are `kept`.
    """
    shown = shown_columns(columns, entries, kept)
    backends = list(dict.fromkeys(entry.backend for entry in entries))
    alone = len({entry.system for entry in entries}) == 1 and backends != [""]
    blocks = []
    for backend in [None] if alone else backends:
        own = [entry for entry in entries if backend is None or entry.backend == backend]
        ranks = [
            {} if alone or column.key not in _RANKED else rank([_value(entry, column) for entry in own], column)
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
            for entry in own
        )
        blocks.append(Block(plain(backend or ""), lines))
    return framed_grid(frame, [column.label for column in shown], blocks, "backend" if alone else "system")


def lines_grid(
    frame: Table, stub: str, headings: Sequence[str], table: TableLines, groups: tuple[ColumnGroup, ...] = ()
) -> Table:
    """Any named lines of cells, in titled blocks."""
    return framed_grid(frame, headings, blocks_of(table.rows) if table.rows else (), stub, groups)


def interval_cell(
    ends: Ends | None, column: Column, signed: bool = False, ranks: Mapping[str, Rank] = MappingProxyType({})
) -> Cell:
    """A value with its interval as the column prints it, and with its rank by the printed number.

    signed: an interval that can reach below 0.
    """
    made = cell(*(ends or (None, None, None)), column, spelt=signed)
    return replace(made, rank=ranks.get(made.number, ""))


def _value(entry: Entry, column: Column) -> float | None:
    ends = entry.values.get(column.key)
    return ends[0] if ends else None


def framed_grid(
    frame: Table, headings: Sequence[str], blocks: Sequence[Block], stub: str, groups: tuple[ColumnGroup, ...] = ()
) -> Table:
    """Blocks in their frame, with a legend where a number has a rank."""
    ranked = any(cell.rank for block in blocks for line in block.lines for cell in line.cells)
    legend = "Bold: best system of the block; underlined: second best." if ranked else ""
    return replace(frame, headings=tuple(headings), blocks=tuple(blocks), legend=legend, stub=stub, groups=groups)


def brief_grid(result: Result, names: Collection[str], columns: Collection[str]) -> Table:
    """The result of these measures, under those of these columns that it has, or under all."""
    shown = [one for one in result.columns if one.key in columns] or result.columns
    few = few_rows(result.model_copy(update={"columns": shown}), names)
    notes = (cleared(few), told_apart(few))
    grid = lay_out(unmarked(few))
    kept = (note for note in grid.footer if note.label in _KEPT)
    return replace(grid, footer=(*kept, *(note for note in notes if note.text or note.items)))


def few_rows(result: Result, names: Collection[str]) -> Result:
    """The result with these measures and the controls that say something, without the shares of ceilings."""
    keys = [column.key for column in result.columns]
    rows = []
    for row in result.rows:
        if row.metric in names if row.kind == "metric" else row.metric not in _YARDSTICKS:
            values = {key: row.values[key].model_copy(update={"ceiling": None}) for key in keys}
            rows.append(row.model_copy(update={"values": values}))
    ceilings = {key: own for key, own in result.ceilings.items() if key in keys}
    return result.model_copy(update={"rows": rows, "ceilings": ceilings})


def unmarked(result: Result) -> Result:
    """The result without the marks of controls, and without raised numbers where all would be the same."""
    own: dict[str, object] = {} if _differ(result) else {"clusters": {}}
    return result.model_copy(
        update={"rows": [row.model_copy(update={"not_above": {}, **own}) for row in result.rows], "significance": None}
    )


def cleared(result: Result) -> Note:
    """Which measures are significantly above each control, under the columns in which they were tested against it."""
    metrics = [row for row in result.rows if row.kind == "metric"]
    by_label = {
        plain(column.label): [control_tests(result, column, row) for row in metrics] for column in result.columns
    }
    items = []
    for control in (row.metric for row in result.rows if row.kind == "control"):
        tested = {label: [own[control] for own in tests if control in own] for label, tests in by_label.items()}
        labels_of = grouped((_cleared_by(result, tests), label) for label, tests in tested.items() if tests)
        texts = [text if len(labels_of) == 1 else f"{', '.join(labels)}: {text}" for text, labels in labels_of.items()]
        if texts:
            items.append((plain(control), "; ".join(texts)))
    return Note("controls", "a measure clears a control where it is significantly above it", tuple(items))


def _cleared_by(result: Result, tests: Sequence[Comparison]) -> str:
    names = [plain(test.one) for test in tests if result.significance and above(test, result.significance.alpha)]
    if not names:
        return "no measure clears it"
    return "every measure clears it" if len(names) == len(tests) else f"cleared by {', '.join(names)}"


def told_apart(result: Result) -> Note:
    """Which measures differ; in one sentence where none do."""
    tested = result.significance
    if tested is None or not tested.comparisons:
        return Note("significance", "")
    if _differ(result):
        return Note("significance", standing(result).text)  # which have the same number, the table shows
    return Note("significance", f"no two of these measures are told apart ({settings(tested)})")


def _differ(result: Result) -> bool:
    """Whether any two measures differ under a column that is shown."""
    tested, keys = result.significance, {column.key for column in result.columns}
    if tested is None:
        return False
    return any(differs(one, tested.alpha) for one in tested.comparisons if one.measure in keys)
