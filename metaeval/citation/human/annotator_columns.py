"""Labels in columns of people's tables, one column for each annotator, and how far the annotators agree.

    id, system, question, ann1, ann2, ann3

Any labels can be compared: support, error types of claims (several in a cell, separated by semicolons), utility from 1
to 5. A blank cell is a label that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from metaeval.cell_tables import TypedTable, is_finite, number_of
from metaeval.citation.measures import ValueInterval, interval_by
from metaeval.column_roles import RATINGS
from metaeval.errors import UserError, did_you_mean, shown
from metaeval.stats.agreement import alpha_by_groups, cohen_kappa, fleiss_by_groups, weighted_cohen_kappa
from metaeval.stats.arrays import Bools, Floats, Ints, codes_of
from metaeval.stats.classification import decision_counts, resampled, share_equal
from metaeval.stats.influence import SHARES, SIGNED
from metaeval.stats.intervals import Resampling
from metaeval.stats.resampling import Draws, Prepared, replicate
from metaeval.user_tables import read_table

MISSING = -1


@dataclass(frozen=True, eq=False)
class LabelSet:
    """Labels of n units by A annotators (`readers`). codes: (n, A) indices of `categories`, or MISSING.

    numbers: the categories as numbers, (K,); None where they are words, which have no distances.
    """

    name: str
    readers: Sequence[str]
    categories: Sequence[str]
    codes: Ints
    numbers: Floats | None

    def of_readers(self, readers: Sequence[str]) -> LabelSet:
        """Return the labels by some of the annotators, in the order of `readers`."""
        places = [self.readers.index(reader) for reader in readers]
        return replace(self, readers=readers, codes=self.codes[:, places])

    def values(self, rows: Ints) -> Floats:
        """Return the labels of some rows, (rows, A): the numbers, or for words their indices; NaN where missing."""
        numbers = np.arange(len(self.categories), dtype=np.float64) if self.numbers is None else self.numbers
        codes = self.codes[rows]
        return np.where(codes == MISSING, np.nan, numbers[np.maximum(codes, 0)])


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Label sets on the same n units. group: (n,) codes, of which there are n_groups.

    left_out: number of rows, in all files, of units that some file lacks. systems: of each unit; empty texts where no
    column names them. ids: of each unit; an empty sequence without such a column.
    """

    sets: Sequence[LabelSet]
    systems: Sequence[str]
    group: Ints
    n_groups: int
    left_out: int
    ids: Sequence[str] = ()


def read_label_sets(paths: Sequence[Path], wanted: Mapping[str, Sequence[str]]) -> LabelTable:
    """Return the label sets of one table, or of several (such as one for each annotator), joined by their ids.

    wanted: the headings of each set's columns, by the set's name. Raises `UserError` for an unknown heading, a set with
    fewer than two annotators or without a label, and where one of several tables lacks ids, or has an id twice.
    """
    tables = [read_table(path) for path in paths]
    places = [np.arange(tables[0].size)] if len(tables) == 1 else _joined(tables)
    names = [path.name.split(".")[0] for path in paths]
    sets: list[LabelSet] = []
    for name, headings in wanted.items():
        cells: dict[str, list[str]] = {}
        for heading in headings:
            for table, file, rows in zip(tables, names, places, strict=True):
                texts = list(table.texts(_known(table, heading)))
                reader = heading if len(tables) == 1 else file if len(headings) == 1 else f"{file}:{heading}"
                cells[reader] = [texts[row] for row in rows]
        sets.extend(_sets(name, cells))
    first, rows = tables[0], places[0]
    known = ("id", "group", "system")
    roles = first.find({role: RATINGS[role] for role in known}, None)
    columns = {role: list(first.texts(roles[role])) if role in roles else [] for role in known}
    groups = [columns["group"][row] or f"row {row}" for row in rows] if columns["group"] else list(map(str, rows))
    systems = [columns["system"][row] if columns["system"] else "" for row in rows]
    left_out = sum(table.size for table in tables) - sum(len(rows) for rows in places)
    ids = [columns["id"][row] for row in rows] if columns["id"] else []
    return LabelTable(sets, systems, codes_of(groups), len(set(groups)), left_out, ids)


def _known(table: TypedTable, heading: str) -> str:
    if heading not in table.headings:
        columns = ", ".join(shown(each, 30) for each in table.headings)
        hint = did_you_mean(heading, table.headings)
        raise UserError(f"{table.name} has no column {shown(heading)}.{hint} Columns: {columns}.")
    return heading


def _joined(tables: Sequence[TypedTable]) -> list[Ints]:
    """Return, for each table, its rows of the units that all tables have, in the order of the first table."""
    rows_by_id: list[dict[str, int]] = []
    for table in tables:
        ids = list(table.texts(table.find({"id": RATINGS["id"]}, None, ["id"])["id"]))
        rows_by_id.append({unit: row for row, unit in enumerate(ids)})
        if len(rows_by_id[-1]) < len(ids):
            repeated = next(unit for row, unit in enumerate(ids) if rows_by_id[-1][unit] != row)
            raise UserError(f"{table.name}: two rows have the id {shown(repeated)}; give each its own id.")
    shared = [unit for unit in rows_by_id[0] if all(unit in rows for rows in rows_by_id)]
    return [np.array([rows[unit] for unit in shared], dtype=np.int64) for rows in rows_by_id]


def _sets(name: str, cells: Mapping[str, Sequence[str]]) -> list[LabelSet]:
    """Return one label set; where a cell holds several labels, instead a set of yes and no for each label."""
    if len(cells) < 2:
        raise UserError(
            f"The labels {shown(name)} have one column: give those of two annotators or more, as {name}=COLUMN,COLUMN."
        )
    several = any(";" in text for column in cells.values() for text in column)
    parts = {text for column in cells.values() for text in column for text in (text.split(";") if several else [text])}
    categories = {part.strip() for part in parts} - {""}
    if not categories:
        raise UserError(f"The labels {shown(name)} are all blank: name columns that hold labels.")
    if not several:
        return [_coded(name, cells, categories)]
    marked = {kind: _marked(cells, kind) for kind in sorted(categories)}
    return [_coded(f"{name}: {kind}", columns, {"no", "yes"}) for kind, columns in marked.items()]


def _marked(cells: Mapping[str, Sequence[str]], kind: str) -> dict[str, list[str]]:
    def cell(text: str) -> str:
        return text and ("yes" if kind in (part.strip() for part in text.split(";")) else "no")

    return {reader: [cell(text) for text in column] for reader, column in cells.items()}


def _coded(name: str, cells: Mapping[str, Sequence[str]], categories: set[str]) -> LabelSet:
    of_text = {category: number_of(category) for category in sorted(categories)}
    numeric = all(is_finite(number) for number in of_text.values())
    ordered = sorted(of_text, key=lambda category: of_text[category]) if numeric else list(of_text)
    numbers = np.array([of_text[each] for each in ordered], dtype=np.float64) if numeric else None
    index = {category: place for place, category in enumerate(ordered)}
    codes = np.array([[index.get(text.strip(), MISSING) for text in column] for column in cells.values()]).T
    return LabelSet(name, list(cells), ordered, codes.reshape(-1, len(cells)).astype(np.int64), numbers)


Kappas = Mapping[str, ValueInterval]


def pair_agreement(table: LabelTable, labels: LabelSet, pairs: Sequence[tuple[int, int]], drawn: Resampling) -> Kappas:
    """Return means over pairs of annotators: of the share of equal labels ("equal") and of Cohen's "kappa".

    Where labels are numbers also of kappa with their distances as weights ("linear", "quadratic"). pairs: indices of
    `readers`. Each pair is compared on the units that both labelled. Intervals draw groups.
    """
    k, distances = len(labels.categories), {}
    if labels.numbers is not None:
        apart = np.abs(labels.numbers[:, None] - labels.numbers[None, :])
        distances = {"linear": apart, "quadratic": apart**2}
    measures = {"equal": share_equal, "kappa": cohen_kappa}
    measures |= {name: partial(weighted_cohen_kappa, distance=distance) for name, distance in distances.items()}
    counts = []
    for pair in pairs:
        codes = labels.codes[:, list(pair)]
        both = (codes != MISSING).all(axis=1)
        first, second = codes[both].T
        counts.append(decision_counts(second, first, table.group[both], table.n_groups, k))
    rows = sum(counts, np.zeros(1)).sum(axis=(1, 2)).astype(np.int64)
    kappas = {}
    for name, measure in measures.items():
        prepared = [resampled(each, measure) for each in counts]
        ends = SHARES if name == "equal" else SIGNED
        (kappas[name],) = interval_by(partial(_mean_of, prepared), rows, drawn, ends)
    return kappas


def _mean_of(prepared: Sequence[Prepared], draws: Draws) -> Floats:
    return np.asarray(np.mean([replicate(each, draws) for each in prepared], axis=0))


def pairs_of(labels: LabelSet, against: str | None) -> list[tuple[int, int]]:
    """Return the pairs of annotators by index: all, or only those with the annotator `against` where the set has it."""
    pairs = list(combinations(range(len(labels.readers)), 2))
    if against not in labels.readers:
        return pairs
    return [pair for pair in pairs if labels.readers.index(against) in pair]


def joint_agreement(table: LabelTable, labels: LabelSet, rows: Ints, drawn: Resampling) -> Kappas:
    """Return Fleiss' kappa of all annotators ("fleiss") and Krippendorff's "alpha"; for numbers also "alpha_interval".

    rows: indices of the units; Fleiss' kappa is over those that all labelled. Empty for a single annotator.
    """
    if len(labels.readers) < 2:
        return {}
    codes, values, group = labels.codes[rows], labels.values(rows), table.group[rows]
    whole: Bools = (codes != MISSING).all(axis=1)
    counts = np.stack([(codes[whole] == kind).sum(axis=1) for kind in range(len(labels.categories))], axis=1)
    prepared = {
        "fleiss": fleiss_by_groups(counts.astype(np.float64), group[whole], table.n_groups),
        "alpha": alpha_by_groups(values, group, table.n_groups, "nominal"),
    }
    if labels.numbers is not None:
        prepared["alpha_interval"] = alpha_by_groups(values, group, table.n_groups, "interval")
    sizes = np.bincount(group, minlength=table.n_groups)
    return {name: interval_by(partial(replicate, each), sizes, drawn, SIGNED)[0] for name, each in prepared.items()}
