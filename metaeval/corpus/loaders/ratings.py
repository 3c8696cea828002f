"""A rated set of the user's own: a table (CSV, TSV, XLSX, Parquet, JSON lines), or one JSON object per line::

    {"id": "r1", "group": "article-1", "gold": 0.5, "system": "bart", "scores": {"mine": 0.73, "theirs": null}}

:id, group: ids are unique; a missing one is ``row N``, with a warning. Texts that share a group are not independent:
    one article, one query.
:gold: the human rating, any finite number, more is more faithful; or a word for a level (``full``, ``partial``,
    ``none``, ``Partially supported``, ``yes``, ``no`` ...). Numbers that are all 0, 1 or 2, with a 2 among them, are
    levels too, unless the option ``levels`` is no; the options ``full``, ``partial`` and ``none`` name words of
    one's own. An object holds several dimensions by name: the option ``gold`` says which, and ``all`` makes a rating of
    each, with the field ``dimension`` and the id ``ID#DIMENSION``.
:votes: what each annotator said, by name. Without ``gold`` the rating is their mean.
:system: optional: the generator. With two or more, correlations are also given with the systems held constant.
:pair: optional: within a group, the texts that are compared with each other, as a text and its minimally changed copy.
:subset: optional: the part of the set; text: optional: what was rated; fields: optional: more texts by name.
:scores: optional: a metric's name to its score, higher is more faithful, or null where it has none. A verdict may be a
    word for a level; yes alone, without full or partial, is 1.

Other fields are errors where the objects hold lists or objects; else the file is a table of any columns.

A table has the same under headings, and what an inner object holds under ``gold:NAME``, ``votes:NAME``,
``fields:NAME`` and ``scores:NAME``. Votes are also columns that begin with ``vote`` or ``annotator`` (or are listed:
``--map annotator=Ana,Ben``), or rows of one id with a column ``annotator`` whose gold is that annotator's vote. Of the
other columns, those that hold numbers and verdicts alone are scores, unless the option ``metrics`` names these, and all
others are fields. Numbers under ``cost``, or ``NAME_cost`` beside several scores, are what the scores cost, in USD.
Without a column ``group``, a pair, or else each row, is a group of its own.

A table with columns ``source`` and ``statement`` is scored and evaluated by ``metaeval run -d ratings --data TABLE``,
and scored alone by ``metaeval score``, which needs no other columns.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf, nan
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.core.cells import Cells, Indices, Numbers, each, is_finite, is_missing, objects
from metaeval.core.errors import UserError, count, shown, unknown
from metaeval.core.headings import LEVELS, PAIR_FIELDS, RATINGS, READING, TEXTS
from metaeval.core.tables import TABLES, UserTable, name_column, read_table, table_of, unzipped_ending
from metaeval.corpus.annotator_rows import merge_annotators
from metaeval.corpus.data_rows import DataRow, read_rows
from metaeval.corpus.dataset import Option, own_file
from metaeval.corpus.label_exports import label_export, label_tool
from metaeval.corpus.level_words import EITHER, NAME_WORDS, WORDS, own_words, plain_word
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.ratings import RatingColumns, Ratings, ScoreColumn, coded, text_array

if TYPE_CHECKING:
    from pandas import Categorical

_log = logging.getLogger("metaeval")

FIELDS = ("id", "group", "gold", "system", "subset", "text", "pair", "fields", "votes", "scores")
_OPTIONAL = ("system", "subset", "text", "pair")

# How headings begin that say what their column holds; the annotator's, metric's or field's name follows.
_NAMED = ("votes:", "scores:", "fields:")

ALL = "all"


# Rated texts as read, before the dimension of the gold is chosen (gold is NaN), and whether some gold was a word.
#
# Between these, (n,) each, NaN where missing: the gold by dimension ("" for a single one), the scores by metric, and
# what these cost.
_Read = tuple[RatingColumns, Mapping[str, Numbers], Mapping[str, Numbers], Mapping[str, Numbers], bool]


# A column's plain numbers, the distinct cells that are none, and the index of each such cell in them.
_Column = tuple[Numbers, Cells, Indices]


def read_ratings(path: Path, options: Mapping[str, str] = MappingProxyType({})) -> Ratings:
    """Return the rated set in a file; raises `UserError` that names the place, field, value and what is allowed.

    options: those of the data set, by name.
    """
    if unzipped_ending(path) in (*TABLES, ".parquet"):
        return ratings_of(read_table(path), options, path.stem)
    rows = list(read_rows(path, "write one object with id, group and gold per line"))
    nested = any(isinstance(row.fields.get(name), dict | list) for row in rows for name in FIELDS)
    nested = nested and not label_tool({name for row in rows for name in row.fields})
    records = [_flat(row) if nested else row.fields for row in rows]
    return ratings_of(table_of(str(path), records, [row.where for row in rows]), options, path.stem)


def _flat(row: DataRow) -> dict[str, Any]:
    """Return the fields of an object as the cells of a table: the entries of an inner object under FIELD:NAME."""
    row.only(FIELDS)
    cells: dict[str, Any] = {}
    for name, value in row.fields.items():
        if (name == "gold" and isinstance(value, dict)) or f"{name}:" in _NAMED:
            inner = {} if value is None else row.row(name).fields
            cells |= {f"{name}:{key}": entry for key, entry in inner.items()}
        else:
            cells[name] = value
    return cells


def ratings_of(table: UserTable, options: Mapping[str, str] = MappingProxyType({}), name: str = "") -> Ratings:
    """Return the rated set in a table. options: those of the data set. name: of the set, by default the table's."""
    chosen = {name: text for name, text in options.items() if text}
    if export := label_export(table, chosen, chosen.get("gold", "")):
        table, chosen["gold"], note, _ = export
        _log.warning("%s: %s.", table.name, note)
    return _ratings(name or table.name, table, _from_table(table, chosen), chosen)


def _ratings(name: str, table: UserTable, read: _Read, chosen: Mapping[str, str]) -> Ratings:
    """Return the rated set called `name`, with the chosen dimension of its gold, binarised if the options say so."""
    where = table.name
    dimension, limit = chosen.get("gold", ""), chosen.get("cut")
    if limit is not None and not is_finite(limit):
        what = "a number such as 0.5, from which on ratings count as 1"
        raise UserError(f"dataset_options.cut is {shown(limit)}; allowed: {what}.")
    columns, golds, metrics, costs, words = read
    names = [side for side, gold in golds.items() if not np.isnan(gold).all()]
    if dimension in names:
        wanted = [dimension]
    elif "" in names or not names:  # the option named the column
        wanted = [""]
    elif not dimension and len(names) > 1:
        listed = ", ".join(map(shown, names))
        cure = "choose one with --set dataset_options.gold=NAME, or gold=all for all of them"
        raise UserError(f"{where} has ratings of {len(names)} dimensions ({listed}): {cure}.")
    elif dimension and dimension != ALL:
        raise unknown(f"dimension of the gold of {where}", dimension, [*names, ALL])
    else:
        wanted = names
    n = len(columns)
    gold = np.column_stack([golds.get(side, np.full(n, np.nan)) for side in wanted]).reshape(-1)
    rows = np.repeat(np.arange(n), len(wanted))
    counts = np.array([*map(len, columns.votes)])
    for place in np.flatnonzero(np.isnan(gold) & (counts[rows] > 0)).tolist():
        votes = columns.votes[rows[place]].values()
        gold[place] = sum(votes) / len(votes)
    kept = ~np.isnan(gold)
    blank = int(np.count_nonzero(~kept))
    if blank:
        but = " of all but the rates of '-p verdicts'" if len(wanted) == 1 else ""
        _log.warning(
            "%s: %s of %s texts have no rating and are left out%s.", where, f"{blank:,}", f"{kept.size:,}", but
        )
    left = rows[~kept]
    unrated = dict(zip(columns.id[left].tolist(), columns.group[left], strict=True))
    rows, gold = rows[kept], gold[kept]
    columns = replace(columns if kept.all() and len(wanted) == 1 else columns.take(rows), gold=gold)
    if limit is not None:
        columns = replace(columns, gold=(gold >= float(limit)).astype(np.float64))
    if dimension == ALL and wanted != [""]:
        side = objects(wanted)[np.tile(np.arange(len(wanted)), n)[kept]]
        ids = (f"{name}#{part}" for name, part in zip(columns.id, side, strict=True))
        columns = replace(columns, id=text_array(ids), fields={**columns.fields, "dimension": side})
    left = left if len(unrated) == left.size else left[:0]
    paid = {metric: cost[rows] for metric, cost in costs.items()}
    scores = {
        metric: ScoreColumn(columns, score[rows], score[left], paid.get(metric)) for metric, score in metrics.items()
    }
    dropped = {"texts without a rating": blank} if blank else {}
    numbers = chosen.get("levels") != "no" and not counts[rows].any() and 2.0 in gold
    numbers = numbers and bool(np.isin(gold, (0, 1, 2)).all())
    if limit is None and numbers and not words:
        keep = "--set dataset_options.levels=no (in Python dataset_options={'levels': 'no'})"
        _log.warning("%s: gold 2, 1 and 0 is full, partial and no support; ratings instead: %s.", where, keep)
    levels = limit is None and (words or numbers)
    return Ratings(name, columns, scores, dropped, levels, unrated, table.headings)


def _headings(
    table: UserTable, chosen: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str], list[str], set[str], list[str]]:
    """Return headings by role, the gold's dimension by heading, headings of votes, and all that are no score or field.

    The last are headings that were understood and not declared, as clauses for a warning. Raises `UserError` for a
    wrong option, several columns of gold or none, and a list or an object in a cell.
    """
    dimensions = {heading: heading[5:].strip() for heading in table.headings if heading.casefold().startswith("gold:")}
    named = {role: chosen[role] for role in RATINGS if role in chosen}
    if dimensions and (named.get("gold") == ALL or named.get("gold") in dimensions.values()):
        del named["gold"]
    if "," in named.get("annotator", "") and named["annotator"] not in table.headings:  # a column for each annotator
        chosen = {**chosen, "votes": named.pop("annotator")}
    roles = table.find(RATINGS, named)
    pair = "" if "id" in roles or "pair" in named else roles.get("pair", "")
    pairs = [*filter(None, table.texts(pair))] if pair else []
    if pair and len({*pairs}) == len(pairs):  # the ids of pairs, as 'metaeval pairs' writes them
        roles["id"] = roles.pop("pair")
    other = roles.pop("gold", "") if dimensions and "gold" not in named else ""
    if other and chosen.get("gold") not in dimensions.values():
        listed = ", ".join(map(shown, (other, *dimensions)))
        raise UserError(f"{table.name} has human ratings in several columns ({listed}): {name_column('gold')}.")
    if "gold" in roles:
        dimensions = {roles["gold"]: ""}
    for heading in (heading for role, heading in roles.items() if role != "text"):
        if {list, dict} & set(map(type, cells := table.column(heading))):
            place = next(place for place, cell in enumerate(cells) if isinstance(cell, list | dict))
            what = shown(str(cells[place]), 40)
            raise table.row(place).wrong(heading, f"is {what}: write a text or a number")
    others = [heading for heading in table.headings if heading not in roles.values()]
    voting = [heading for heading in others if heading.casefold().startswith(("vote", "annotator"))]
    votes = _listed(table, chosen, "votes") or voting
    if not dimensions and not votes:
        headings = ", ".join(map(shown, table.headings))
        what = f"{table.name} has no column for the human rating; its columns are {headings}"
        raise UserError(f"{what}: {name_column('gold')}, or list each annotator's: --map annotator=COLUMN,COLUMN.")
    gold = [heading for heading in table.headings if heading.casefold().partition(":")[0] == "gold"]
    guessed = [f"{role} from {shown(heading)}" for role, heading in roles.items() if heading != named.get(role, role)]
    return roles, dimensions, votes, {*roles.values(), *dimensions, *votes, *gold, other}, guessed


def _from_table(table: UserTable, chosen: Mapping[str, str]) -> _Read:
    roles, dimensions, votes, taken, guessed = _headings(table, chosen)
    rest = [heading for heading in table.headings if heading not in taken and not heading.startswith("fields:")]
    named_scores = _listed(table, chosen, "metrics")
    prices = [heading for heading in rest if heading.casefold().endswith("cost") and table.is_numbers(heading)]
    rest = [heading for heading in rest if heading not in prices or heading in named_scores]
    for heading in named_scores:
        if heading in roles.values() or list(dimensions) == [heading]:
            what = next((role for role, named in roles.items() if named == heading), "gold")
            where = f"{table.name}: the column {shown(heading)} is listed in dataset_options.metrics"
            raise UserError(f"{where}, but is already read as the {what}: give another column for one of them.")
    user_words = own_words(chosen)
    mixed = [heading for heading in dimensions if bool in set(map(type, table.frame[heading].to_numpy()))]
    for heading in (*dimensions, *votes, *rest) if user_words else mixed:
        reworded = partial(_reworded, user_words=user_words, among_numbers=heading in rest)
        cells = each(reworded, table.frame[heading].to_numpy(np.object_))
        table = table.replacing({heading: cells})
    table = table.checked((*dimensions, *votes))
    # A letter, as y, is as likely a text.
    verdicts = {word for word in WORDS if len(word) > 1}
    table = table.checked(named_scores or rest, lambda cell: plain_word(cell) in verdicts, _NO_METRIC)
    for heading in (*dimensions, *votes, *rest):
        table.column(heading)  # raises for a cell that cannot be read
    columns = {heading: table.read(heading) for heading in (*dimensions, *votes, *rest)}
    numbers = {heading: _numbers(columns[heading], _scale(columns[heading])) for heading in (*votes, *rest)}
    scores = named_scores or [
        heading
        for heading in rest
        if heading.startswith("scores:")
        or (
            heading not in PAIR_FIELDS and not np.isinf(numbers[heading]).any() and not np.isnan(numbers[heading]).all()
        )
    ]
    # A document that tells which rows are alike may also be what a metric reads.
    paired = table.find(TEXTS, {role: chosen[role] for role in TEXTS if role in chosen}).values()
    fields = [heading for heading in table.headings if heading in paired or heading not in {*taken, *scores}]
    costs: dict[str, Numbers] = {}
    metrics = [*map(_name, scores)]
    for heading in (heading for heading in prices if heading not in rest):
        metric = heading[:-4].rstrip("_ ") or (metrics[0] if len(metrics) == 1 else "")
        if metric in metrics:
            costs[metric] = table.plain(heading)
        else:
            _log.warning(
                "%s: %s is read as a field: the cost of a column NAME is named NAME_cost.", table.name, heading
            )
    unsure = [heading for heading in rest if heading in fields and heading not in PAIR_FIELDS]
    _warn_of_words(table.name, {heading: columns[heading][1] for heading in unsure}, verdicts)
    if (likely := [shown(heading) for heading in scores if not heading.startswith("scores:")]) and not named_scores:
        guessed.append(f"scores from {', '.join(likely)} (others: --set dataset_options.metrics=NAMES)")
    for heading in (*dimensions, *votes):
        guessed += _words_read(heading, columns[heading], heading in dimensions and "annotator" not in roles)
    if guessed:
        _log.warning("%s is read so: %s.", table.name, ", ".join(guessed))
    if "group" not in roles:
        unit = "pair" if "pair" in roles else "row"
        cure = table.group_cure(fields)
        _log.warning("%s has no column 'group': each %s counts as a group of its own. %s", table.name, unit, cure)
    merged = "annotator" in roles
    scales = {heading: _scale(columns[heading], not merged) for heading in dimensions}
    words = not merged and WORDS in scales.values()
    numbers |= {heading: _numbers(columns[heading], scale) for heading, scale in scales.items()}
    read = {heading: numbers[heading] for heading in (*dimensions, *votes, *scores)}
    bad = {heading: np.flatnonzero(np.isinf(column)) for heading, column in read.items()}
    if READING.get()[1]:
        table.blanking(bad)
        read = {heading: np.where(np.isinf(column), nan, column) for heading, column in read.items()}
    elif wrong := [(int(rows[0]), heading) for heading, rows in bad.items() if rows.size]:
        place, heading = min(wrong, key=lambda fault: fault[0])
        row = table.row(place)
        cell = shown(str(row.value(heading)), 40)
        raise row.wrong(heading, f"is {cell}: write a number, or full, partial, none, yes or no, {NAME_WORDS}")
    rows = _rows(table, roles, fields, [(_name(heading), read[heading]) for heading in votes], merged)
    n = len(rows)
    sides = {name: read[heading] for heading, name in dimensions.items()}
    of_metrics = {_name(heading): read[heading] for heading in scores}
    if merged:
        rated = np.column_stack([np.full(n, nan), *sides.values()])
        if (np.count_nonzero(~np.isnan(rated), axis=1) > 1).any():
            why = f"{table.name} has a column of annotators and several columns of human ratings"
            raise UserError(f"{why}: keep only one column of ratings.")
        rows, of_metrics = merge_annotators(table, rows, np.fmax.reduce(rated, axis=1), of_metrics, roles)
        return rows, {}, of_metrics, {}, False
    if votes:
        blank = len(votes) * n - sum(map(len, rows.votes))
        counts = table.name, f"{n:,}", f"{len(votes):,}", f"{blank:,}"
        _log.warning("%s: %s items, %s annotators, %s ratings blank.", *counts)
    return rows, sides, of_metrics, costs, words


def _warn_of_words(name: str, columns: Mapping[str, Cells], verdicts: Collection[str]) -> None:
    """Warn of fields, of whose distinct cells other than numbers (`columns`) some are verdicts and some are not."""
    for heading, cells in columns.items():
        filled = [cell for cell in cells.tolist() if not is_missing(cell)]
        strange = [shown(str(cell), 40) for cell in filled if plain_word(cell) not in verdicts]
        if len(strange) < len(filled) <= _FEW and strange:
            cure = f"{NAME_WORDS[3:]}, or leave it out: --set dataset_options.metrics=NAMES --set skip_bad_cells=true"
            what = f"{shown(heading)} has verdicts and {strange[0]}, and is read as a field"
            _log.warning("%s: %s: %s.", name, what, cure)


def _words_read(heading: str, column: _Column, levels: bool) -> Iterator[str]:
    """Yield how a column of words is read: as one scale with its numbers or, if it is to be told, as which `levels`."""
    plain, others, _ = column
    texts = sorted({text.strip() for text in others.tolist() if isinstance(text, str)})
    meant = {text: WORDS[word].label for text in texts if (word := plain_word(text)) in WORDS}
    readings = [f"{shown(text)} is {level}" for text, level in meant.items() if text.casefold() != level]
    if meant and np.isfinite(plain).any():
        yield f"words and numbers of {shown(heading)} as one scale (full is 2, partial 1, none 0)"
    elif readings and levels:
        yield f"levels from {shown(heading)} ({', '.join(readings)})"


def _rows(
    table: UserTable, roles: Mapping[str, str], fields: Sequence[str], votes: list[tuple[str, Numbers]], merged: bool
) -> RatingColumns:
    """Return the rows without gold. votes: (n,) by annotator. merged: whether rows of one id will be one."""
    n = len(table)
    cells_by_role = {role: table.texts(roles[role]) for role in (*_OPTIONAL, "group") if role in roles}
    ids = table.texts(roles["id"]) if "id" in roles else objects([""] * n)
    unnamed = np.flatnonzero(ids == "")
    for place in unnamed.tolist():
        ids[place] = f"row {place + 1}"
    if "id" in roles and unnamed.size:
        which = count(unnamed.size, "row"), table.row(int(unnamed[0])).where, ids[unnamed[0]]
        _log.warning("%s: %s without an id, called by place: %s is %r.", table.name, *which)
    known = {role: coded(column) for role, column in cells_by_role.items() if role != "text"}
    by_row = zip(*([(name, vote) for vote in column.tolist()] for name, column in votes), strict=True)
    voted = ({name: vote for name, vote in row if vote == vote} for row in by_row)
    unnamed = coded([""] * n)
    return RatingColumns(
        text_array(ids),
        _groups(known.get("group"), known.get("pair"), ids, "" if merged else table.name),
        np.full(n, nan),
        known.get("system") or unnamed,
        known.get("subset") or unnamed,
        cells_by_role.get("text", objects([""] * n)),
        known.get("pair") or unnamed,
        {_name(heading): table.texts(heading) for heading in fields},
        objects(voted if votes else [{}] * n),
    )


_FEW = 6  # a column of no more distinct words, of which some are verdicts, is probably a judge's

_NO_METRIC = (
    "; of verdicts, say what the word means: --map full=WORD,WORD; where the column is not a metric, list the metrics: "
    "--set dataset_options.metrics=NAMES"
)


def _name(heading: str) -> str:
    return heading.partition(":")[2] if heading.startswith(_NAMED) else heading


def _reworded(cell: Any, user_words: Mapping[str, SupportLevel], among_numbers: bool) -> Any:
    """Return a cell as in a CSV file, and the name of the level for a word of the user's own."""
    cell = str(cell) if isinstance(cell, bool) else cell
    level = user_words.get(plain_word(cell))
    return cell if level is None or (among_numbers and is_finite(cell)) else level.label


def _groups(groups: Categorical | None, pairs: Categorical | None, ids: Cells, name: str) -> Categorical:
    """Return the group of each row, (n,): its own; where that is missing, its pair; where both are, one with its id.

    Where another group or pair is called as the id, a mark follows. name: of the table, for the warning; "" for none.
    """
    named = [column for column in (groups, pairs) if column is not None]
    if not named:
        return coded(ids)
    known = {text for column in named for text in column.categories}
    missing = {text for text in known if is_missing(text) or text in ("", "None")}  # None of Python
    lost = named[0].isin(missing)
    if not lost.any():
        return named[0]
    if groups is not None and name:
        each_row = "belongs to its pair's, or is one" if pairs is not None else "counts as a group"
        rows = f"{count(int(lost.sum()), 'row')} name{'s' * int(lost.sum() == 1)}"
        _log.warning("%s: %s no group: each %s of its own.", name, rows, each_row)
    marked = (text + "*" * (text in known) for text in ids)
    cells = (("" if text in missing else text for text in column) for column in named)
    return coded(next(filter(None, texts)) for texts in zip(*cells, marked, strict=True))


def _scale(column: _Column, gold: bool = False) -> Mapping[str, SupportLevel]:
    """Return the level of each word in a column: "yes" alone is 1, but full support beside full or partial support.

    gold: the column is gold, in which "yes" is full support where there are no numbers.
    """
    plain, others, _ = column
    graded = {word for word, level in WORDS.items() if level > 0} - EITHER
    alone = gold and others.size and not np.isfinite(plain).any()
    if alone or any(plain_word(cell) in graded for cell in others.tolist()):
        return WORDS
    return {**WORDS, **dict.fromkeys(EITHER, SupportLevel.PARTIAL)}


def _numbers(column: _Column, words: Mapping[str, SupportLevel]) -> Numbers:
    """Return a column's numbers, and the levels of its words: NaN if blank or missing, inf if unreadable."""
    plain, others, codes = column
    numbers = plain.copy()
    numbers[np.isinf(plain)] = objects(_verdict(cell, words) for cell in others.tolist())[codes]
    return numbers


def _verdict(value: Any, words: Mapping[str, SupportLevel]) -> float:
    """Return the level of a cell without a finite number; NaN for a missing value, infinity for anything else."""
    if isinstance(value, str) and (level := words.get(plain_word(value))) is not None:
        return float(level)
    return nan if is_missing(value) else inf


def _listed(table: UserTable, chosen: Mapping[str, str], name: str) -> list[str]:
    """Return the headings in the option `name`, separated by commas there; `UserError` for one the table lacks."""
    headings = [heading.strip() for heading in chosen.get(name, "").split(",") if heading.strip()]
    for heading in headings:
        if heading not in table.headings:
            raise unknown(f"column of {table.name}", heading, table.headings)
    return headings


DATASET = own_file(
    read_ratings,
    'one {"id": ..., "group": ..., "gold": ...} per line, or a table',
    name="ratings",
    title="A file of human ratings of your own",
    schema="metaeval-ratings/1",
    note="One JSON object per line, or a table; the format is documented in metaeval.corpus.loaders.ratings. For "
    "scores that exist already, and statements with their sources.",
    kind="ratings",
    options={
        "gold": Option("", "column of the human rating, or its dimension; all: a rating of each dimension"),
        "cut": Option("", "gold from which a text counts as supported (1), and below which it does not (0)"),
        "metrics": Option("", "columns of a table that are metrics' scores, with commas"),
        "levels": Option("", "no: gold of 0, 1 and 2 is ratings, and not levels", ("", "no")),
        **{level: Option("", f"words of the gold and of verdicts that mean {level}, with commas") for level in LEVELS},
        "votes": Option("", "columns of a table that are annotators' votes, with commas"),
        **{role: Option("", f"column that holds the {role}") for role in (*RATINGS, *TEXTS) if role != "gold"},
    },
)
