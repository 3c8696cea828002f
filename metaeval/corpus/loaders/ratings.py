"""A rated set of the user's own: a table (CSV, TSV, XLSX, Parquet, JSON lines), or one JSON object per line::

    {"id": "r1", "group": "article-1", "gold": 0.5, "system": "bart", "scores": {"mine": 0.73, "theirs": null}}

:id, group: strings, not empty; ids are unique. Texts that share a group are not independent: one article, one query.
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

Other fields are errors, unless the objects hold texts and numbers alone: then the file is a table.

A table has the same under headings. Several dimensions stand in columns ``gold:NAME``, votes in columns that begin with
``vote`` or ``annotator`` (or are listed: ``--map annotator=Ana,Ben``), or in rows of one id with a column ``annotator``
whose gold is that annotator's vote. Of the
other columns, those that hold numbers and verdicts alone are scores, unless the option ``metrics`` names these, and all
others are fields. Without a column ``group``, a pair, or else each row, is a group of its own.

A table with columns ``source`` and ``statement`` is scored by ``metaeval score -d ratings --data TABLE``, which needs
no other columns.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from math import isfinite, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.cell_tables import TypedTable, is_finite, is_missing, name_column
from metaeval.column_arrays import Cells, Coded, Texts, number_in, text_array, values_of
from metaeval.column_roles import LEVELS, PAIR_FIELDS, RATINGS
from metaeval.corpus.annotator_rows import merge_annotators
from metaeval.corpus.data_rows import DataRow, finite, finite_or_none, read_rows
from metaeval.corpus.dataset import Option, own_file
from metaeval.corpus.level_words import EITHER, NAME_WORDS, WORDS, own_words, plain_word
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.ratings import Floats, RatingColumns, Ratings, ScoreColumn, Votes
from metaeval.display_text import count
from metaeval.errors import UserError, shown, unknown
from metaeval.table_settings import skips_bad_cells
from metaeval.user_tables import TABLES, group_cure, read_table, table_of

_log = logging.getLogger("metaeval")

FIELDS = ("id", "group", "gold", "system", "subset", "text", "pair", "fields", "votes", "scores")
_OPTIONAL = ("system", "subset", "text", "pair")
_Words = Mapping[str, SupportLevel]

ALL = "all"


@dataclass(frozen=True)
class _Read:
    """Rated texts as read from a file, before the dimension of the gold is chosen (gold is NaN in `rows`).

    gold: by dimension ("" for a single one), (n,), NaN where blank. words: whether some gold was a word for a level.
    scores: by metric, (n,), NaN where missing. known: by metric, (n,), whether the row mentions it; all do if it is not
    here.
    """

    rows: RatingColumns
    gold: Mapping[str, Floats]
    scores: Mapping[str, Floats]
    words: bool = False
    known: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)


def read_ratings(path: Path, options: Mapping[str, str] = MappingProxyType({})) -> Ratings:
    """Return the rated set in a file; raises `UserError` that names the place, field, value and what is allowed.

    options: those of the data set, by name. Only `gold` (a dimension) and `cut` are allowed if the file is not a table.
    """
    if path.suffix.lower() in (*TABLES, ".parquet"):
        return ratings_of(read_table(path), options, path.stem)
    remaining = read_rows(path, "write one object with id, group and gold per line")
    flat: list[DataRow] = []  # Whether the file is a table is not known before a line holds a list or an object.
    nested = None
    for row in remaining:
        if any(isinstance(value, dict | list) for value in row.fields.values()):
            nested = row
            break
        flat.append(row)
    if nested is None and any(name not in FIELDS for row in flat for name in row.fields):
        table = table_of(str(path), [row.fields for row in flat], [row.where for row in flat])
        return ratings_of(table, options, path.stem)
    chosen = {name: text for name, text in options.items() if text}
    if wrong := next((name for name in chosen if name not in ("gold", "cut", "levels", *LEVELS)), ""):
        raise UserError(f"Option {wrong} names columns of a table, and {path} is not a table: leave the option out.")
    rows = chain(flat, [] if nested is None else [nested], remaining)
    return _ratings(path.stem, str(path), _from_lines(rows, own_words(chosen)), chosen)


def ratings_of(table: TypedTable, options: Mapping[str, str] = MappingProxyType({}), name: str = "") -> Ratings:
    """Return the rated set in a table. options: those of the data set. name: of the set, by default the table's."""
    chosen = {name: text for name, text in options.items() if text}
    return _ratings(name or table.name, table.name, _from_table(table, chosen), chosen)


def _ratings(name: str, where: str, read: _Read, chosen: Mapping[str, str]) -> Ratings:
    """Return the rated set called `name`, with the chosen dimension of its gold, binarised if the options say so."""
    dimension, limit = chosen.get("gold", ""), chosen.get("cut")
    if limit is not None and not is_finite(limit):
        raise UserError(
            f"dataset_options.cut is {shown(limit)}: allowed: a number such as 0.5; ratings from this "
            "number on count as 1, lower ones as 0."
        )
    names = [side for side, gold in read.gold.items() if not np.isnan(gold).all()]
    if dimension in names:
        wanted = [dimension]
    elif "" in names or not names:  # the option named the column
        wanted = [""]
    elif not dimension and len(names) > 1:
        listed = ", ".join(map(shown, names))
        raise UserError(
            f"{where} has ratings of {len(names)} dimensions ({listed}): choose one with --set "
            "dataset_options.gold=NAME, or gold=all for all of them."
        )
    elif dimension and dimension != ALL:
        raise unknown(f"dimension of the gold of {where}", dimension, [*names, ALL])
    else:
        wanted = names
    columns, n = read.rows, len(read.rows)
    gold = np.column_stack([read.gold.get(side, np.full(n, np.nan)) for side in wanted]).reshape(-1)
    rows = np.repeat(np.arange(n), len(wanted))
    for place in np.flatnonzero(np.isnan(gold) & (columns.votes.counts[rows] > 0)).tolist():
        gold[place] = columns.votes.mean(rows[place])
    kept = ~np.isnan(gold)
    blank = int(np.count_nonzero(~kept))
    if blank:
        _log.warning("%s: %s of %s texts have no rating and are left out.", where, f"{blank:,}", f"{kept.size:,}")
    unrated = frozenset(columns.id[rows[~kept]].tolist())
    rows, gold = rows[kept], gold[kept]
    columns = replace(columns if kept.all() and len(wanted) == 1 else columns.take(rows), gold=gold)
    if limit is not None:
        columns = replace(columns, gold=(gold >= float(limit)).astype(np.float64))
    if dimension == ALL and wanted != [""]:
        side: Coded[str] = Coded(text_array(wanted), np.tile(np.arange(len(wanted)), n)[kept])
        ids = text_array(
            f"{rating_id}#{dimension}" for rating_id, dimension in zip(values_of(columns.id), side, strict=True)
        )
        columns = replace(columns, id=ids, fields={**columns.fields, "dimension": side})
    scores = {}
    for metric, score in read.scores.items():
        known = read.known[metric][rows] if metric in read.known else np.ones(len(rows), dtype=np.bool_)
        if known.any():
            scores[metric] = ScoreColumn(columns, score[rows], known)
    dropped = {"texts without a rating": blank} if blank else {}
    voted = bool(columns.votes.values.size)
    numbers = chosen.get("levels") != "no" and not voted and 2.0 in gold and bool(np.isin(gold, (0, 1, 2)).all())
    if limit is None and numbers and not read.words:
        keep = "--set dataset_options.levels=no (in Python dataset_options={'levels': 'no'})"
        _log.warning("%s: gold 2, 1 and 0 is full, partial and no support; ratings instead: %s.", where, keep)
    return Ratings(name, columns, scores, dropped, levels=limit is None and (read.words or numbers), unrated=unrated)


def _from_lines(lines: Iterable[DataRow], user_words: _Words) -> _Read:
    """Return the rated texts in JSON objects, one a line. user_words: words of the user's own.

    Scores are numbers or words; "yes" is 2 where the metric also says full or partial, else 1. "none" among a metric's
    numbers raises `UserError`, since it may stand for a missing score.
    """
    texts: dict[str, list[Any]] = {name: [] for name in ("id", "group", *_OPTIONAL)}
    votes: list[dict[str, float]] = []
    gold, scores, fields = _Gathered(), _Gathered(), _Gathered()
    nones: dict[str, DataRow] = {}
    words, known = False, {**WORDS, **user_words}
    for number, row in enumerate(lines):
        row.only(FIELDS)
        for name in _OPTIONAL:
            texts[name].append(row.optional_text(name))
        named = row.row("fields") if row.fields.get("fields") is not None else None
        voted = row.row("votes") if row.fields.get("votes") is not None else None
        texts["id"].append(row.identifier("id"))
        texts["group"].append(row.identifier("group"))
        gold_cell = row.fields.get("gold")
        if isinstance(gold_cell, dict):
            dimensions = row.row("gold")
            gold.add(number, {name: _number(dimensions, name, known) for name in gold_cell})
            words = words or any(isinstance(value, str | bool) for value in gold_cell.values())
        elif gold_cell is not None or not voted:
            gold.add(number, {"": _number(row, "gold", known)})
            words = words or isinstance(gold_cell, str | bool) or plain_word(gold_cell) in user_words
        fields.add(number, {name: named.identifier(name) for name in named.fields} if named else {})
        votes.append({name: _number(voted, name, known) for name in voted.fields} if voted else {})
        for metric, value, place in _scores(row, user_words):
            scores.add(number, {metric: value})
            if value == "none":
                nones.setdefault(metric, place)
    for metric, place in nones.items():
        if any(isinstance(value, float) for value in scores.columns[metric][1]):
            raise place.error(metric, "null, or a finite number as in other rows")
    n = len(votes)
    mentioned = {metric: np.isin(np.arange(n), rows) for metric, (rows, _) in scores.columns.items()}
    coded = {name: Coded.of(column) for name, column in texts.items() if name != "id"}
    extra = {name: Coded.of(column) for name, column in fields.filled(n, None)}
    rows = RatingColumns(text_array(texts["id"]), gold=np.full(n, np.nan), fields=extra, votes=Votes.of(votes), **coded)
    numbers = {side: np.array(column, dtype=np.float64) for side, column in gold.filled(n, np.nan)}
    read = {metric: _numbers(Cells.of(column)) for metric, column in scores.filled(n, None)}
    return _Read(rows, numbers, read, words, mentioned)


class _Gathered:
    """Values that only some rows have, by name: for each name the numbers of its rows and their values."""

    def __init__(self) -> None:
        self.columns: dict[str, tuple[array[int], list[Any]]] = {}

    def add(self, row: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            rows, values_of_rows = self.columns.setdefault(name, (array("q"), []))
            rows.append(row)
            values_of_rows.append(value)

    def filled(self, n: int, otherwise: Any) -> Iterator[tuple[str, list[Any]]]:
        """Yield each name with a value for each of the n rows, `otherwise` where it has none."""
        for name, (rows, values_of_rows) in self.columns.items():
            column = [otherwise] * n
            for row, value in zip(rows, values_of_rows, strict=True):
                column[row] = value
            yield name, column


def _number(row: DataRow, name: str, words: _Words) -> float:
    """Return the number in a field, or that of the level it names (full 2, partial 1, none 0); else `UserError`."""
    value = row.fields.get(name)
    if (level := words.get(plain_word(value))) is not None:
        return float(level)
    if isinstance(value, str):
        raise row.error(name, f"a finite number, or full, partial or none, {NAME_WORDS}")
    return finite(row, name)


def _scores(row: DataRow, user_words: _Words) -> Iterator[tuple[str, float | str | None, DataRow]]:
    """Yield (metric, score, object for messages) of a row. A score is a number, a verdict's word, or None if absent."""
    if row.fields.get("scores") is None:
        return
    scores = row.row("scores")
    for metric, value in scores.fields.items():
        word = plain_word(value) if isinstance(value, str) else ""
        word = user_words[word].label if word in user_words else word
        if not metric or (isinstance(value, str) and word not in WORDS):
            raise scores.error(metric, "a finite number or null, under a metric's name")
        yield metric, word or finite_or_none(scores, metric), scores


def _from_table(table: TypedTable, chosen: Mapping[str, str]) -> _Read:
    dimensions = {heading: heading[5:].strip() for heading in table.headings if heading.casefold().startswith("gold:")}
    named = {role: chosen[role] for role in RATINGS if role in chosen}
    if dimensions and (named.get("gold") == ALL or named.get("gold") in dimensions.values()):
        del named["gold"]
    if "," in (listed := named.get("annotator", "")) and listed not in table.headings:  # a column for each annotator
        chosen = {**chosen, "votes": listed}
        del named["annotator"]
    roles = table.find(RATINGS, named)
    pair = "" if "id" in roles or "pair" in named else roles.get("pair", "")
    named_pairs = list(filter(None, table.texts(pair))) if pair else ()
    if pair and len({*named_pairs}) == len(named_pairs):  # the ids of pairs, as 'metaeval pairs' writes them
        roles["id"] = roles.pop("pair")
    if dimensions and "gold" not in named:
        roles.pop("gold", None)
    elif "gold" in roles:
        dimensions = {roles["gold"]: ""}
    votes = _listed(table, chosen, "votes") or [
        heading
        for heading in table.headings
        if heading not in roles.values() and heading.casefold().startswith(("vote", "annotator"))
    ]
    if not dimensions and not votes:
        headings = ", ".join(map(shown, table.headings))
        raise UserError(
            f"{table.name} has no column for the human rating; its columns are {headings}: {name_column('gold')}. "
            "Where each annotator has a column, list them: --map annotator=COLUMN,COLUMN."
        )
    gold = [heading for heading in table.headings if heading.casefold().startswith("gold:")]
    taken = {*roles.values(), *dimensions, *votes, *gold}
    rest = [heading for heading in table.headings if heading not in taken]
    named_scores = _listed(table, chosen, "metrics")
    for heading in named_scores:
        if heading in roles.values() or list(dimensions) == [heading]:
            raise UserError(
                f"{table.name}: the column {shown(heading)} is listed in dataset_options.metrics, but is already read "
                f"as the {next((role for role, named in roles.items() if named == heading), 'gold')}: give another "
                "column for one of them."
            )
    user_words = own_words(chosen)
    mixed = [heading for heading in dimensions if table.cells[heading].array.dtype == np.object_]
    for heading in (*dimensions, *votes, *rest) if user_words else mixed:
        read_as = [str(cell) if isinstance(cell, bool) else cell for cell in table.cells[heading]]  # as in a CSV file
        levels = ((cell, user_words.get(plain_word(cell))) for cell in read_as)
        numbers = heading in rest  # in which a number is a score
        words = [cell if level is None or (numbers and is_finite(cell)) else level.label for cell, level in levels]
        table = replace(table, cells={**table.cells, heading: Cells.of(words)})
    table = table.without_absent((*dimensions, *votes))
    # A letter, as y, is as likely a text.
    verdicts = {word for word in WORDS if len(word) > 1}
    table = table.of_numbers(named_scores or rest, lambda cell: plain_word(cell) in verdicts, _NO_METRIC)
    scores = named_scores or [
        heading for heading in rest if heading not in PAIR_FIELDS and _all_numbers(table.column(heading))
    ]
    fields = [heading for heading in rest if heading not in scores]
    guessed = [f"{role} from {shown(heading)}" for role, heading in roles.items() if heading != named.get(role, role)]
    if scores and "metrics" not in chosen:
        guessed.append(f"scores from {', '.join(map(shown, scores))} (others: --set dataset_options.metrics=NAMES)")
    for heading in (*dimensions, *votes):
        cells = table.column(heading)
        texts = {text.strip() for text in cells.array[np.isinf(cells.plain)].tolist() if isinstance(text, str)}
        meant = {text: WORDS[word].label for text in sorted(texts) if (word := plain_word(text)) in WORDS}
        readings = [f"{shown(text)} is {level}" for text, level in meant.items() if text.casefold() != level]
        if meant and np.isfinite(cells.plain).any():
            guessed.append(f"words and numbers of {shown(heading)} as one scale (full is 2, partial 1, none 0)")
        elif readings and heading in dimensions and "annotator" not in roles:
            guessed.append(f"levels from {shown(heading)} ({', '.join(readings)})")
    if guessed:
        _log.warning("%s is read so: %s.", table.name, ", ".join(guessed))
    if "group" not in roles:
        unit = "pair" if "pair" in roles else "row"
        cure = group_cure(table, fields)
        _log.warning("%s has no column 'group': each %s counts as a group of its own. %s", table.name, unit, cure)
    read = _read_columns(table, roles, dimensions, votes, scores, fields)
    if "annotator" in roles:
        return _merged(table, read, roles)
    if votes:
        blank = len(votes) * table.size - int(read.rows.votes.counts.sum())
        counts = table.name, f"{table.size:,}", f"{len(votes):,}", f"{blank:,}"
        _log.warning("%s: %s items, %s annotators, %s ratings blank.", *counts)
    return read


_NO_METRIC = "; where the column is not a metric, list the metrics: --set dataset_options.metrics=NAMES"


def _read_columns(
    table: TypedTable,
    roles: Mapping[str, str],
    dimensions: Mapping[str, str],
    votes: Sequence[str],
    scores: Sequence[str],
    fields: Sequence[str],
) -> _Read:
    """Return the rated texts in the rows of a table.

    roles: headings by role. dimensions: the gold's dimensions by heading. votes, scores, fields: headings of each kind.
    """
    n = table.size
    coded = {role: table.coded(roles[role]) for role in (*_OPTIONAL, "group") if role in roles}
    others = {heading: table.coded(heading) for heading in fields}
    gold = () if "annotator" in roles else tuple(dimensions)
    numbers = _numbers_of(table, (*dimensions, *votes, *scores), gold)
    named = table.texts(roles["id"]) if "id" in roles else repeat("", n)
    ids = text_array(text or f"row {number}" for number, text in enumerate(named, 1))
    rows = RatingColumns(
        ids,
        _groups(coded.get("group"), coded.get("pair"), ids, "" if "annotator" in roles else table.name),
        np.full(n, np.nan),
        **{role: coded.get(role) or Coded.all_of("", n) for role in _OPTIONAL},
        fields=others,
        votes=Votes.of_columns({heading: numbers[heading] for heading in votes}, n),
    )
    words = any(_scale(table.cells[heading], True)["yes"] == SupportLevel.FULL for heading in gold)
    sides = {name: numbers[heading] for heading, name in dimensions.items()}
    return _Read(rows, sides, {heading: numbers[heading] for heading in scores}, words)


def _groups(groups: Coded[str] | None, pairs: Coded[str] | None, ids: Texts, name: str) -> Coded[str]:
    """Return the group of each row, (n,): its own; where that is missing, its pair; where both are, one with its id.

    Where another group or pair is called as the id, a mark follows. name: of the table, for the warning; "" for none.
    """
    named = [column for column in (groups, pairs) if column is not None]
    if not named:
        return Coded(ids, np.arange(len(ids)))
    missing = {text for column in named for text in column.names if is_missing(text) or text == "None"}  # of Python
    lost = np.array([not text or text in missing for text in named[0].names])[named[0].codes]
    if not lost.any():
        return named[0]
    if groups and name:
        each = "belongs to its pair's, or is one" if pairs else "counts as a group"
        _log.warning("%s: %s name no group: each %s of its own.", name, count(int(lost.sum()), "row"), each)
    known = {text for column in named for text in column.names}
    marked = (text + "*" * (text in known) for text in values_of(ids))
    cells = (("" if text in missing else text for text in column) for column in named)
    return Coded.of(next(filter(None, texts)) for texts in zip(*cells, marked, strict=True))


def _scale(cells: Cells, gold: bool = False) -> _Words:
    """Return the level of each word in a column: "yes" alone is 1, but full support beside full or partial support.

    gold: the column is gold, in which "yes" is full support where there are no numbers.
    """
    alone = gold and np.isinf(cells.plain).any() and not np.isfinite(cells.plain).any()
    graded = {word for word, level in WORDS.items() if level > 0} - EITHER
    if alone or cells.which_others(lambda cell: plain_word(cell) in graded).any():
        return WORDS
    return {**WORDS, **dict.fromkeys(EITHER, SupportLevel.PARTIAL)}


def _numbers(cells: Cells, gold: bool = False) -> Floats:
    """Return a column's numbers, and its words' by `_scale`: NaN if blank or missing, inf if unreadable."""
    return cells.numbers(partial(_verdict, words=_scale(cells, gold)))


def _numbers_of(table: TypedTable, headings: Sequence[str], gold: Sequence[str]) -> dict[str, Floats]:
    """Return the numbers in columns by heading, (n,) each, NaN if blank. gold: headings of those that hold gold.

    Raises `UserError` for the first cell without a number or verdict; counts such cells as blank if so set.
    """
    if skips_bad_cells():
        bad = {heading: np.isinf(_numbers(table.cells[heading])) for heading in headings}
        table = table.blanking({heading: np.flatnonzero(cells) for heading, cells in bad.items()})
    numbers_by_heading = {heading: _numbers(table.column(heading), heading in gold) for heading in headings}
    wrong = {heading: np.isinf(numbers) for heading, numbers in numbers_by_heading.items()}
    first = [(int(np.argmax(bad)), heading) for heading, bad in wrong.items() if bad.any()]
    if first:
        place, heading = min(first, key=lambda fault: fault[0])
        row = table.row(place)
        cell = shown(str(row.value(heading)), 40)
        raise row.wrong(heading, f"is {cell}: write a number, or full, partial, none, yes or no, {NAME_WORDS}")
    return numbers_by_heading


def _merged(table: TypedTable, read: _Read, roles: Mapping[str, str]) -> _Read:
    """Return the texts with the rows of one id merged into one, which has the votes of all their annotators."""
    gold = np.column_stack([np.full(len(read.rows), np.nan), *read.gold.values()])
    if (np.count_nonzero(~np.isnan(gold), axis=1) > 1).any():
        raise UserError(
            f"{table.name} has a column of annotators and several columns of human ratings, which cannot "
            "be read together: keep only one column of ratings."
        )
    rows, scores = merge_annotators(table, read.rows, np.fmax.reduce(gold, axis=1), read.scores, roles)
    return _Read(rows, {}, scores)


def _listed(table: TypedTable, chosen: Mapping[str, str], name: str) -> list[str]:
    """Return the headings in the option `name`, separated by commas there; `UserError` for one the table lacks."""
    headings = [heading.strip() for heading in chosen.get(name, "").split(",") if heading.strip()]
    for heading in headings:
        if heading not in table.headings:
            raise unknown(f"column of {table.name}", heading, table.headings)
    return headings


def _all_numbers(cells: Cells) -> bool:
    """Return whether each cell of a column is blank, missing, a number or a verdict, and one is a number or verdict."""
    numbers = _numbers(cells)
    return not np.isinf(numbers).any() and not np.isnan(numbers).all()


def _verdict(value: Any, words: _Words) -> float | None:
    """Return the number that a cell or a verdict's word means; NaN for a missing value, None for anything else."""
    if isinstance(value, str) and (level := words.get(plain_word(value))) is not None:
        return float(level)
    if is_missing(value):
        return nan
    try:
        number = number_in(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


DATASET = own_file(
    read_ratings,
    "ratings",
    "A file of human ratings of your own",
    "metaeval-ratings/1",
    wanted='one {"id": ..., "group": ..., "gold": ...} per line, or a table',
    note="metaeval.corpus.loaders.ratings. Without documents: for scores that exist already.",
    kind="ratings",
    options={
        "gold": Option("", "column of the human rating, or its dimension; all: a rating of each dimension"),
        "cut": Option("", "gold from which a text counts as supported (1), and below which it does not (0)"),
        "metrics": Option("", "columns of a table that are metrics' scores, with commas"),
        "levels": Option("", "no: gold of 0, 1 and 2 is ratings, and not levels", ("", "no")),
        **{level: Option("", f"words of the gold and of verdicts that mean {level}, with commas") for level in LEVELS},
        "votes": Option("", "columns of a table that are annotators' votes, with commas"),
        **{role: Option("", f"column of a table that holds the {role}") for role in RATINGS if role != "gold"},
    },
)
