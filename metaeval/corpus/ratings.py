"""Rated texts without their sources, stored as columns; a `Rating` object is made only when a row is read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from metaeval.column_arrays import Coded, Texts, interleaved, numerals, row_blocks, text_array, values_of
from metaeval.corpus.model import SupportLevel
from metaeval.display_text import count
from metaeval.errors import UserError

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Rating:
    """One rated text. `gold` is any finite number, more is more faithful.

    group: the unit that resampling draws, and whose texts are ranked against each other: often the source article.
    system: the generator; subset: the part of the set that the text comes from; pair: an id that texts of a group share
    which are ranked against each other alone, as a text and its minimally changed copy. Empty where not known. fields:
    further texts by name. votes: by annotator, on the scale of the gold.
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


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes on n rows: row i has the entries starts[i] .. starts[i + 1] - 1 of `annotators` and `values`.

    starts: (n + 1,). votes[i] is a dict of the votes on row i, by annotator.
    """

    starts: NDArray[np.int64]
    annotators: Coded[str]
    values: Floats

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, float]]) -> Votes:
        """Return the compressed votes. rows: the votes on each row, by annotator."""
        listed = list(rows)
        names = Coded.of(name for votes in listed for name in votes)
        values = np.array([value for votes in listed for value in votes.values()], dtype=np.float64)
        return cls(np.cumsum([0, *map(len, listed)]), names, values)

    @classmethod
    def of_columns(cls, columns: Mapping[str, Floats], n: int) -> Votes:
        """Return the compressed votes. columns: by annotator, (n,) votes, NaN where there is none."""
        matrix = np.column_stack([np.zeros((n, 0)), *columns.values()])
        rows, places = np.nonzero(~np.isnan(matrix))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return cls(starts, Coded(text_array(columns), places.astype(np.int32)), matrix[rows, places])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of votes on each row, (n,)."""
        return np.diff(self.starts)

    def __getitem__(self, row: int) -> dict[str, float]:
        some = slice(*self.starts[row : row + 2].tolist())
        return dict(zip(self.annotators[some].tolist(), self.values[some].tolist(), strict=True))

    def mean(self, row: int) -> float:
        """Return the mean of the votes on a row, which must have at least one."""
        votes = self.values[slice(*self.starts[row : row + 2].tolist())].tolist()
        return float(sum(votes) / len(votes))

    def take(self, rows: Rows) -> Votes:
        """Return the votes on the rows of these numbers, in this order."""
        counts = self.counts[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        return Votes(starts, self.annotators[places], self.values[places])


@dataclass(frozen=True, eq=False)
class RatingColumns(Sequence[Rating]):
    """n ratings stored as columns, one for each field of `Rating`. fields: by name, None where a row has none."""

    id: Texts
    group: Coded[str]
    gold: Floats
    system: Coded[str]
    subset: Coded[str]
    text: Coded[str]
    pair: Coded[str]
    fields: Mapping[str, Coded[Any]]
    votes: Votes

    @classmethod
    def of(cls, rows: Iterable[Rating]) -> RatingColumns:
        """Return ratings as columns; columns are returned unchanged."""
        if isinstance(rows, RatingColumns):
            return rows
        listed = list(rows)
        names = dict.fromkeys(name for row in listed for name in row.fields)
        return cls(
            id=text_array(row.id for row in listed),
            group=Coded.of(row.group for row in listed),
            gold=np.array([row.gold for row in listed], dtype=np.float64),
            system=Coded.of(row.system for row in listed),
            subset=Coded.of(row.subset for row in listed),
            text=Coded.of(row.text for row in listed),
            pair=Coded.of(row.pair for row in listed),
            fields={name: Coded.of(row.fields.get(name) for row in listed) for name in names},
            votes=Votes.of(row.votes for row in listed),
        )

    def __len__(self) -> int:
        return len(self.gold)

    @overload
    def __getitem__(self, row: int) -> Rating: ...
    @overload
    def __getitem__(self, row: slice) -> RatingColumns: ...
    def __getitem__(self, row: int | slice) -> Rating | RatingColumns:
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        row = range(len(self))[row]
        fields = {name: column[row] for name, column in self.fields.items() if column[row] is not None}
        known = (self.system[row], self.subset[row], self.text[row], self.pair[row], fields, self.votes[row])
        return Rating(self.id[row], self.group[row], self.gold[row].item(), *known)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RatingColumns) and len(self) == len(other) and all(map(Rating.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def take(self, rows: Rows) -> RatingColumns:
        """Return the rows of these numbers, in this order."""
        system, subset, text, pair = (column[rows] for column in (self.system, self.subset, self.text, self.pair))
        fields = {name: column[rows] for name, column in self.fields.items()}
        group, votes = self.group[rows], self.votes.take(rows)
        return RatingColumns(self.id[rows], group, self.gold[rows], system, subset, text, pair, fields, votes)

    @cached_property
    def order(self) -> Rows:
        """Return the row numbers sorted by id, (n,)."""
        return np.argsort(self.id, kind="stable")

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Return the row number of each id."""
        return {name: row for row, name in enumerate(values_of(self.id))}


@dataclass(frozen=True, eq=False)
class ScoreColumn(Mapping[str, "float | None"]):
    """The scores of a metric by rating id, stored as a column; None where one is missing.

    score: (n,), NaN where it is missing. known: (n,), whether the mapping has the row's id.
    """

    rows: RatingColumns
    score: Floats
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: RatingColumns, scores: Mapping[str, float | None], where: str) -> ScoreColumn:
        """Return the column of scores by id.

        Raises `UserError` for an id of no row, and for a score that is not finite.

        where: source of the scores, for messages.
        """
        if isinstance(scores, ScoreColumn) and scores.rows is rows:
            return scores
        score, known = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_)
        for rating_id, value in scores.items():
            if (row := rows.numbers.get(rating_id)) is None:
                raise UserError(
                    f"{where} has a score for {rating_id!r}, but no rating with this id: use the ids of the ratings."
                )
            if value is not None and not isfinite(value):
                raise UserError(
                    f"{where} has the score {value} for {rating_id!r}: a score must be finite, or None if missing."
                )
            known[row] = True
            score[row] = np.nan if value is None else value
        return cls(rows, score, known)

    def __getitem__(self, rating_id: str) -> float | None:
        row = self.rows.numbers[rating_id]
        if not self.known[row]:
            raise KeyError(rating_id)
        return None if np.isnan(self.score[row]) else float(self.score[row])

    def __iter__(self) -> Iterator[str]:
        return values_of(self.rows.id[self.known])

    def __len__(self) -> int:
        return int(np.count_nonzero(self.known))

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the ids and scores of the rows that have a score."""
        order = self.rows.order[~np.isnan(self.score[self.rows.order])]
        parts = ((self.rows.id[some].tolist(), numerals(self.score[some])) for some in row_blocks(order))
        return _sha256("{}", (interleaved(",", map(encode_basestring, ids), ":", scores) for ids, scores in parts))


@dataclass(frozen=True)
class Ratings:
    """Rated texts in their file order, and the scores that metrics gave them.

    rows: any sequence of ratings is taken, and is held as columns. scores: for each metric, a mapping of rating id to
    score, higher is more faithful; None, or an id left out, is a missing score. dropped: what the loader left out, by
    reason. levels: the gold is on the three-level scale. unrated: ids of texts that were left out for want of a rating,
    which score files may have.

    Raises `UserError` for fewer than two ratings, an id that is empty or used twice, an empty group, a gold rating
    that is not finite, gold that is the same everywhere, a pair that lies in two groups, a score or vote that is not
    finite, and a score of an id that no rating has.
    """

    name: str
    rows: Sequence[Rating]
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    levels: bool = False
    unrated: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<Ratings {self.name!r}: {count(len(self.rows), 'rating')}, scores of {len(self.scores):,} metrics>"

    def __post_init__(self) -> None:
        rows, where = RatingColumns.of(self.rows), f"Rated set {self.name!r}"
        object.__setattr__(self, "rows", rows)
        _check_rows(rows, where)
        if len(rows) < 2:
            raise UserError(
                f"{where} holds {count(len(rows), 'rating')}, and metrics cannot be evaluated with fewer than two: "
                "give more."
            )
        if np.ptp(rows.gold) == 0:
            raise UserError(
                f"{where}: all {len(rows)} ratings are {rows.gold[0]:g}, and metrics can only be evaluated on "
                "ratings that differ."
            )
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
        group, system = rows.group.mapped(encode_basestring), rows.system.mapped(encode_basestring)
        pair = rows.pair.mapped(lambda name: name and f",{encode_basestring(name)}")
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
        """Return the number of texts by gold value, highest first ({} beyond `most`), or by level if `levels`."""
        values, counts = (part[::-1].tolist() for part in np.unique(self.columns.gold, return_counts=True))
        count_by_value = dict(zip(values, counts, strict=True))
        if self.levels:
            return {level.label: count_by_value.get(level, 0) for level in sorted(SupportLevel, reverse=True)}
        return {} if len(count_by_value) > most else {f"{gold:g}": count for gold, count in count_by_value.items()}


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
    ids, order, n = rows.id, rows.order, len(rows)
    empty = (np.asarray(rows.group.names) == "")[rows.group.codes]
    again = np.zeros(n, dtype=np.bool_)
    again[order[1:]] = ids[order[1:]] == ids[order[:-1]]
    endless = np.repeat(np.arange(n), rows.votes.counts)[~np.isfinite(rows.votes.values)]
    pairs, first = rows.pair.codes, np.full(len(rows.pair.names), -1, dtype=np.int64)
    first[pairs[::-1]] = rows.group.codes[::-1]
    elsewhere = (first[pairs] != rows.group.codes) & (np.asarray(rows.pair.names) != "")[pairs]
    unsound = empty | (ids == "") | again | ~np.isfinite(rows.gold) | elsewhere
    unsound[endless] = True
    if not unsound.any():
        return
    row = int(np.argmax(unsound))
    rating_id, group = rows.id[row], rows.group[row]
    if not rating_id or not group:
        raise UserError(f"{where}: rating {rating_id!r} of group {group!r} has an empty id or group; give it both.")
    if again[row]:
        raise UserError(
            f"{where}: rating id {rating_id!r} is used twice; ids must be unique, unless a column "
            "'annotator' names the annotator of each row."
        )
    if not isfinite(rows.gold[row]):
        raise UserError(f"{where}: rating {rating_id!r} has gold {rows.gold[row]}; allowed: a finite number.")
    if row in endless:
        raise UserError(
            f"{where}: rating {rating_id!r} has a vote that is not a finite number: correct it, or leave it out."
        )
    other = rows.group.names[first[pairs[row]]]
    raise UserError(f"{where}: pair {rows.pair[row]!r} is in groups {other!r} and {group!r}; a pair must be in one.")
