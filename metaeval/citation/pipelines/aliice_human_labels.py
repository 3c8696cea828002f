"""Table 4 of the ALiiCE paper: people's labels of answers that cite within a sentence, beside ALiiCE's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from metaeval.citation.aliice.citation_lines import WITHIN
from metaeval.citation.data_model import Answer
from metaeval.citation.human.annotator_columns import (
    MISSING,
    LabelSet,
    LabelTable,
    joint_agreement,
    label_columns,
    pair_agreement,
    read_label_sets,
)
from metaeval.citation.measures import means
from metaeval.citation.pipelines.cited import CitedTable
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell, value_records
from metaeval.core.errors import UserError, count, unknown
from metaeval.report.result import Column
from metaeval.report.table import Cell, ColumnGroup, Note, Table, format_value
from metaeval.stats.arrays import Bools, Ints, ratio
from metaeval.stats.estimate import Estimate

_ONE, _TWO = (Column(key="", label="", digits=digits) for digits in (1, 2))
_PERCENT = Column(key="", label="", scale=100, digits=1)
UTILITIES: Mapping[str, Column] = {"utility": _ONE, "citation_utility": _TWO}
QUALITIES = ("recall", "precision")
ALIICE = "ALiiCE"
EVERY = "all systems"
_UNKNOWN = Estimate(None)


def read_people(paths: Sequence[Path], texts: Sequence[str]) -> LabelTable | None:
    """Return people's labels for Table 4; None where neither files nor columns are given.

    paths: tables of labels. texts: the columns of each kind of label, as NAME=COLUMN,COLUMN. Raises `UserError` where
    one of the two is missing, for another kind of label, for labels that are not numbers, and for a table without ids.
    """
    if not paths and not texts:
        return None
    kinds = (*UTILITIES, *QUALITIES)
    if not paths or not texts:
        raise UserError(f"Table 4 needs both: --human FILE and --labels NAME=COLUMN,COLUMN; NAME: {', '.join(kinds)}.")
    wanted = label_columns(texts)
    for name in wanted.keys() - {*kinds}:
        raise unknown("kind of label", name, kinds)
    table = read_label_sets(paths, wanted)
    for labels in table.sets:
        if labels.numbers is None:
            raise UserError(f"Labels {labels.name} should be numbers (0, 1), and one is {labels.categories[0]}.")
    if not table.ids:
        raise UserError(f"{paths[0]} has no column of ids: name the answer of each row in a column id.")
    return table


def answers_of(people: LabelTable, answers: Sequence[Answer]) -> Ints:
    """Return the index in `answers` of each labelled unit's answer, (n,); -1 for a unit of another answer.

    The id of a unit is that of an answer, or begins with it and "/", as ids of label sheets do. The name of the file,
    with which ids of answers in several files begin, may be left out. Where several systems have an answer of that id
    the unit's system in the table tells which; `UserError` where several remain.
    """
    places: dict[str, list[int]] = {}
    in_file: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        places.setdefault(answer.id, []).append(place)
        in_file.setdefault(answer.id.partition("/")[2], []).append(place)
    indices = []
    for unit, system in zip(people.ids, people.systems, strict=True):
        names = [unit, *([unit.rpartition("/")[0]] if "/" in unit else [])]
        listed = [of[name] for of in (places, in_file) for name in names if name in of]
        candidates = [place for place in (listed or [[]])[0] if system in ("", answers[place].system)]
        if len(candidates) > 1:
            raise UserError(f"Several answers have the id {unit!r}: say whose it is in a column system of the labels.")
        indices.append(candidates[0] if candidates else -1)
    return np.array(indices, dtype=np.int64)


def people_sheet(cited: CitedTable, people: LabelTable, around: Provenance) -> Table:
    """Return Table 4: people's labels and ALiiCE's values of every system, and of several systems together.

    Names of values: people_LABELS (mean over answers and readers), fleiss_LABELS, aliice_LABELS, kappa_LABELS.
    """
    answer = answers_of(people, cited.answers)
    within: Bools = np.array(cited.judged[0].measured[WITHIN].alone, dtype=np.float64) == 1
    kept = (answer >= 0) & within[answer]
    sets = [replace(labels, codes=labels.codes[kept]) for labels in people.sets]
    only = replace(people, sets=sets, group=cited.group[answer[kept]], n_groups=cited.n_groups)
    lines, every = TableLines(), np.arange(len(cited.answers))
    blocks = [(system, cited.rows(number)) for number, system in enumerate(cited.systems)]
    for system, rows in [*blocks, *([(EVERY, every)] if len(blocks) > 1 else [])]:
        inside = rows[within[rows]]
        units = np.flatnonzero(np.isin(answer[kept], inside))
        values: dict[str, Estimate] = {}
        for labels in sets:
            values |= _values(cited, only, labels, answer[kept], inside, units)
        labelled = int(np.unique(answer[kept][units]).size)
        sizes = {"answers": int(rows.size), "within": int(inside.size), "labelled": labelled}
        share = f"{inside.size:,} ({100 * inside.size / rows.size:.1f} %)" if rows.size else ""
        lines.add("", system, [share, f"{labelled:,}", *_cells(values)], *value_records(values, system=system, **sizes))
    reading = (
        "as Table 4 of the ALiiCE paper: answers with a citation between the words of a sentence, people's labels as "
        "means over readers (in brackets Fleiss' kappa), and ALiiCE on the answers that people labelled. kappa: mean "
        "of Cohen's kappas of ALiiCE and each reader on whether all of an answer holds (value 1); the paper names no "
        "units"
    )
    outside = f"{count(int((~kept).sum()), 'label row')} left out, of other answers or without a citation within"
    notes = [Note("reading", reading), *([Note("labels", outside)] if (~kept).any() else [])]
    groups = (ColumnGroup("", 4), ColumnGroup("people", 2), ColumnGroup(ALIICE, 2), ColumnGroup("kappa", 2))
    headings = ("Model", "within", "labelled", "utility", "cit. utility", *("Rec.", "Prec.") * 3)
    return around.lines("table-4", "People's labels and ALiiCE", headings, lines, notes, groups)


def _values(
    cited: CitedTable, people: LabelTable, labels: LabelSet, answer: Ints, rows: Ints, units: Ints
) -> dict[str, Estimate]:
    """Return the values of one kind of label over the labelled ones of the answers `rows`.

    answer: (n,) place of each labelled unit's answer. units: of the answers `rows`. The kappa is the mean of Cohen's
    kappas of ALiiCE and each reader on whether an answer's value is at least 1.
    """
    codes = labels.values(np.arange(answer.size))
    known = ~np.isnan(codes)
    sums = np.zeros((2, len(cited.answers), codes.shape[1]))
    np.add.at(sums[0], answer, np.where(known, codes, 0.0))
    np.add.at(sums[1], answer, known)
    # The mean over each answer's units, by reader, (answers, readers).
    of_readers = ratio(sums[0], sums[1])
    read = ~np.isnan(of_readers)
    total = np.where(read, of_readers, 0.0).sum(axis=1)
    mean = [float(part / n) if n else None for part, n in zip(total, read.sum(axis=1), strict=True)]
    labelled = np.array([row for row in rows if mean[row] is not None], dtype=np.int64)
    values = {f"people_{labels.name}": cited.interval_over(means(mean, None), labelled)}
    agreed = joint_agreement(people, labels, units, cited.resampling)
    values[f"fleiss_{labels.name}"] = agreed.get("fleiss", _UNKNOWN)
    if labels.name in QUALITIES:
        statistic = cited.judges[0].measured[labels.name]
        both = np.column_stack([of_readers, np.array(statistic.alone, dtype=np.float64)])
        verdicts = np.full(both.shape, MISSING, dtype=np.int64)
        verdicts[labelled] = np.where(np.isnan(both), MISSING, both >= 1)[labelled]
        readers = len(labels.readers)
        pairs = [(reader, readers) for reader in range(readers)]
        agreed = pair_agreement(verdicts, 2, cited.group, cited.n_groups, cited.resampling, pairs)
        values[f"aliice_{labels.name}"] = cited.interval_over(statistic, labelled)
        values[f"kappa_{labels.name}"] = agreed["kappa"]
    return values


def _cells(values: Mapping[str, Estimate]) -> list[Cell | str]:
    cells: list[Cell | str] = []
    for name, column in UTILITIES.items():
        mean, fleiss = (values.get(f"{kind}_{name}", _UNKNOWN).value for kind in ("people", "fleiss"))
        agreed = "" if fleiss is None else f" ({format_value(fleiss, _TWO)})"
        cells.append("" if mean is None else format_value(mean, column) + agreed)
    for kind, column in (("people", _PERCENT), ("aliice", _PERCENT), ("kappa", _TWO)):
        cells += [interval_cell(values.get(f"{kind}_{name}", _UNKNOWN), column) for name in QUALITIES]
    return cells
