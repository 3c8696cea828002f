"""The tables of the reference results: what each pack is worth on each set, and which metrics differ.

A pack is a folder with a metric's scores by pair id, a file for each set, and a card that says whose they are. A cell's
value, interval and rows are of all that the metric scored; its common value and ranks, and the tests, are of the rows
that all metrics of the set scored. `alone`: nothing is compared with the metric. `stale`: why it is not ranked.
`control`: the group of a control, which may be a metric.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.reference import DIGITS, KEPT
from metaeval.core import registry
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.core.files import csv_text, versions, write_text
from metaeval.core.parsing import read_yaml
from metaeval.report.ranking_measures import Headline, above_every_control, top
from metaeval.report.result import Comparison, Result, Row
from metaeval.runs.data import Job, RatedSet, find_dataset, kind_of_data, prepare, prepare_ratings
from metaeval.runs.evaluate import EvaluatedRun, evaluate_columns, find_protocols
from metaeval.runs.score import AlignedColumn, column_of, signed_as
from metaeval.runs.significance import adjusted, marked
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.scoring.engine import settled_metric
from metaeval.scoring.score_files import align, read_scores
from metaeval.stats.estimate import Estimate

PrintedCell = Mapping[str, str]
"""A row of `cells.csv` or `tests.csv`, by heading; blank where nothing is known."""
MEASURES = dict.fromkeys(("fs_ns", "fs_ps", "ps_ns"), "classification") | {
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


class CellTables(NamedTuple):
    """The rows of `cells.csv` and `tests.csv`, in their order."""

    cells: list[PrintedCell]
    tests: list[PrintedCell]

    def of(self, name: str) -> CellTables:
        """The rows of the set `name`."""
        return CellTables(*([row for row in rows if row["set"] == name] for rows in self))


def read_cells() -> CellTables:
    """The tables as they are kept."""
    texts = ((KEPT / name).read_text(encoding="utf-8") for name in ("cells.csv", "tests.csv"))
    return CellTables(*([*csv.DictReader(text.splitlines())] for text in texts))


def read_packs() -> dict[Path, dict[str, Any]]:
    """The cards of packs, by folder."""
    return {path.parent: read_yaml(path) for path in sorted(KEPT.glob("packs/*/card.yaml"))}


def declared_sets() -> dict[str, dict[str, Any]]:
    """The data sets of `sets.yaml`, by name."""
    sets = read_yaml(KEPT / "sets.yaml")
    return {name: {"language": "en", "commercial": True, **declared} for name, declared in sets.items()}


def load(declared: Mapping[str, Any], data: Path | None) -> Job | RatedSet:
    """The data of a set."""
    unit = {} if declared["unit"] == "rating" else {"unit": declared["unit"]}
    settings = {"dataset": declared["dataset"], "split": declared.get("split"), **unit, "data": data}
    config = load_run(None, {**settings, "metrics": (), "protocols": ("correlation",)})
    return prepare(config) if kind_of_data(config) == "corpus" else prepare_ratings(config)


def make(names: Iterable[str], data: Path | None) -> None:
    """Make the rows of the sets; those of others, and of sets whose packs or data are not here, stay as they are."""
    before, packs, tables = read_cells(), read_packs(), CellTables([], [])
    for name, declared in declared_sets().items():
        rows = before.of(name)
        away = {row["pack"] for row in rows.cells} - {"", *(folder.name for folder in packs)}
        if name in names:
            try:
                if away:
                    raise UserError(f"the licence of {', '.join(away)} does not allow the scores to be kept here.")
                rows = set_tables(name, declared, load(declared, data), packs)
                print(f"{name}: {len(rows.cells)} cells", flush=True)
            except UserError as error:
                print(f"{name} stays as it was: {error}")
        for table, added in zip(tables, rows, strict=True):
            table.extend(added)
    for file, headings, rows in (("cells.csv", OF_CELL, tables.cells), ("tests.csv", OF_TEST, tables.tests)):
        write_text(KEPT / file, csv_text([headings, *([row[key] for key in headings] for row in rows)], "\n"))


def set_tables(
    name: str, declared: Mapping[str, Any], source: Job | RatedSet, packs: Mapping[Path, Mapping[str, Any]]
) -> CellTables:
    """The cells and tests of the set `name`. source: its data. packs: cards by folder, of which some have scores."""
    packs = {folder: card for folder, card in packs.items() if name in card["scores"]}
    hashed = (source.ratings if isinstance(source, RatedSet) else source.corpus).fingerprint
    stale = {card["metric"]: "other data" for card in packs.values() if card["scores"][name]["data"] != hashed}
    columns = [_column(folder, card, name, source) for folder, card in packs.items()]
    current = [column for column in columns if column.name not in stale]
    common = np.logical_and.reduce([~np.isnan(column.score) for column in current] or [np.ones(0, dtype=bool)])
    tested = [column.name for column in current]
    whole = shared = _evaluated(source, columns, tested)
    if common.any() and any((common != ~np.isnan(column.score)).any() for column in current):
        masked = [replace(column, score=np.where(common, column.score, np.nan)) for column in current]
        shared = _evaluated(source, masked, tested)
    about = {"set": name, **declared, "split": source.split, "data": hashed, **versions("metaeval")}
    about |= {"data_licence": find_dataset(declared["dataset"])[0].licence}
    more = {"shipped": True, **dict.fromkeys(("seconds_per_1000", "usd_per_1000"), "unknown")}
    cards = {
        card["metric"]: {**more, **card, **card["scores"][name], "pack": folder.name} for folder, card in packs.items()
    }
    tables = CellTables([], [])
    for measure, protocol in MEASURES.items():
        of_all, of_common = (
            next((result for result in run.results if result.protocol == protocol), None) for run in (whole, shared)
        )
        if of_all is None or of_common is None or measure not in {column.key for column in of_all.columns}:
            continue
        if of_common.significance:  # the common rows are all that is compared: no other row could reverse a test
            (tested_here,) = adjusted([of_common.significance], lambda test: test.measure)
            update = {"significance": tested_here, "rows": marked(of_common.rows, tested_here)}
            of_common = of_common.model_copy(update=update)
        for row, fields in _measured(measure, of_all, of_common, source, whole):
            cell = {**cards.get(row.metric, {}), **about, **fields, "stale": stale.get(row.metric)}
            tables.cells.append({heading: _text(cell.get(heading)) for heading in OF_CELL})
        for test in _tests(of_common, measure):
            fields = {"set": name, **test.model_dump()}
            tables.tests.append({heading: _text(fields.get(heading)) for heading in OF_TEST})
    return tables


def _column(folder: Path, card: Mapping[str, Any], name: str, source: Job | RatedSet) -> AlignedColumn:
    """The scores of a pack on the set `name` as a column of its data; pairs that are no longer in it are left out."""
    ids = source.ratings.columns.id.tolist() if isinstance(source, RatedSet) else [row.id for row in source.rows]
    (file,) = read_scores(folder / card["scores"][name]["file"], {"pair_id": "pair", "score": "score"})
    answers = align(replace(file, answers={pair: file.answers[pair] for pair in file.answers.keys() & set(ids)}), ids)
    metric, signature = card["metric"], card["signature"]
    if isinstance(source, Job) and metric in registry.names("metric"):  # a control is known by its signature
        settled = settled_metric(registry.find("metric", metric)(), source.texts)
        signature = signed_as(metric, settled, settled.identity())
    return column_of(metric, answers, {"metric": signature})


def _evaluated(source: Job | RatedSet, columns: Sequence[AlignedColumn], tested: Sequence[str]) -> EvaluatedRun:
    """The results of columns and controls. tested: metrics that are compared with each other and controls."""
    names = dict.fromkeys(MEASURES.values()) if isinstance(source, Job) or source.ratings.levels else ["correlation"]
    config = source.config.model_copy(update={"protocols": [*names]})
    return evaluate_columns(replace(source, config=config), columns, find_protocols(config), tested)


def _tests(result: Result, measure: str) -> list[Comparison]:
    tests = result.significance.comparisons if result.significance else ()
    return [test for test in tests if test.measure == measure]


def _measured(
    measure: str, whole: Result, shared: Result, source: Job | RatedSet, run: EvaluatedRun
) -> Iterator[tuple[Row, dict[str, object]]]:
    """Yield each metric and control with a value, oracles aside, and its cell's fields. shared: on the common rows."""
    column = next(column for column in shared.columns if column.key == measure)
    headline = Headline(shared, column)
    on_common = {row.metric: row for row in shared.rows}
    metrics = {row.metric for row in headline.metrics}
    compared = (test for test in _tests(shared, measure) if test.p is not None)
    tested = {name for test in compared for name in (test.one, test.other)} & metrics
    leading = top(Headline(shared.model_copy(update={"rows": [on_common[name] for name in tested]}), column))
    frame = source.frame(next(iter(run.protocols.values())))
    scores = {column.name: column.score[frame.numbers] for column in run.columns}
    for row in whole.rows:
        value = row.values.get(measure, Estimate(None))
        if value.value is None or row.metric in GOLD_CONTROLS:
            continue
        fields: dict[str, object] = {
            **{"measure": measure, "kind": row.kind, "control": row.control, "metric": row.metric},
            **{"value": value.value, "low": value.low, "high": value.high, "n": row.scored},
            **{"effective": value.effective, "groups": np.unique(frame.group[~np.isnan(scores[row.metric])]).size},
        }
        if row.kind == "metric" and (common := on_common.get(row.metric)) and row.metric in metrics:
            rank = common.ranks.get(measure, (None, None))
            above = above_every_control(headline, common, GOLD_CONTROLS)
            fields |= {"common_rows": common.scored, "common_value": common.values[measure].value}
            fields |= {"rank_low": rank[0], "rank_high": rank[1], "above_controls": above}
            fields |= {"best": row.metric in leading if row.metric in tested else None, "alone": len(metrics) < 2}
        yield row, fields


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None or value != value else f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
