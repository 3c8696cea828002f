"""Rated texts without their sources, stored as columns; a `Rating` object is made only when a row is read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from json.encoder import encode_basestring
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import to_json

from metaeval.core.cells import Cells, Indices, Numbers, distinct, objects
from metaeval.core.errors import UserError, count
from metaeval.corpus.model import SupportLevel

if TYPE_CHECKING:
    from pandas import Categorical


_BLOCK = 2048  # rows of which JSON is made at a time: their texts stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Rating:
    """One rated text.

    Parameters
    ----------
    id : str
        Unique in its set.
    group : str
        The unit that resampling draws, and whose texts are ranked against each other: often the source article.
    gold : float
        The rating, any finite number; more is more faithful.
    system : str
        The generator; empty where not known.
    subset : str
        The part of the set that the text comes from; empty where not known.
    text : str
        The rated text; empty where not known.
    pair : str
        An id that texts of a group share which are ranked against each other alone, as a text and its minimally changed
        copy; empty where not known.
    fields : mapping of str to str
        Further texts by name.
    votes : mapping of str to float
        By annotator, on the scale of the gold.
    """

    id: str
    group: str
    gold: float
    system: str = ""
    subset: str = ""
    text: str = ""
    pair: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, float] = field(default_factory=dict)


def text_array(texts: Iterable[str]) -> Cells:
    """Return texts as a compact array, (n,); as objects where a text has no UTF-8 form (half of a character)."""
    cells = objects(texts)
    try:
        return cells.astype(np.dtypes.StringDType())
    except UnicodeEncodeError:
        return cells


def coded(texts: Iterable[str]) -> Categorical:
    """Return texts as categories in sorted order."""
    import pandas

    codes, names = pandas.factorize(objects(texts))
    order = np.array(sorted(range(len(names)), key=names.tolist().__getitem__), dtype=np.intp)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(order.size)
    return pandas.Categorical.from_codes(ranks[codes], pandas.Index(names[order], dtype=object))


@dataclass(frozen=True, eq=False)
class RatingColumns(Sequence[Rating]):
    """n ratings stored as columns, one for each field of `Rating`.

    id, text: (n,) texts. group, system, subset, pair: (n,), of sorted categories that all occur in a row. fields: by
    name, (n,) texts, None where a row has none. votes: (n,) votes by annotator, a mapping for each row.
    """

    id: Cells
    group: Categorical
    gold: Numbers
    system: Categorical
    subset: Categorical
    text: Cells
    pair: Categorical
    fields: Mapping[str, Cells]
    votes: Cells

    @classmethod
    def of(cls, rows: Iterable[Rating]) -> RatingColumns:
        """Return ratings as columns; columns are returned unchanged."""
        if isinstance(rows, RatingColumns):
            return rows
        listed = list(rows)
        names = dict.fromkeys(name for row in listed for name in row.fields)
        return cls(
            id=text_array(row.id for row in listed),
            group=coded(row.group for row in listed),
            gold=np.array([row.gold for row in listed], dtype=np.float64),
            system=coded(row.system for row in listed),
            subset=coded(row.subset for row in listed),
            text=objects(row.text for row in listed),
            pair=coded(row.pair for row in listed),
            fields={name: objects(row.fields.get(name) for row in listed) for name in names},
            votes=objects(row.votes for row in listed),
        )

    def __len__(self) -> int:
        return len(self.gold)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        row = range(len(self))[row]
        fields = {name: column[row] for name, column in self.fields.items() if column[row] is not None}
        known = (self.system[row], self.subset[row], self.text[row], self.pair[row], fields, self.votes[row])
        return Rating(self.id[row], self.group[row], self.gold[row].item(), *known)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RatingColumns) and len(self) == len(other) and all(map(Rating.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def take(self, rows: Indices) -> RatingColumns:
        """Return the rows of these numbers, in this order."""
        columns = {name: column[rows] for name, column in vars(self).items() if name in _COLUMNS}
        for name in ("group", "system", "subset", "pair"):
            columns[name] = columns[name].remove_unused_categories()
        return RatingColumns(**columns, fields={name: column[rows] for name, column in self.fields.items()})

    @cached_property
    def order(self) -> Indices:
        """Return the row numbers sorted by id, (n,)."""
        return np.argsort(self.id, kind="stable")

    @cached_property
    def edits(self) -> tuple[Cells, Cells] | None:
        """Return the kind of edit of each row ("": not known) and the id of its original; None without these fields."""
        if not {"kind", "original"} <= self.fields.keys():
            return None
        kind, original = (objects(name or "" for name in self.fields[field]) for field in ("kind", "original"))
        return kind, np.where(kind == "original", self.id.astype(np.object_), original)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Return the row number of each id."""
        return {name: row for row, name in enumerate(self.id.tolist())}


_COLUMNS = ("id", "group", "gold", "system", "subset", "text", "pair", "votes")


@dataclass(frozen=True, eq=False)
class ScoreColumn(Mapping[str, "float | None"]):
    """The scores of a metric by rating id, stored as a column; None where one is missing. score: (n,), NaN for None.

    unrated: scores of the texts of `Ratings.unrated`, in their order, or () where they are not known. cost: (n,) what
    each score cost, NaN where it is not known, or None.
    """

    rows: RatingColumns
    score: Numbers
    unrated: Numbers = field(default_factory=lambda: np.empty(0))
    cost: Numbers | None = None

    @classmethod
    def of(cls, rows: RatingColumns, scores: Mapping[str, float | None], where: str) -> ScoreColumn:
        """Return the column of scores by id.

        Raises `UserError` for an id of no row, and for a score that is not finite.

        where: source of the scores, for messages.
        """
        if isinstance(scores, ScoreColumn) and scores.rows is rows:
            return scores
        score = np.full(len(rows), np.nan)
        for rating_id, value in scores.items():
            if (row := rows.numbers.get(rating_id)) is None:
                raise UserError(f"{where} has a score for {rating_id!r}, but no rating with this id: use their ids.")
            if value is not None and not isfinite(value):
                raise UserError(f"{where} has the score {value} for {rating_id!r}: a score must be finite, or None.")
            score[row] = np.nan if value is None else value
        return cls(rows, score)

    def __getitem__(self, rating_id: str) -> float | None:
        score = float(self.score[self.rows.numbers[rating_id]])
        return None if score != score else score

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows.id.tolist())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the ids and scores of the rows that have a score."""
        order = self.rows.order[~np.isnan(self.score[self.rows.order])]
        parts = ((self.rows.id[some].tolist(), numerals(self.score[some])) for some in row_blocks(order))
        return _sha256("{}", (interleaved(",", map(encode_basestring, ids), ":", scores) for ids, scores in parts))


@dataclass(frozen=True)
class Ratings:
    """Rated texts in their file order, and the scores that metrics gave them.

    Parameters
    ----------
    name : str
        Name of the data.
    rows : sequence of Rating
        The ratings; any sequence is taken, and is held as columns.
    scores : mapping of str to mapping
        For each metric, a mapping of rating id to score, higher is more faithful; None, or an id left out, is a missing
        score.
    dropped : mapping of str to int
        Number of what the loader left out, by reason.
    levels : bool
        The gold is on the three-level scale.
    unrated : mapping of str to str
        The groups of texts that were left out for want of a rating, by id; score files may have them, and verdicts'
        rates count them.
    headings : tuple of str
        Those of the table that was read, for messages.

    Raises
    ------
    UserError
        For fewer than two ratings, an id that is empty or used twice, an empty group, a gold rating that is not finite,
        gold that is the same everywhere, a pair that lies in two groups, a score or vote that is not finite, and a
        score of an id that no rating has.
    """

    name: str
    rows: Sequence[Rating]
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    levels: bool = False
    unrated: Mapping[str, str] = field(default_factory=dict)
    headings: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return f"<Ratings {self.name!r}: {count(len(self.rows), 'rating')}, scores of {len(self.scores):,} metrics>"

    def __post_init__(self) -> None:
        rows, where = RatingColumns.of(self.rows), f"Rated set {self.name!r}"
        object.__setattr__(self, "rows", rows)
        _check_rows(rows, where)
        if len(rows) < 2:
            raise UserError(f"{where} holds {count(len(rows), 'rating')}, which is fewer than two: give more.")
        if np.ptp(rows.gold) == 0:
            raise UserError(f"{where}: all {len(rows)} ratings are {rows.gold[0]:g}; give ratings that differ.")
        object.__setattr__(self, "scores", self.score_columns)

    @property
    def columns(self) -> RatingColumns:
        """Return the rows as columns."""
        return RatingColumns.of(self.rows)

    @cached_property
    def score_columns(self) -> Mapping[str, ScoreColumn]:
        """Return the scores as columns over the rows."""
        where = f"Rated set {self.name!r}: metric"
        return {name: ScoreColumn.of(self.columns, values, f"{where} {name!r}") for name, values in self.scores.items()}

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of ids, groups, gold, systems, texts and pairs (if any), independent of the order of rows.

        Scores and votes are not hashed.
        """
        rows = self.columns
        group, system, pair = map(json_texts, (rows.group, rows.system, rows.pair))
        pair = np.where(pair == '""', "", "," + pair)
        parts = (
            interleaved(
                *(",[", map(encode_basestring, rows.id[some].tolist()), ",", group[some].tolist(), ","),
                *(numerals(rows.gold[some]), ",", system[some].tolist(), ","),
                *(map(encode_basestring, rows.text[some].tolist()), pair[some].tolist(), "]"),
            )
            for some in row_blocks(rows.order)
        )
        return _sha256("[]", parts)

    def level_counts(self, most: int = 10) -> dict[str, int]:
        """Return the number of texts by gold value, highest first, or by level if `levels`.

        Parameters
        ----------
        most : int, default 10
            Where there are more gold values than this, the result is {}.

        Returns
        -------
        dict of str to int
        """
        values, counts = (part[::-1].tolist() for part in np.unique(self.columns.gold, return_counts=True))
        count_by_value = dict(zip(values, counts, strict=True))
        if self.levels:
            return {level.label: count_by_value.get(level, 0) for level in sorted(SupportLevel, reverse=True)}
        return {} if len(count_by_value) > most else {f"{gold:g}": count for gold, count in count_by_value.items()}


def row_blocks(rows: Indices) -> list[Indices]:
    """Return an array of row numbers cut into arrays of which JSON is made at a time."""
    return [rows[at : at + _BLOCK] for at in range(0, rows.size, _BLOCK)]


def json_texts(texts: Categorical) -> Cells:
    """Return the JSON of each text, (n,)."""
    return np.asarray(objects(map(encode_basestring, texts.categories))[texts.codes])


def numerals(numbers: Numbers) -> list[str]:
    """Return the text of each number in JSON, exponents as Python writes them; NaN is null."""
    bits, codes = distinct(numbers.view(np.int64))  # -0.0 and 0.0 differ
    known = bits.view(np.float64)
    texts = to_json(known.tolist()).decode()[1:-1].replace("NaN", "null").split(",")
    size = np.abs(known)
    for row in np.flatnonzero((size > 0) & ((size < 1e-4) | (size >= 1e16))).tolist():  # exponents look different
        texts[row] = repr(float(known[row]))
    return texts if known.size == numbers.size else objects(texts)[codes].tolist()


def interleaved(*parts: str | Iterable[str]) -> str:
    """Return all rows as one text, without separators. A row is its parts in their order.

    A part is a text that all rows share, or a column of texts, (n,).
    """
    columns = [part if isinstance(part, str) else list(part) for part in parts]
    n = max(len(column) for column in columns if not isinstance(column, str))
    texts = [""] * (n * len(columns))
    for place, column in enumerate(columns):
        texts[place :: len(columns)] = [column] * n if isinstance(column, str) else column
    return "".join(texts)


def _sha256(brackets: str, parts: Iterable[str]) -> str:
    """Return the SHA-256 of a canonical JSON text that is given in parts, without building the text.

    brackets: the two brackets around it. parts: some rows each, with a comma before every row; the very first comma is
    left out.
    """
    digest, begun = hashlib.sha256(brackets[:1].encode()), False
    for part in parts:
        digest.update(part[not begun :].encode("utf-8", "surrogatepass"))
        begun = True
    digest.update(brackets[1:].encode())
    return digest.hexdigest()


def _check_rows(rows: RatingColumns, where: str) -> None:
    """Raise `UserError` for the first invalid row, as described at `Ratings`. where: source, for messages."""
    ids, order, again = rows.id, rows.order, np.zeros(len(rows), dtype=np.bool_)
    ordered = ids[order]
    again[order[1:]] = ordered[1:] == ordered[:-1]
    endless = rows.votes.astype(np.bool_)
    endless[endless] = [not all(map(isfinite, votes.values())) for votes in rows.votes[endless]]
    pairs, first = rows.pair.codes, np.full(len(rows.pair.categories), -1, dtype=np.int64)
    first[pairs[::-1]] = rows.group.codes[::-1]
    elsewhere = (first[pairs] != rows.group.codes) & (rows.pair != "")
    unsound = (rows.group == "") | (ids == "") | again | ~np.isfinite(rows.gold) | elsewhere | endless
    if not unsound.any():
        return
    row = int(np.argmax(unsound))
    rating_id, group = rows.id[row], rows.group[row]
    if not rating_id or not group:
        raise UserError(f"{where}: rating {rating_id!r} of group {group!r} has an empty id or group; give it both.")
    if again[row]:
        cure = "make ids unique, or name the annotator of each row in a column 'annotator'"
        raise UserError(f"{where}: rating id {rating_id!r} is used twice; {cure}.")
    if not isfinite(rows.gold[row]):
        raise UserError(f"{where}: rating {rating_id!r} has gold {rows.gold[row]}; allowed: a finite number.")
    if endless[row]:
        raise UserError(f"{where}: rating {rating_id!r} has a vote that is not a finite number: correct or delete it.")
    other = rows.group.categories[first[pairs[row]]]
    raise UserError(f"{where}: pair {rows.pair[row]!r} is in groups {other!r} and {group!r}; a pair must be in one.")
