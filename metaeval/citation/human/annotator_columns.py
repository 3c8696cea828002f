"""Labels in columns of people's tables, one column for each annotator, and how far the annotators agree.

    id, system, question, ann1, ann2, ann3

Any labels can be compared: support, error types of claims, utility from 1 to 5. A blank cell is a missing label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from metaeval.citation.data_model import check_ids
from metaeval.core.cells import is_finite, number_of
from metaeval.core.errors import UserError, did_you_mean, shown
from metaeval.core.headings import RATINGS
from metaeval.core.tables import UserTable, read_table
from metaeval.stats.agreement import alpha_by_groups, cohen_kappa, fleiss_by_groups
from metaeval.stats.arrays import Bools, Floats, Ints, codes_of
from metaeval.stats.classification import decision_counts, resampled, share_equal
from metaeval.stats.estimate import Estimate
from metaeval.stats.influence import SHARES, SIGNED
from metaeval.stats.intervals import Resampling, intervals
from metaeval.stats.resampling import Draws, Prepared, replicate

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
    places = [np.arange(len(tables[0]))] if len(tables) == 1 else _joined(tables)
    names = [path.name.split(".")[0] for path in paths]
    sets: list[LabelSet] = []
    for name, headings in wanted.items():
        cells: dict[str, list[str]] = {}
        for heading in headings:
            for table, file, rows in zip(tables, names, places, strict=True):
                reader = heading if len(tables) == 1 else file if len(headings) == 1 else f"{file}:{heading}"
                cells[reader] = _column(table, heading, rows)
        if len(cells) < 2:
            raise UserError(f"The labels {shown(name)} have one column: give two or more, as {name}=COLUMN,COLUMN.")
        categories = {text.strip() for column in cells.values() for text in column} - {""}
        if not categories:
            raise UserError(f"The labels {shown(name)} are all blank: name columns that hold labels.")
        of_text = {category: number_of(category) for category in sorted(categories)}
        numeric = all(is_finite(number) for number in of_text.values())
        ordered = sorted(of_text, key=of_text.__getitem__) if numeric else list(of_text)
        numbers = np.array([of_text[each] for each in ordered], dtype=np.float64) if numeric else None
        index = {category: place for place, category in enumerate(ordered)}
        codes = np.array([[index.get(text.strip(), MISSING) for text in column] for column in cells.values()]).T
        codes = codes.reshape(-1, len(cells)).astype(np.int64)
        sets.append(LabelSet(name, list(cells), ordered, codes, numbers))
    first, rows = tables[0], places[0]
    roles = first.find({role: RATINGS[role] for role in ("id", "group", "system")}, None)
    known = {role: _column(first, heading, rows) for role, heading in roles.items()}
    groups = [group or f"row {row}" for group, row in zip(known.get("group", map(str, rows)), rows, strict=True)]
    left_out = sum(len(table) for table in tables) - sum(len(rows) for rows in places)
    systems = known.get("system", [""] * len(rows))
    return LabelTable(sets, systems, codes_of(groups), len(set(groups)), left_out, known.get("id", []))


def _column(table: UserTable, heading: str, rows: Ints) -> list[str]:
    if heading not in table.headings:
        hint, columns = did_you_mean(heading, table.headings), ", ".join(shown(each, 30) for each in table.headings)
        raise UserError(f"{table.name} has no column {shown(heading)}.{hint} Columns: {columns}.")
    return list(table.texts(heading)[rows])


def _joined(tables: Sequence[UserTable]) -> list[Ints]:
    """Return, for each table, its rows of the units that all tables have, in the order of the first table."""
    rows_by_id: list[dict[str, int]] = []
    for table in tables:
        ids = list(table.texts(table.find({"id": RATINGS["id"]}, None, ["id"])["id"]))
        check_ids(ids, "rows", table.name)
        rows_by_id.append({unit: row for row, unit in enumerate(ids)})
    shared = [unit for unit in rows_by_id[0] if all(unit in rows for rows in rows_by_id)]
    return [np.array([rows[unit] for unit in shared], dtype=np.int64) for rows in rows_by_id]


def label_columns(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return {name: columns} from texts NAME=COLUMN,COLUMN; raises `UserError` for another text or a name twice."""
    sets: dict[str, list[str]] = {}
    for text in texts:
        name, equals, listed = (part.strip() for part in text.partition("="))
        columns = [column.strip() for column in listed.split(",") if column.strip()]
        if not equals or not name or not columns or name in sets:
            raise UserError(f"--labels {text}: allowed: NAME=COLUMN,COLUMN with a name of its own, as utility=a,b.")
        sets[name] = columns
    return sets


Kappas = Mapping[str, Estimate]


def pair_agreement(
    codes: Ints, n_kinds: int, group: Ints, n_groups: int, drawn: Resampling, pairs: Sequence[tuple[int, int]]
) -> Kappas:
    """Return means over pairs of annotators: of the share of equal labels ("equal") and of Cohen's "kappa".

    codes: (n, A) labels from 0 to n_kinds - 1, or MISSING. pairs: of columns; each pair is compared on the units that
    both labelled. group: (n,). Intervals draw groups.
    """
    counts = []
    for pair in pairs:
        both = (codes[:, list(pair)] != MISSING).all(axis=1)
        first, second = codes[both][:, list(pair)].T
        counts.append(decision_counts(second, first, group[both], n_groups, n_kinds))
    rows = sum(counts, np.zeros(1)).sum(axis=(1, 2)).astype(np.int64)
    kappas = {}
    for name, measure, ends in (("equal", share_equal, SHARES), ("kappa", cohen_kappa, SIGNED)):
        prepared = [resampled(each, measure) for each in counts]

        def mean(draws: Draws, prepared: Sequence[Prepared] = prepared) -> Floats:
            return np.asarray(np.mean([replicate(each, draws) for each in prepared], axis=0))

        (kappas[name],) = intervals(mean, rows, drawn, ends)
    return kappas


def joint_agreement(table: LabelTable, labels: LabelSet, rows: Ints, drawn: Resampling) -> Kappas:
    """Return Fleiss' kappa of all annotators ("fleiss") and Krippendorff's "alpha"; for numbers also "alpha_interval".

    rows: indices of the units; Fleiss' kappa is over those that all labelled.
    """
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
    return {name: intervals(partial(replicate, each), sizes, drawn, SIGNED)[0] for name, each in prepared.items()}
