"""The cells of the reference results: what each pack is worth on each data set, recomputed from packs and data.

`cells.csv` has one row for a metric or control, data set and measure; `tests.csv` has each pair of metrics, over the
rows that all current metrics of the set have scored. Sets whose packs or data are not here keep their rows.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from metaeval.errors import UserError
from metaeval.files import csv_text, write_text
from metaeval.parsing import read_text
from metaeval.report.ranking_measures import Headline
from metaeval.report.reference_answers import PrintedCell
from metaeval.report.result import Comparison, Result, Row, Value
from metaeval.report.significance_verdicts import above_every_control, top
from metaeval.runs.evaluation import find_protocols
from metaeval.runs.prepared_run import Job, RatedSet
from metaeval.runs.run import EvaluatedRun, evaluate_columns
from metaeval.runs.score_columns import AlignedColumn
from metaeval.runs.score_packs import ReferenceSet, ScorePack, fingerprint_of
from metaeval.runs.significance import adjusted, marked
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.signature import versions

CELLS, TESTS = "cells.csv", "tests.csv"
MEASURES: Mapping[str, str] = {
    "fs_ns": "classification",
    "fs_ps": "classification",
    "ps_ns": "classification",
    "kendall": "correlation",
    "ndcg@5": "retrieval",
}
"""The protocol of each measure, by its key. Of two levels, supported and not, fs_ns is the only ROC-AUC."""

OF_CELL = (
    *("set", "title", "dataset", "split", "unit", "language", "measure", "kind", "metric", "pack", "file", "version"),
    *("value", "low", "high", "n", "groups", "effective", "common_rows", "common_value", "rank_low", "rank_high"),
    *("best", "above_controls", "alone", "stale", "shipped", "commercial", "licence", "data_licence", "fitted_on"),
    *("needs", "seconds_per_1000", "usd_per_1000", "date", "metaeval", "data", "control"),
)
OF_TEST = ("set", "measure", "one", "other", "rows", "difference", "low", "high", "p", "holm")
DIGITS = 6


class CellTables(NamedTuple):
    """The rows of `cells.csv` and `tests.csv`, as mappings of headings to texts, in their order."""

    cells: list[PrintedCell]
    tests: list[PrintedCell]

    def of(self, name: str) -> CellTables:
        """Return the rows of the set `name`."""
        return CellTables(*([row for row in rows if row["set"] == name] for rows in self))


def read_cells(folder: Path) -> CellTables:
    """Read the cells and tests of a reference folder; empty tables where there are none yet."""
    paths = folder / CELLS, folder / TESTS
    texts = (read_text(path) if path.is_file() else "" for path in paths)
    cells, tests = ([*csv.DictReader(text.splitlines())] for text in texts)
    blank = dict.fromkeys(OF_CELL, "")  # files of earlier versions lack headings
    return CellTables([{**blank, **row} for row in cells], [*tests])


def write_cells(folder: Path, tables: CellTables) -> None:
    """Write the cells and tests into a reference folder; the same tables give the same bytes."""
    for name, headings, rows in ((CELLS, OF_CELL, tables.cells), (TESTS, OF_TEST, tables.tests)):
        lines = [headings, *([row[heading] for heading in headings] for row in rows)]
        write_text(folder / name, csv_text(lines, "\n"), update=True)


@dataclass(frozen=True)
class Recomputed:
    """Recomputed tables. done: the sets recomputed. kept: why others that were asked for (and have packs) were not."""

    tables: CellTables
    done: Sequence[str]
    kept: Mapping[str, str]


def recompute(
    folder: Path,
    sets: Mapping[str, ReferenceSet],
    packs: Sequence[ScorePack],
    data: Path | None,
    names: Iterable[str] = (),
    sources: Mapping[str, Job | RatedSet] | None = None,
) -> Recomputed:
    """Recompute the rows of the named sets whose packs and data are here; other sets keep their rows in `folder`.

    packs: all, shipped or not. data: folder of published files. names: empty for all sets. sources: loaded data by set.
    """
    before, chosen = read_cells(folder), [*names] or [*sets]
    here = {pack.name for pack in packs}
    tables, done, kept = CellTables([], []), [], {}
    for name, declared in sets.items():
        rows, of_set = before.of(name), [pack for pack in packs if name in pack.card.scores]
        away = {row["pack"] for row in rows.cells if row["shipped"] == "no"} - here
        if name in chosen and of_set and not away:
            try:
                source = (sources or {}).get(name) or declared.load(data)
            except UserError as error:
                kept[name] = f"its data cannot be loaded: {error}"
            else:
                rows = set_tables(name, declared, source, of_set)
                done.append(name)
        elif away and name in chosen:
            kept[name] = f"it needs packs that are not shipped ({', '.join(sorted(away))}): name their folder (--packs)"
        for part, added in zip(tables, rows, strict=True):
            part.extend(added)
    return Recomputed(tables, done, kept)


def set_tables(name: str, declared: ReferenceSet, source: Job | RatedSet, packs: Sequence[ScorePack]) -> CellTables:
    """Return the cells and tests of the set `name`. source: its data. packs: those with scores on it.

    Raises `UserError` for two packs of one metric.
    """
    cards, data = {pack.card.metric: pack for pack in packs}, fingerprint_of(source)
    for pack in packs:
        if (other := cards[pack.card.metric]) is not pack:
            raise UserError(
                f"{name}: {pack.name} and {other.name} are packs of {pack.card.metric}: delete one of them."
            )
    stale = {pack.card.metric: reason for pack in packs if (reason := pack.stale(name, data))}
    columns = [pack.column(name, source) for pack in packs]
    current = [column for column in columns if column.name not in stale]
    common = np.logical_and.reduce([~np.isnan(column.score) for column in current] or [np.ones(0, dtype=bool)])
    same = all(np.array_equal(~np.isnan(column.score), common) for column in current)
    tested = [column.name for column in current]
    whole = _evaluated(source, columns, tested)
    masked = [replace(column, score=np.where(common, column.score, np.nan)) for column in current]
    shared = whole if same or not common.any() else _evaluated(source, masked, tested)
    about = {"set": name, **{key: getattr(declared, key) for key in ("title", "dataset", "unit", "language")}}
    about |= {"split": source.split, "data_licence": declared.card.licence, **versions("metaeval"), "data": data}
    tables = CellTables([], [])
    for measure, protocol in MEASURES.items():
        of_all, of_common = (_result_under(run, protocol) for run in (whole, shared))
        if of_all is None or of_common is None or measure not in {column.key for column in of_all.columns}:
            continue
        if of_common.significance:  # the common rows are all that is compared: no other row could reverse a test
            (tested_here,) = adjusted([of_common.significance], lambda test: test.measure)
            update = {"significance": tested_here, "rows": marked(of_common.rows, tested_here)}
            of_common = of_common.model_copy(update=update)
        cells = [
            {**about, **_card_fields(cards.get(row.metric), name, declared), **fields}
            | {"stale": stale.get(row.metric, "")}
            for row, fields in _measured(measure, of_all, of_common, source, whole)
        ]
        tables.cells.extend(_texts(cell, OF_CELL) for cell in cells)
        tests = [test for test in _tests(of_common) if test.measure == measure]
        tables.tests.extend(_texts({"set": name, **test.model_dump()}, OF_TEST) for test in tests)
    return tables


def _evaluated(source: Job | RatedSet, columns: Sequence[AlignedColumn], tested: Sequence[str]) -> EvaluatedRun:
    """Return the results of columns and controls. tested: metrics that are compared with each other and controls."""
    levels = isinstance(source, Job) or source.ratings.levels
    names = [*dict.fromkeys(MEASURES.values())] if isinstance(source, Job) else ["classification", "correlation"]
    config = source.config.model_copy(update={"protocols": names if levels else ["correlation"]})
    return evaluate_columns(replace(source, config=config), columns, find_protocols(config), tested)


def _result_under(run: EvaluatedRun, protocol: str) -> Result | None:
    return next((result for result in run.results if result.protocol == protocol), None)


def _tests(result: Result) -> Sequence[Comparison]:
    return result.significance.comparisons if result.significance else ()


def _measured(
    measure: str, whole: Result, shared: Result, source: Job | RatedSet, run: EvaluatedRun
) -> Iterator[tuple[Row, dict[str, object]]]:
    """Yield each metric and control with a value, oracles aside, and its cell's fields. shared: on the common rows."""
    column = next(column for column in shared.columns if column.key == measure)
    headline = Headline(shared, column)
    on_common = {row.metric: row for row in shared.rows}
    metrics = {row.metric for row in headline.metrics}
    tests = (test for test in _tests(shared) if test.measure == measure and test.p is not None)
    tested = {name for test in tests for name in (test.one, test.other)} & metrics
    leading = top(Headline(shared.model_copy(update={"rows": [on_common[name] for name in tested]}), column))
    for row in whole.rows:
        value = row.values.get(measure, Value(value=None))
        if value.value is None or row.metric in GOLD_CONTROLS:
            continue
        fields: dict[str, object] = {
            **{"measure": measure, "kind": row.kind, "control": row.control, "metric": row.metric},
            **{"value": value.value, "low": value.low, "high": value.high, "n": row.scored},
            **{"effective": value.effective, "groups": _groups(source, run, row.metric)},
        }
        if row.kind == "metric" and (common := on_common.get(row.metric)) and row.metric in metrics:
            rank = common.ranks.get(measure, (None, None))
            above = above_every_control(headline, common, GOLD_CONTROLS)
            fields |= {"common_rows": common.scored, "common_value": common.values[measure].value}
            fields |= {"rank_low": rank[0], "rank_high": rank[1], "above_controls": above}
            fields |= {"best": row.metric in leading if row.metric in tested else None, "alone": len(metrics) < 2}
        yield row, fields


def _groups(source: Job | RatedSet, run: EvaluatedRun, metric: str) -> int:
    """Return the number of groups in which a metric (or control) has scored a row with gold."""
    frame = source.frame(next(iter(run.protocols.values())))
    score = next(column.score for column in run.columns if column.name == metric)
    return int(np.unique(frame.group[~np.isnan(score[frame.numbers])]).size)


def _card_fields(pack: ScorePack | None, name: str, declared: ReferenceSet) -> dict[str, object]:
    if pack is None:
        return {"commercial": declared.commercial}
    card = pack.card
    fields = ("version", "licence", "needs", "seconds_per_1000", "usd_per_1000", "date")
    return {
        **{field: getattr(card, field) for field in fields},
        **{"pack": pack.name, "shipped": pack.is_shipped, "fitted_on": " ".join(card.fitted_on)},
        **{"file": card.scores[name].file if pack.is_shipped else ""},
        "commercial": card.commercial and declared.commercial,
    }


def _texts(fields: Mapping[str, object], headings: Sequence[str]) -> dict[str, str]:
    return {heading: _text(fields.get(heading)) for heading in headings}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{DIGITS}g}"
    return "" if value is None else str(value)
