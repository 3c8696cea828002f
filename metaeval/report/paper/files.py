"""Writing a paper's tables: one for the levels, one for each protocol, in every format."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from metaeval.errors import UserError
from metaeval.files import safe_name, write_text
from metaeval.report import csv_table, latex, markdown, terminal
from metaeval.report.grid import Grid, Note
from metaeval.report.paper.level_counts import LEVELS, level_counts
from metaeval.report.paper.scores import score_table
from metaeval.report.result import Result

_FIRST = "table-1-levels"


class Table(NamedTuple):
    """A protocol's table in a paper: its number, and the keys of its measures; (): all that its own table shows."""

    number: int
    measures: tuple[str, ...] = ()


def paper_tables(results: Sequence[Result], numbered: Mapping[str, Table] = MappingProxyType({})) -> dict[str, Grid]:
    """The tables by file stem: levels, the protocols of the numbered tables, then the others in the given order."""
    if not results:
        raise UserError("No results are given: a paper's tables take at least one result file.")
    counts = level_counts(results)
    tables = {_FIRST: counts} if counts is not None else {}
    for stem, same in _by_protocol(results, numbered).items():
        tables[stem] = score_table(same)
    return tables


def write_paper(
    results: Sequence[Result],
    folder: Path,
    left_out: Sequence[tuple[str, str]] = (),
    numbered: Mapping[str, Table] = MappingProxyType({}),
) -> list[Path]:
    """Write every table as text, Markdown, LaTeX and CSV into `folder` and return the paths.

    left_out: metrics or data sets that could not be run, and why; each table's footer says so. numbered: the protocols
    whose tables have a number, by name. Nothing is written when a table cannot be made.
    """
    groups = _by_protocol(results, numbered)
    absent = (Note("not run", "", tuple(left_out)),) if left_out else ()
    texts: dict[str, str] = {}
    for stem, table in paper_tables(results, numbered).items():
        grid = replace(table, footer=(*table.footer, *absent))
        texts[f"{stem}.txt"] = terminal.text_of(grid)
        texts[f"{stem}.md"] = markdown.page_of(grid)
        texts[f"{stem}.tex"] = latex.table_of(grid)
        texts[f"{stem}.csv"] = _counts_csv(grid) if stem == _FIRST else _scores_csv(groups[stem])
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    return paths


def _by_protocol(results: Sequence[Result], numbered: Mapping[str, Table]) -> dict[str, list[Result]]:
    """The results of each table by its file stem; files sort in the paper's order."""
    in_order = sorted(numbered, key=lambda name: numbered[name].number)
    groups: dict[str, list[Result]] = {}
    for name in dict.fromkeys([*in_order, *(result.protocol for result in results)]):
        number = f"{numbered[name].number}-" if name in numbered else ""
        measures = numbered[name].measures if name in numbered else ()
        if same := [_with_columns(result, measures) for result in results if result.protocol == name]:
            groups[f"table-{number}{safe_name(name)}"] = same
    return groups


def _with_columns(result: Result, keys: Sequence[str]) -> Result:
    """The result with these columns alone where it has them all."""
    found = [column for key in keys for column in result.columns if column.key == key]
    return result.model_copy(update={"columns": found}) if found and len(found) == len(keys) else result


def _scores_csv(results: Sequence[Result]) -> str:
    """The tidy rows of every result, one header, only the table's measures."""
    texts = []
    for result in results:
        keys = {column.key for column in result.columns}
        rows = [
            row.model_copy(update={"values": {key: value for key, value in row.values.items() if key in keys}})
            for row in result.rows
        ]
        texts.append(csv_table.render(result.model_copy(update={"rows": rows})))
    return texts[0] + "".join(text.split("\r\n", 1)[1] for text in texts[1:])


def _counts_csv(grid: Grid) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["data set", *LEVELS, "total"])
    for line in grid.lines:
        numbers = (cell.number.replace(",", "") for cell in line.cells)
        writer.writerow([line.name, *(number if number.isdigit() else "" for number in numbers)])
    return file.getvalue()
