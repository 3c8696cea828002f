"""Tables of labels in columns: agreement of pairs of annotators, of all by system, and shares of each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from metaeval.citation.human.annotator_columns import (
    MISSING,
    LabelSet,
    LabelTable,
    joint_agreement,
    pair_agreement,
    pairs_of,
)
from metaeval.citation.measures import ValueInterval, interval_over, means
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import Run
from metaeval.citation.pipelines.provenance import Provenance, uncertainty
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report.result import Column, Data
from metaeval.report.table import Cell, Note, Record, Table, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.stats.arrays import Floats, Ints

_TWO = Column(key="", label="", digits=2)
_PERCENT = Column(key="", label="", scale=100, digits=1)
_PAIRS = ("equal", "kappa", "linear", "quadratic")
_JOINT = ("mean", "fleiss", "alpha", "alpha_interval")
_MOST = 20
"""Largest number of labels of a set whose shares are listed."""

_UNKNOWN = ValueInterval(None)


def label_columns(texts: Sequence[str], files: int) -> dict[str, list[str]]:
    """Return {name: columns} from texts NAME=COLUMN,COLUMN; raises `UserError` for another text or a name twice.

    files: number of tables, by which the message chooses its example.
    """
    sets: dict[str, list[str]] = {}
    for text in texts:
        name, equals, listed = (part.strip() for part in text.partition("="))
        columns = [column.strip() for column in listed.split(",") if column.strip()]
        if not equals or not name or not columns or name in sets:
            example = "error=error_type" if files > 1 else "utility=ann1,ann2"
            raise UserError(f"--labels {text}: allowed: NAME=COLUMN,COLUMN with a name of its own, such as {example}.")
        sets[name] = columns
    return sets


def label_sheets(run: Run, table: LabelTable) -> list[Table]:
    """Return the tables; with --against, pairs are each annotator and this column, which the other tables leave out."""
    against, around = run.options.against, _provenance(run, table)
    readers = dict.fromkeys(reader for labels in table.sets for reader in labels.readers)
    if against is not None and against not in readers:
        raise UserError(f"--against {against} names no column of labels: give one of {', '.join(readers)}.")
    people = [labels.of_readers([reader for reader in labels.readers if reader != against]) for labels in table.sets]
    only = replace(table, sets=people)
    return [_pairs(run, table, around), _by_system(run, only, around), _shares(run, only, around)]


def _pairs(run: Run, table: LabelTable, around: Provenance) -> Table:
    lines, drawn = TableLines(), resampling_of(run.config)
    for labels in table.sets:
        pairs = pairs_of(labels, run.options.against)
        for few in [*([pair] for pair in pairs), *([pairs] if len(pairs) > 1 else [])]:
            alone = len(few) == 1
            name = " and ".join(labels.readers[place] for place in few[0]) if alone else "mean of the pairs"
            units = int((labels.codes[:, few[0]] != MISSING).all(axis=1).sum()) if alone else None
            values = pair_agreement(table, labels, few, drawn)
            cells = [_value_cell(values, kind, kind != "equal") for kind in _PAIRS]
            record: Record = {"labels": labels.name, "pair": name, "units": units, **_flat(values, _PAIRS)}
            lines.add(plain(labels.name), plain(name), [*cells, "" if units is None else f"{units:,}"], record)
    headings = ("readers", "equal", "kappa", "linear", "quadratic", "units")
    reading = "Cohen's kappa on the units that both labelled: nominal, and weighted by the labels' distance as numbers"
    return around.lines("pairs", "Agreement of pairs of readers", headings, lines, [Note("reading", reading)])


def _by_system(run: Run, table: LabelTable, around: Provenance) -> Table:
    lines, drawn = TableLines(), resampling_of(run.config)
    systems = sorted(set(table.systems))
    for labels in table.sets:
        for system in [*systems, *(["all"] if len(systems) > 1 else [])]:
            rows = np.flatnonzero([system in (name, "all") for name in table.systems])
            mean = {} if labels.numbers is None else {"mean": _mean(run, table, rows, labels)}
            values = {**mean, **joint_agreement(table, labels, rows, drawn)}
            cells = [_value_cell(values, kind, kind != "mean") for kind in _JOINT]
            record: Record = {"labels": labels.name, "system": system, "units": int(rows.size), **_flat(values, _JOINT)}
            lines.add(plain(labels.name), plain(system or "all units"), [f"{rows.size:,}", *cells], record)
    headings = ("system", "units", "mean label", "Fleiss", "alpha", "alpha (interval)")
    reading = (
        "mean label: over units of the mean over readers, of labels that are numbers; Fleiss: Fleiss' kappa on the "
        "units that all labelled; alpha: Krippendorff's, nominal and interval"
    )
    return around.lines("by-system", "Labels by system", headings, lines, [Note("reading", reading)])


def _shares(run: Run, table: LabelTable, around: Provenance) -> Table:
    lines, drawn, every = TableLines(), resampling_of(run.config), np.arange(len(table.systems))
    for labels in table.sets:
        for place, category in enumerate(labels.categories[:_MOST]):
            codes = np.where(labels.codes == MISSING, MISSING, (labels.codes == place).astype(np.int64))
            marked = replace(labels, categories=("no", "yes"), codes=codes, numbers=np.array([0.0, 1.0]))
            values = {"share": _mean(run, table, every, marked)}
            values["alpha"] = joint_agreement(table, marked, every, drawn).get("alpha", _UNKNOWN)
            known = {reader: column[column != MISSING] for reader, column in zip(labels.readers, codes.T, strict=True)}
            of_reader = {reader: float(marks.mean()) for reader, marks in known.items() if marks.size}
            shown = f"{100 * min(of_reader.values()):.1f} to {100 * max(of_reader.values()):.1f}" if of_reader else ""
            cells = (interval_cell(values["share"].ends, _PERCENT), shown, _value_cell(values, "alpha", True))
            shared = {"labels": labels.name, "label": category, **_flat(values, ("share", "alpha"))}
            records = [{**shared, "reader": reader, "share of reader": of_reader.get(reader)} for reader in known]
            lines.add(plain(labels.name), plain(category), cells, *records)
    headings = ("label", "share", "readers", "alpha")
    reading = (
        "share: of the units, mean over readers, in %; readers: lowest and highest share of a reader; alpha: "
        "Krippendorff's (nominal) of this label against all others"
    )
    return around.lines("shares", "Shares of each label", headings, lines, [Note("reading", reading)])


def _mean(run: Run, table: LabelTable, rows: Ints, labels: LabelSet) -> ValueInterval:
    """Return the mean over the units `rows` of each unit's mean over annotators; units without a label are left out."""
    of_units: list[float | None] = [None] * len(table.systems)
    for row, unit in zip(rows.tolist(), labels.values(rows), strict=True):
        known: Floats = unit[~np.isnan(unit)]
        of_units[row] = float(known.mean()) if known.size else None
    return interval_over(means(of_units, None), rows, table.group, table.n_groups, resampling_of(run.config))


def _value_cell(values: Mapping[str, ValueInterval], name: str, signed: bool = False) -> Cell | str:
    return interval_cell(values.get(name, _UNKNOWN).ends, _TWO, signed=signed)


def _flat(values: Mapping[str, ValueInterval], names: Sequence[str]) -> dict[str, float | None]:
    return {key: part for name in names for key, part in values.get(name, _UNKNOWN).named(name).items()}


def _provenance(run: Run, table: LabelTable) -> Provenance:
    content = [[each.name, list(each.readers), list(each.categories), each.codes.tolist()] for each in table.sets]
    units = len(table.systems)
    data = Data(
        name=run.name,
        split="labels",
        fingerprint=sha256_json([content, list(table.systems), table.group.tolist()]),
        statements=units,
        documents=0,
        citations=0,
        groups=table.n_groups,
        levels={},
    )
    left = f"; {count(table.left_out, 'row')} of units that not all tables have left out" if table.left_out else ""
    notes = (
        Note("data", f"{count(units, 'unit')}, {count(table.n_groups, 'group')}{left}"),
        uncertainty(run.config.interval, table.n_groups),
    )
    return Provenance(data, "", plain(run.name), {}, run.config.interval, judges=(), after=notes)
