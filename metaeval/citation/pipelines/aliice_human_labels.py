"""Table 4 of the ALiiCE paper: people's labels of answers that cite within a sentence, beside ALiiCE's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from metaeval.citation.measures import AnswerShare, macro, means
from metaeval.citation.pipelines.alce_and_aliice_steps import RECALL, CitedAnswers
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.display_text import count
from metaeval.errors import UserError, unknown
from metaeval.report.result import Column
from metaeval.report.table import Cell, ColumnGroup, Note, Record, Table, format_value
from metaeval.stats.arrays import Bools, Floats, Ints
from metaeval.stats.estimate import Estimate

_ONE, _TWO = (Column(key="", label="", digits=digits) for digits in (1, 2))
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
    wanted = label_columns(texts, len(paths))
    for name in wanted.keys() - {*kinds}:
        raise unknown("kind of label", name, kinds)
    table = read_label_sets(paths, wanted)
    for labels in table.sets:
        if labels.numbers is None:
            raise UserError(
                f"The labels {labels.name} should be numbers (as 0 and 1), but one of them is {labels.categories[0]}."
            )
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


@dataclass(frozen=True, eq=False)
class LabelledAnswers:
    """Answers with ALiiCE's values (`cited`), and people's labels of n units of those that cite within a sentence.

    answer: (n,) index of each labelled unit's answer. within: (answers,) whether an answer cites within a sentence.
    """

    cited: CitedAnswers
    people: LabelTable
    answer: Ints
    within: Bools

    def by_answer(self, values: Floats) -> Floats:
        """Return the mean over each answer's units, (answers, annotators), of values (n, annotators); NaN if none."""
        known = ~np.isnan(values)
        sums = np.zeros((2, len(self.cited.panel.answers), values.shape[1]))
        np.add.at(sums[0], self.answer, np.where(known, values, 0.0))
        np.add.at(sums[1], self.answer, known)
        means: Floats = np.divide(sums[0], sums[1], out=np.full(sums[0].shape, np.nan), where=sums[1] > 0)
        return means

    def values(self, rows: Ints) -> dict[str, Estimate]:
        """Return the values of a line of Table 4 over the labelled ones of the answers `rows`.

        Names: people_LABELS (mean over answers and annotators), fleiss_LABELS, aliice_LABELS, kappa_LABELS.
        """
        panel, drawn = self.cited.panel, self.cited.panel.resampling
        units = np.flatnonzero(np.isin(self.answer, rows))
        aliice = dict(zip(QUALITIES, self.cited.stated.shares(self.cited.judged[0].degrees), strict=True))
        values: dict[str, Estimate] = {}
        for labels in self.people.sets:
            of_readers = self.by_answer(labels.values(np.arange(self.answer.size)))
            known = ~np.isnan(of_readers)
            total = np.where(known, of_readers, 0.0).sum(axis=1)
            mean = [float(part / n) if n else None for part, n in zip(total, known.sum(axis=1), strict=True)]
            labelled = np.array([row for row in rows if mean[row] is not None], dtype=np.int64)
            values[f"people_{labels.name}"] = panel.interval_over(means(mean, None), labelled)
            values[f"fleiss_{labels.name}"] = joint_agreement(self.people, labels, units, drawn).get("fleiss", _UNKNOWN)
            if labels.name in aliice:
                shares = aliice[labels.name]
                values[f"aliice_{labels.name}"] = panel.interval_over(macro(shares), labelled)
                values[f"kappa_{labels.name}"] = self._kappa(labels, of_readers, shares, labelled)
        return values

    def _kappa(self, labels: LabelSet, of_readers: Floats, shares: Sequence[AnswerShare], rows: Ints) -> Estimate:
        """Return the mean of Cohen's kappas of ALiiCE and each annotator on whether an answer's value is at least 1."""
        panel = self.cited.panel
        machine = np.array([np.nan if share.value is None else share.value for share in shares], dtype=np.float64)
        both = np.column_stack([of_readers, machine])
        verdicts = np.where(np.isnan(both), MISSING, both >= 1)
        codes = np.full(verdicts.shape, MISSING, dtype=np.int64)
        codes[rows] = verdicts[rows]
        machine_at = len(labels.readers)
        pairs = [(reader, machine_at) for reader in range(machine_at)]
        return pair_agreement(codes, 2, panel.group, panel.n_groups, panel.resampling, pairs)["kappa"]


def people_sheet(cited: CitedAnswers, people: LabelTable, around: Provenance) -> Table:
    """Return Table 4: people's labels and ALiiCE's values of every system, and of several systems together."""
    answer, panel = answers_of(people, cited.panel.answers), cited.panel
    within: Bools = np.array(cited.statistics[WITHIN].alone, dtype=np.float64) == 1
    kept = (answer >= 0) & within[answer]
    sets = [replace(labels, codes=labels.codes[kept]) for labels in people.sets]
    only = replace(people, sets=sets, group=panel.group[answer[kept]], n_groups=panel.n_groups)
    labelled = LabelledAnswers(cited, only, answer[kept], within)
    lines, every = TableLines(), np.arange(len(panel.answers))
    blocks = [(system, panel.rows(number)) for number, system in enumerate(panel.systems)]
    for system, rows in [*blocks, *([(EVERY, every)] if len(blocks) > 1 else [])]:
        inside = rows[within[rows]]
        values = labelled.values(inside)
        sizes = {"answers": int(rows.size), "within": int(inside.size)}
        sizes["labelled"] = int(np.unique(labelled.answer[np.isin(labelled.answer, inside)]).size)
        records: list[Record] = [
            {"system": system, **sizes, "measure": key, "value": value, "low": low, "high": high}
            for key, (value, low, high) in ((key, each.ends) for key, each in values.items())
        ]
        share = f"{inside.size:,} ({100 * inside.size / rows.size:.1f} %)" if rows.size else ""
        lines.add("", system, [share, f"{sizes['labelled']:,}", *_cells(values)], *records)
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


def _cells(values: Mapping[str, Estimate]) -> list[Cell | str]:
    cells: list[Cell | str] = []
    for name, column in UTILITIES.items():
        mean, fleiss = (values.get(f"{kind}_{name}", _UNKNOWN).value for kind in ("people", "fleiss"))
        agreed = "" if fleiss is None else f" ({format_value(fleiss, _TWO)})"
        cells.append("" if mean is None else format_value(mean, column) + agreed)
    for kind, column in (("people", RECALL), ("aliice", RECALL), ("kappa", _TWO)):
        ends = (values.get(f"{kind}_{name}", _UNKNOWN).ends for name in QUALITIES)
        cells += [interval_cell(each, column) for each in ends]
    return cells
