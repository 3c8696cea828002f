"""A rated set of the user's own: a table (CSV, TSV, XLSX, Parquet, JSON lines), or one JSON object per line::

    {"id": "r1", "group": "article-1", "gold": 0.5, "system": "bart", "scores": {"mine": 0.73, "theirs": null}}

:id, group: strings, not empty; ids are unique. Texts that share a group are not independent: one article, one query.
:gold: the human rating, any finite number, more is more faithful; or ``full``, ``partial`` or ``none``. An object holds
    several dimensions by name: the option ``gold`` says which, and ``all`` makes a rating of each, with the field
    ``dimension`` and the id ``ID#DIMENSION``.
:votes: what each annotator said, by name. Without ``gold`` the rating is their mean.
:system: optional: the generator. With two or more, correlations are also given with the systems held constant.
:pair: optional: within a group, the texts that are held against each other, as a text and its minimally changed copy.
:subset: optional: the part of the set; text: optional: what was rated; fields: optional: more texts by name.
:scores: optional: a metric's name to its score, higher is more faithful, or null where it has none. A verdict may be a
    word: ``full``, ``partial``, ``none``, ``yes`` or ``no``.

Other fields are errors, unless the objects hold texts and numbers alone: then the file is a table.

A table has the same under headings. Several dimensions stand in columns ``gold:NAME``, votes in columns that begin with
``vote`` or ``annotator``, or in rows of one id with a column ``annotator`` whose gold is that annotator's vote. Of the
other columns, those that hold numbers and verdicts alone are scores, unless the option ``metrics`` names these, and all
others are fields. Without a column ``group``, a pair, or else each row, is a group of its own.

A table with columns ``source`` and ``statement`` is scored by ``metaeval score -d ratings --data TABLE``, which needs
no other columns; Parquet may be larger than memory.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

from metaeval.corpus.dataset import Option, own_file
from metaeval.corpus.loaders.rows import Row, finite, finite_or_none, read_rows
from metaeval.corpus.model import Rating, Ratings, SupportLevel
from metaeval.errors import UserError, shown, unknown
from metaeval.own_tables import (
    PLAIN_NUMBERS,
    RATING_ROLES,
    TABLES,
    Table,
    is_finite,
    name_column,
    number_of,
    read_table,
    table_of,
)
from metaeval.own_tables import Row as TableRow

_log = logging.getLogger("metaeval")

FIELDS = ("id", "group", "gold", "system", "subset", "text", "pair", "fields", "votes", "scores")
_OPTIONAL = ("system", "subset", "text", "pair")
LEVELS = {level.label: float(level) for level in SupportLevel}
YES = ("yes", "true")
VERDICTS = {**LEVELS, **dict.fromkeys(YES, 1.0), "no": 0.0, "false": 0.0}
"""Words that are read as numbers; yes is full support where the same column also says full or partial."""
GRADED = ("full", "partial")

ALL = "all"


@dataclass(frozen=True)
class _Given:
    """One rated text as it was read. gold: by dimension, "" where there is one only; words: the gold was one."""

    rating: Rating
    gold: Mapping[str, float]
    scores: Mapping[str, float | None] = field(default_factory=dict)
    words: bool = False


def read_ratings(path: Path, options: Mapping[str, str] = MappingProxyType({})) -> Ratings:
    """Read a rated set; `UserError` names the place, the field, the value and what is allowed.

    options: those of the data set, by name; a table reads headings from them, other files the dimension of the gold.
    """
    if path.suffix.lower() in (*TABLES, ".parquet"):
        return ratings_of(read_table(path), options, path.stem)
    rows = list(read_rows(path, "write one object with id, group and gold per line"))
    # A table where lines hold cells alone, and some under another heading than those of the format.
    cells = not any(isinstance(value, dict | list) for row in rows for value in row.fields.values())
    if cells and any(name not in FIELDS for row in rows for name in row.fields):
        table = table_of(str(path), [row.fields for row in rows], [row.where for row in rows])
        return ratings_of(table, options, path.stem)
    chosen = {name: text for name, text in options.items() if text}
    if wrong := next((name for name in chosen if name not in ("gold", "cut")), ""):
        raise UserError(f"Option {wrong} names columns of a table, and {path} is none: leave it out.")
    return _ratings(path.stem, str(path), list(_from_lines(rows)), chosen)


def ratings_of(table: Table, options: Mapping[str, str] = MappingProxyType({}), name: str = "") -> Ratings:
    """The rated set in a table, by default of its name; `options` and `UserError` as in `read_ratings`."""
    chosen = {name: text for name, text in options.items() if text}
    return _ratings(name or table.name, table.name, _from_table(table, chosen), chosen)


def _ratings(name: str, where: str, given: Sequence[_Given], chosen: Mapping[str, str]) -> Ratings:
    """The rated set of this name, in the chosen dimension of its gold, and cut where that is. where: what is read."""
    dimension, limit = chosen.get("gold", ""), chosen.get("cut")
    if limit is not None and not is_finite(limit):
        raise UserError(f"dataset_options.cut is {shown(limit)}: allowed: a number, such as 0.5, from which gold is 1.")
    cut = None if limit is None else float(limit)
    names = list(dict.fromkeys(side for one in given for side in one.gold))
    if dimension in names:
        wanted = [dimension]
    elif "" in names or not names:  # the option named the column
        wanted = [""]
    elif not dimension and len(names) > 1:
        listed = ", ".join(map(shown, names))
        raise UserError(f"{where} has gold of {len(names)} dimensions ({listed}): add --set dataset_options.gold=NAME.")
    elif dimension and dimension != ALL:
        raise unknown(f"dimension of the gold of {where}", dimension, [*names, ALL])
    else:
        wanted = names
    several = dimension == ALL and wanted != [""]
    rows: list[Rating] = []
    scores: dict[str, dict[str, float | None]] = {}
    blank = 0
    for one in given:
        for side in wanted:
            gold = one.gold.get(side)
            if gold is None and not one.rating.votes:
                blank += 1
                continue
            if gold is None:
                gold = sum(one.rating.votes.values()) / len(one.rating.votes)
            if cut is not None:
                gold = float(gold >= cut)
            rating = one.rating if gold is one.rating.gold else replace(one.rating, gold=gold)
            if several:
                rating = replace(rating, id=f"{rating.id}#{side}", fields={**rating.fields, "dimension": side})
            rows.append(rating)
            for metric, score in one.scores.items():
                scores.setdefault(metric, {})[rating.id] = score
    dropped = {"texts without a rating": blank} if blank else {}
    levels = cut is None and any(one.words for one in given)
    return Ratings(name, tuple(rows), scores, dropped, levels=levels)


def _from_lines(rows: Sequence[Row]) -> Iterator[_Given]:
    said_scores = [one.items() for row in rows if isinstance(one := row.fields.get("scores"), dict)]
    graded = {metric for scores in said_scores for metric, value in scores if _is_graded(value)}
    numeric = {metric for scores in said_scores for metric, value in scores if isinstance(value, int | float)}
    for row in rows:
        row.only(FIELDS)
        optional = {name: row.optional_text(name) for name in _OPTIONAL}
        fields = row.row("fields") if row.fields.get("fields") is not None else None
        votes = row.row("votes") if row.fields.get("votes") is not None else None
        own, group, gold = row.identifier("id"), row.identifier("group"), row.fields.get("gold")
        if isinstance(gold, dict):
            dimensions = row.row("gold")
            numbers = {name: _number(dimensions, name) for name in dimensions.fields}
        else:
            numbers = {} if gold is None and votes else {"": _number(row, "gold")}
        texts = {name: fields.identifier(name) for name in fields.fields} if fields else {}
        voted = {name: _number(votes, name) for name in votes.fields} if votes else {}
        rating = Rating(own, group, numbers.get("", 0.0), **optional, fields=texts, votes=voted)
        said = list(gold.values()) if isinstance(gold, dict) else [gold]
        yield _Given(rating, numbers, dict(_scores(row, graded, numeric)), any(isinstance(one, str) for one in said))


def _number(row: Row, name: str) -> float:
    """A number, or a level's word."""
    value = row.fields.get(name)
    if isinstance(value, str):
        if value.casefold() not in LEVELS:
            raise row.error(name, "a finite number, or full, partial or none")
        return LEVELS[value.casefold()]
    return finite(row, name)


def _scores(row: Row, graded: Collection[str], numeric: Collection[str]) -> Iterator[tuple[str, float | None]]:
    """The scores of a row. graded: the metrics that say full or partial somewhere; numeric: those with a number."""
    if row.fields.get("scores") is None:
        return
    scores = row.row("scores")
    for metric, value in scores.fields.items():
        if not metric or (isinstance(value, str) and value.casefold() not in VERDICTS):
            raise scores.error(metric, "a finite number or null, under a metric's name")
        if not isinstance(value, str):
            yield metric, finite_or_none(scores, metric)
        elif metric in numeric and value.casefold() == "none":
            raise scores.error(metric, "null, or a finite number as in other rows")
        else:
            yield metric, _read(value, metric in graded)


def _from_table(table: Table, chosen: Mapping[str, str]) -> list[_Given]:
    dimensions = {heading: heading[5:].strip() for heading in table.headings if heading.casefold().startswith("gold:")}
    named = {role: chosen[role] for role in RATING_ROLES if role in chosen}
    if dimensions and (named.get("gold") == ALL or named.get("gold") in dimensions.values()):
        del named["gold"]
    roles = table.find(RATING_ROLES, named)
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
            f"{table.name} has no column for the human rating; its columns are {headings}: {name_column('gold')}."
        )
    gold = [heading for heading in table.headings if heading.casefold().startswith("gold:")]
    taken = {*roles.values(), *dimensions, *votes, *gold}
    rest = [heading for heading in table.headings if heading not in taken]
    named_scores = _listed(table, chosen, "metrics")
    for heading in named_scores:
        if heading in roles.values() or list(dimensions) == [heading]:
            raise UserError(
                f"{table.name}: the column {shown(heading)} is named in dataset_options.metrics, and is read as the "
                f"{next((role for role, one in roles.items() if one == heading), 'gold')}: name another column for one "
                "of them."
            )
    for heading in (*dimensions, *votes, *(named_scores or rest)):
        table.check_numbers(heading)
    scores = named_scores or [heading for heading in rest if _all_numbers(table, heading)]
    fields = [heading for heading in rest if heading not in scores]
    guessed = [f"{role} from {shown(heading)}" for role, heading in roles.items() if heading != named.get(role, role)]
    if scores and "metrics" not in chosen:
        guessed.append(f"scores from {', '.join(map(shown, scores))} (others: --set dataset_options.metrics=NAMES)")
    for heading in () if named_scores else fields:
        if row := table.unread_number(heading):
            cell = shown(row.text(heading), 40)
            guessed.append(f"no scores from {shown(heading)} ({row.where} is {cell}: {PLAIN_NUMBERS})")
        elif row := table.odd_cell(heading, lambda cell: _read(cell) is not None):
            guessed.append(f"no scores from {shown(heading)} ({row.where} is neither number nor verdict)")
    for heading in (*dimensions, *votes):
        cells = {isinstance(number_of(cell), str) for row in table.rows if (cell := row.value(heading)) is not None}
        if len(cells) == 2:
            guessed.append(f"words and numbers of {shown(heading)} as one scale (full is 2, partial 1, none 0)")
    if guessed:
        _log.warning("%s is read so: %s.", table.name, ", ".join(guessed))
    if "group" not in roles:
        own = "pair" if "pair" in roles else "row"
        _log.warning("%s has no column 'group': each %s counts as a group of its own.", table.name, own)
    # Columns that say full or partial somewhere.
    read = (*dimensions, *votes, *scores)
    graded = [heading for heading in read if any(_is_graded(row.value(heading)) for row in table.rows)]

    def given(row: TableRow, number: int) -> tuple[str, _Given]:
        """The annotator of a row, where the table has one to a row, and what it says."""
        text = {role: row.text(heading) for role, heading in roles.items()}
        own = text.get("id") or f"row {number}"
        said = {name: _cell(row, heading, graded) for heading, name in dimensions.items()}
        voted = {heading: vote for heading in votes if (vote := _cell(row, heading, graded)) is not None}
        optional = {role: text.get(role, "") for role in _OPTIONAL}
        group = text.get("group") or text.get("pair") or own
        texts = {heading: row.text(heading) for heading in fields}
        rating = Rating(own, group, 0.0, **optional, fields=texts, votes=voted)
        known = {name: value for name, value in said.items() if value is not None}
        words = any(row.text(heading).casefold() in LEVELS for heading in dimensions)
        return text.get("annotator", ""), _Given(rating, known, {one: _cell(row, one, graded) for one in scores}, words)

    return _merged(table, [given(row, number) for number, row in enumerate(table.rows, 1)], roles)


def _merged(table: Table, rows: Sequence[tuple[str, _Given]], roles: Mapping[str, str]) -> list[_Given]:
    """The rows of each id as one, whose gold are the votes of its annotators, where the table has one to a row."""
    if "annotator" not in roles:
        return [one for _, one in rows]
    found: dict[str, _Given] = {}
    for annotator, one in rows:
        own = one.rating.id
        if not annotator:
            raise UserError(f"{table.name}: a row of {own!r} has no annotator: fill the column {roles['annotator']!r}.")
        if len(one.gold) > 1:
            raise UserError(f"{table.name} has an annotator to a row and gold of several dimensions: keep one of them.")
        first = found.setdefault(own, replace(one, gold={}))
        if annotator in first.rating.votes:
            raise UserError(f"{table.name}: annotator {annotator!r} rates {own!r} twice.")
        votes = {**first.rating.votes, **dict.fromkeys([annotator] if one.gold else [], sum(one.gold.values()))}
        found[own] = replace(first, rating=replace(first.rating, votes=votes), words=False)
    return list(found.values())


def _listed(table: Table, chosen: Mapping[str, str], name: str) -> list[str]:
    """The columns that an option lists, with commas."""
    headings = [heading.strip() for heading in chosen.get(name, "").split(",") if heading.strip()]
    for heading in headings:
        if heading not in table.headings:
            raise unknown(f"column of {table.name}", heading, table.headings)
    return headings


def _all_numbers(table: Table, heading: str) -> bool:
    """Whether a column has a number or a verdict in each cell that is not blank, and in one at least."""
    cells = [row.value(heading) for row in table.rows]
    return any(cell is not None for cell in cells) and all(cell is None or _read(cell) is not None for cell in cells)


def _cell(row: TableRow, heading: str, graded: Collection[str]) -> float | None:
    """The number in a cell; None where it is blank. graded: the columns that say full or partial somewhere."""
    value = row.value(heading)
    if value is None:
        return None
    number = _read(value, heading in graded)
    if number is None:
        raise row.wrong(heading, f"is {shown(str(value), 40)}: write a number, or full, partial, none, yes or no")
    return number


def _is_graded(value: Any) -> bool:
    return isinstance(value, str) and value.strip().casefold() in GRADED


def _read(value: Any, graded: bool = False) -> float | None:
    """A number, or a verdict's word; None for anything else. graded: yes is full support."""
    if isinstance(value, str) and (word := value.strip().casefold()) in VERDICTS:
        return LEVELS["full"] if graded and word in YES else VERDICTS[word]
    try:
        number = float(value)
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
        "votes": Option("", "columns of a table that are annotators' votes, with commas"),
        **{role: Option("", f"column of a table that holds the {role}") for role in RATING_ROLES if role != "gold"},
    },
)
