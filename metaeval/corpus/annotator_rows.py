"""Tables with a row for each item and annotator: the rows of an item are merged into one that holds all their votes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from metaeval.core.cells import Cells, Indices, Numbers, objects
from metaeval.core.errors import count, shown
from metaeval.core.headings import TEXTS
from metaeval.core.tables import UserTable
from metaeval.corpus.ratings import RatingColumns, coded

_log = logging.getLogger("metaeval")

_TEXTS = ("system", "subset", "text", "pair")


def merge_annotators(
    table: UserTable, rows: RatingColumns, gold: Numbers, scores: Mapping[str, Numbers], roles: Mapping[str, str]
) -> tuple[RatingColumns, dict[str, Numbers]]:
    """Return one row for each item with the votes of its annotators, in table order, and the items' scores by heading.

    rows: the n rows of the table, in its order; those of one id are an item. gold: (n,) the vote in each row, NaN if
    blank. scores: (n,) by heading. roles: headings by role. A blank group, text or score of an item's first row is
    filled from its other rows; further fields are those of the first row. Raises `UserError` where two rows of an item
    differ in what is filled so, and for a row without an annotator or a second row of an annotator on one item.
    """
    import pandas

    item, _ = pandas.factorize(objects(rows.id))
    first = np.unique(item, return_index=True)[1]
    votes = [dict(rows.votes[row]) for row in first.tolist()]
    heading, seen = roles["annotator"], dict[tuple[int, str], int]()
    annotators = table.texts(heading)
    for row, (number, annotator) in enumerate(zip(item.tolist(), annotators, strict=True)):
        if not annotator:
            raise table.row(row).wrong(heading, f"is blank: write who rated the item {shown(rows.id[row])}")
        before = seen.setdefault((number, annotator), row)
        if before != row:
            why = f"names {annotator!r} for item {rows.id[row]!r} once more, after {table.row(before).where}"
            raise table.row(row).wrong(heading, f"{why}: keep one of the two rows")
        if annotator in votes[number]:
            why = f"is {annotator!r}, who has a column of votes too"
            raise table.row(row).wrong(heading, f"{why}: keep the column or this row")
        if not np.isnan(gold[row]):
            votes[number][annotator] = float(gold[row])
    merged = replace(rows.take(first), votes=objects(votes))
    for role in (*_TEXTS, "group"):
        if role in roles:
            at = _filled_rows(table, roles[role], table.texts(roles[role]), item, first)
            column = getattr(rows, role)[at]
            merged = replace(merged, **{role: column if role == "text" else coded(column)})
    for heading in replace(table, frame=table.frame[[*rows.fields]]).find(TEXTS, {}).values():
        at = _filled_rows(table, heading, rows.fields[heading], item, first)
        merged = replace(merged, fields={**merged.fields, heading: rows.fields[heading][at]})
    known = {heading: score[_filled_rows(table, heading, score, item, first)] for heading, score in scores.items()}
    _log.warning(
        "%s: %s from %s, %s, %s blank.",
        *(table.name, count(len(first), "item"), count(len(rows), "row"), count(len({*annotators}), "annotator")),
        count(int(np.isnan(gold).sum()), "rating"),
    )
    return merged, known


def _filled_rows(table: UserTable, heading: str, values: Cells, item: Indices, first: Indices) -> Indices:
    """Return for each item, (n_items,), the first row whose cell is not blank; if all are blank, the first row.

    values: the column `heading`, (n,) texts or numbers. item: (n,) the number of each row's item. first: (n_items,) the
    items' first rows. Raises `UserError` where two filled cells of an item differ.
    """
    are_texts = values.dtype == np.object_
    filled, at = np.flatnonzero(values != "" if are_texts else ~np.isnan(values)), first.copy()
    at[item[filled[::-1]]] = filled[::-1]  # of several rows the last one that is assigned stays: the first
    differs = filled[values[filled] != values[at[item[filled]]]]
    if differs.size:
        other, row = table.row(int(differs[0])), table.row(int(at[item[differs[0]]]))
        cell, before = (shown(place.text(heading), 60) for place in (other, row))
        metric = "; if the column is not a metric, list those that are: --set dataset_options.metrics=NAMES"
        why = f"is {cell}, but {row.where} has {before} for the same item: write the same in both rows, or leave one"
        raise other.wrong(heading, f"{why} blank{'' if are_texts else metric}")
    return at
