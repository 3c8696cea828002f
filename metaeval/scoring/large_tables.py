"""Tables that may be larger than memory: pairs, scored window by window, and ratings with scores, read in batches.

A table of pairs, which `metaeval score -d ratings --data TABLE` reads, has a column of sources and one of statements.
Its rows are taken in windows, each of which is planned and scored as a job of its own. Where a window begins depends on
the rows alone, so that the blocks, and with them the scores, are the same under every executor, number of shards, and
after a kill.

Ratings in a Parquet file of more than `MOST_IN_MEMORY` rows have a column `group`, a column `gold` with a few values,
and the scores of each metric in a numeric column of its own, or in a score file that has its rows in its order; null is
a missing score.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.corpus.loaders.ratings import LEVELS
from metaeval.errors import UserError, shown
from metaeval.files import check_unchanged, marks_of, sha256_file
from metaeval.own_tables import RATING_ROLES, TEXT_ROLES, Table, read_table, text_of, warn_of_swap
from metaeval.reading import parquet_batches, parquet_schema, parquet_size
from metaeval.scoring.contract import Status
from metaeval.scoring.plan import Texts
from metaeval.scoring.scorefile import ScoreFile, read_manifest

WINDOW_ROWS = 1_000_000
"""Most rows of a window."""

WINDOW_CHARACTERS = 100_000_000
"""Most characters of a window's texts, a source counted once; one pair may have more."""

BATCH = 10_000
"""Rows that are read at a time."""

_Progress = Callable[[str, int, int], None]

ROLES: Mapping[str, Sequence[str]] = {"id": RATING_ROLES["id"], **TEXT_ROLES}


_FIRST = 1000
"""Rows of a table whose lengths say whether its columns are swapped."""


@dataclass
class Window:
    """Rows of a table that are one job: their ids and (source, statement) texts. number: of the window, from 0."""

    number: int
    ids: list[str] = field(default_factory=list)
    texts: list[Texts] = field(default_factory=list)


@dataclass(frozen=True)
class PairFile:
    """A table of pairs. columns: the heading of each role that has one. starts: the row of each window, from 0.

    fingerprint: SHA-256 of the file. marks: of the file when it was first read.
    """

    path: Path
    columns: Mapping[str, str]
    fingerprint: str
    marks: Sequence[int]
    rows: int
    starts: tuple[int, ...]

    def windows(self) -> Iterator[Window]:
        """The windows, one in memory at a time where the last one is let go before the next is asked for.

        Raises `UserError` where the file has changed since it was first read.
        """
        check_unchanged(self.path, self.marks)
        window = Window(-1)
        for begins, own, *texts in _placed(self.path, self.columns):
            if begins:
                check_unchanged(self.path, self.marks)
                if window.texts:
                    yield window
                window = Window(window.number + 1)
            window.ids.append(own)
            window.texts.append((texts[0], texts[1]))
        check_unchanged(self.path, self.marks)
        yield window

    def shifted(self, progress: _Progress | None, number: int) -> _Progress | None:
        """Progress of the whole table, from that of a window's unique pairs."""
        if progress is None or len(self.starts) == 1:
            return progress
        start, end = (*self.starts, self.rows)[number : number + 2]

        def report(metric: str, done: int, total: int) -> None:
            progress(metric, end if done == total else start + done, self.rows)

        return report


def read_pair_file(path: Path, given: Mapping[str, str]) -> PairFile:
    """The table of pairs in a file. given: the heading of each role that is named.

    The whole file is read once, so that nothing is scored before it is known to be sound. Raises `UserError` for a
    column less, a row without a text (with its number), and an id that two rows have.
    """
    marks = marks_of(path)
    parquet = path.suffix.lower() == ".parquet"
    table = Table(str(path), tuple(parquet_schema(path)), ()) if parquet else read_table(path)
    columns = table.find(ROLES, {role: given[role] for role in ROLES if given.get(role)}, TEXT_ROLES)
    starts, hashes = list[int](), array("q")
    lengths: list[tuple[int, int]] = []
    for row, (begins, own, source, statement) in enumerate(_placed(path, columns)):
        if begins:
            starts.append(row)
        hashes.append(hash(own))
        if row < _FIRST:
            lengths.append((len(source), len(statement)))
    if not hashes:
        raise UserError(f"{path} holds no rows.")
    _check_ids(path, columns, hashes)
    warn_of_swap(str(path), columns, lengths)
    return PairFile(path, columns, sha256_file(path), marks, len(hashes), tuple(starts))


def _check_ids(path: Path, columns: Mapping[str, str], hashes: array[int]) -> None:
    """Refuse an id that two rows have. hashes: of the ids, which may be more than memory holds; they are sorted."""
    found = np.frombuffer(hashes, dtype=np.int64)
    found.sort()
    twice = set(found[1:][found[1:] == found[:-1]].tolist())
    seen: dict[str, int] = {}
    for row, (_, own, *_) in enumerate(_placed(path, columns) if twice else (), start=1):
        if hash(own) in twice and (first := seen.setdefault(own, row)) != row:
            raise UserError(f"{path} row {row}: id {shown(own)} is that of row {first}; keep one row for each pair.")


def _placed(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[bool, str, str, str]]:
    """The rows: whether one begins a window, its id, source and statement. A source of a window is one object."""
    sources: dict[str, str] = {}
    rows = load = 0
    for number, (own, source, statement) in enumerate(_rows(path, columns), start=1):
        if not (isinstance(source, str) and isinstance(statement, str)):
            role, cell = ("statement", statement) if isinstance(source, str) else ("source", source)
            said = "blank" if cell is None else shown(cell)
            raise UserError(f"{path} row {number}: {columns[role]} is {said}; it must be a text.")
        size = len(statement) + (0 if source in sources else len(source))
        begins = number == 1 or rows == WINDOW_ROWS or load + size > WINDOW_CHARACTERS
        if begins:
            sources, rows, load, size = {}, 0, 0, len(statement) + len(source)
        rows, load = rows + 1, load + size
        yield begins, text_of(own) or f"row {number}", sources.setdefault(source, source), statement


def _rows(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[Any, Any, Any]]:
    """(id, source, statement) of each row; None for a cell that is blank, and for an id where there is no column."""
    if path.suffix.lower() != ".parquet":
        for row in read_table(path).rows:
            source, statement = (row.text(columns[role]) or None for role in TEXT_ROLES)
            yield row.text(columns["id"]) if "id" in columns else None, source, statement
        return
    before = 0
    for batch in parquet_batches(path, list(dict.fromkeys(columns.values())), BATCH):
        try:
            cells = {role: batch.column(heading).to_pylist() for role, heading in columns.items()}
        except UnicodeDecodeError as error:
            rows = f"rows {before + 1:,} to {before + batch.num_rows:,}"
            raise UserError(f"{path} {rows}: a text is not UTF-8 ({error.reason}).") from error
        before += batch.num_rows
        yield from zip(cells.get("id") or [None] * batch.num_rows, cells["source"], cells["statement"], strict=True)


MOST_IN_MEMORY = 2_000_000
"""Ratings that are read as objects: some 3 GB."""

RATINGS_BATCH = 500_000
"""Rows of ratings that are read at a time."""


@dataclass(frozen=True)
class Place:
    """Where the scores of a metric stand: a column of the ratings, or a file of float64 in their order.

    path: of the ratings, or of the score file. fields: of its signature. statuses: why scores are missing, where that
    is known.
    """

    path: Path
    column: str
    file: Path | None
    fields: Mapping[str, object]
    statuses: Mapping[str, int]


@dataclass(frozen=True)
class CountedRatings:
    """What one pass over the file tells. rows: in all. levels: the gold values, ascending, with the rows of each.

    gold: its column. metrics: where each metric's scores stand, by name. codes: file with a number for the group of
    each row, int32. groups: (G,) the code of each number, in the order of the groups' names, as in memory.
    """

    path: Path
    rows: int
    levels: Mapping[float, int]
    gold: str
    metrics: Mapping[str, Place]
    codes: Path
    groups: NDArray[np.int32]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.groups.size


def read_counted(
    path: Path, folder: Path, options: Mapping[str, str], most_levels: int, score_files: Sequence[Path] = ()
) -> CountedRatings:
    """Number the groups of a file into `folder`, and count its levels; `UserError` where it is no such file.

    options: of the data set; `id`, `group`, `gold` and `metrics` name columns. most_levels: that can be counted.
    """
    kinds = parquet_schema(path)
    chosen = {name: text for name, text in options.items() if text}
    if others := chosen.keys() - {"id", "group", "gold", "metrics"}:
        raise UserError(f"Option {min(others)} of ratings is not known beyond {MOST_IN_MEMORY:,} rows: leave it out.")
    group, gold_name = chosen.get("group", "group"), chosen.get("gold", "gold")
    for name, hint in ((group, "what each row belongs to"), (gold_name, "its rating")):
        if name not in kinds:
            raise UserError(f"{path} has no column {name!r} ({hint}); it has {', '.join(map(repr, kinds))}.")
    roles = {group, gold_name, *(name for names in RATING_ROLES.values() for name in names)}
    found = [name for name, kind in kinds.items() if kind == "number" and name.lower() not in roles]
    asked = [name.strip() for name in chosen.get("metrics", "").split(",") if name.strip()]
    metrics = tuple(dict.fromkeys(asked or found))
    if not (metrics or score_files) or not set(metrics) <= kinds.keys():
        missing = min(set(metrics) - kinds.keys(), default="of numbers beside group and gold")
        raise UserError(f"{path} has no column {missing}: name the columns of scores with dataset_options.metrics.")
    codes: dict[Any, int] = {}
    levels: dict[float, int] = {}
    rows, at = 0, folder / "groups"
    with at.open("wb") as file:
        for batch in parquet_batches(path, [group, gold_name], RATINGS_BATCH):
            if lacking := batch.column(group).is_null(nan_is_null=True).true_count:
                raise UserError(
                    f"{path}: {lacking:,} row{'' if lacking == 1 else 's'} from row {rows + 1} on: no group is given."
                )
            encoded = batch.column(group).dictionary_encode()
            known = [codes.setdefault(value, len(codes)) for value in encoded.dictionary.to_pylist()]
            np.array(known, dtype=np.int32)[encoded.indices.to_numpy(zero_copy_only=False)].tofile(file)
            gold = _numbers(path, batch, gold_name, LEVELS)
            if not np.isfinite(gold).all():
                row = rows + 1 + int(np.flatnonzero(~np.isfinite(gold))[0])
                raise UserError(
                    f"{path} row {row}: gold is {batch.column(gold_name)[row - rows - 1]}; it must be a finite number."
                )
            for value, members in zip(*np.unique(gold, return_counts=True), strict=True):
                levels[float(value)] = levels.get(float(value), 0) + int(members)
            if len(levels) > most_levels:
                raise UserError(
                    f"{path}: gold has more than {most_levels} values, which are not counted from disk. "
                    "Round it to fewer, or take a sample."
                )
            rows += gold.size
    if len(levels) < 2:
        raise UserError(f"{path}: all {rows} rows have one gold value; nothing tells one row from another.")
    order = np.empty(len(codes), dtype=np.int32)
    order[[codes[name] for name in sorted(codes, key=str)]] = np.arange(len(codes))
    places = {name: Place(path, name, None, {"metric": f"{name}@published"}, {}) for name in metrics}
    own = Table(str(path), tuple(kinds), ()).find(RATING_ROLES, {"id": chosen["id"]} if "id" in chosen else None)
    for number, scores in enumerate(dict.fromkeys(score_files)):
        name, place = _joined(path, own.get("id", ""), rows, scores, folder / f"scores-{number}")
        places[f"{name} ({scores})" if name in places else name] = place
    return CountedRatings(path, rows, dict(sorted(levels.items())), gold_name, places, at, order)


def _joined(path: Path, heading: str, rows: int, scores: Path, target: Path) -> tuple[str, Place]:
    """A score file's metric, and its scores, higher is more support, in the order of the ratings.

    heading: of the ratings' ids; empty where they are "row 1", "row 2" ... Raises `UserError` for another file, and
    where it has other rows, or another order.
    """
    if scores.suffix != ".parquet":
        raise UserError(
            f"{scores}: ratings that are counted from disk take score files in Parquet ('metaeval score --format "
            "parquet')."
        )
    kinds = parquet_schema(scores)
    if lacking := [name for name in ("pair_id", "score") if name not in kinds]:
        raise UserError(f"{scores} has no column {lacking[0]} (columns: {', '.join(map(repr, kinds))}): name one so.")
    _check_order(path, heading, rows, scores)
    given = ScoreFile(scores, {}, read_manifest(scores))
    statuses = Counter[str]()
    with target.open("wb") as file:
        for batch in parquet_batches(scores, ["score", *(["status"] if "status" in kinds else [])], RATINGS_BATCH):
            score = given.direction * _numbers(scores, batch, "score")
            if "status" in kinds:
                missing = batch.column("status").filter(batch.column("score").is_null())
                for one in missing.value_counts().to_pylist():
                    statuses[one["values"] or str(Status.ABSENT)] += one["counts"]
            score.tofile(file)
    return given.metric, Place(scores, "score", target, given.signed(f"sha256:{sha256_file(scores)[:12]}"), statuses)


def _check_order(path: Path, heading: str, rows: int, scores: Path) -> None:
    """Refuse a score file that has not the ratings' ids in their order."""
    cure = "score the same file, or put the scores into a column of it"
    if (theirs := parquet_size(scores)) != rows:
        raise UserError(f"{scores} has {theirs:,} rows, and {path} has {rows:,}: {cure}.")
    named = chain.from_iterable(
        batch.column(0).to_pylist() for batch in parquet_batches(scores, ["pair_id"], RATINGS_BATCH)
    )
    at = 0
    for own in _ids(path, heading, rows):
        found = list(islice(named, len(own)))
        if found != own:
            place = next(number for number, pair in enumerate(zip(own, found, strict=True)) if pair[0] != pair[1])
            raise UserError(
                f"{scores} row {at + place + 1} is of {shown(found[place])}, and in {path} this row is "
                f"{shown(own[place])}: {cure}."
            )
        at += len(own)


def _ids(path: Path, heading: str, rows: int) -> Iterator[list[str]]:
    """The ids of ratings, some at a time."""
    if not heading:
        for at in range(0, rows, RATINGS_BATCH):
            yield [f"row {number}" for number in range(at + 1, min(at + RATINGS_BATCH, rows) + 1)]
        return
    at = 1
    for batch in parquet_batches(path, [heading], RATINGS_BATCH):
        yield [text_of(value) or f"row {number}" for number, value in enumerate(batch.column(0).to_pylist(), at)]
        at += batch.num_rows


def scores_of(given: CountedRatings, metric: str) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """A metric's scores beside the gold, some rows at a time."""
    place, at = given.metrics[metric], 0
    columns = [given.gold] if place.file else [place.column, given.gold]
    with place.file.open("rb") if place.file else nullcontext() as file:
        for batch in parquet_batches(given.path, columns, RATINGS_BATCH):
            gold = _numbers(given.path, batch, given.gold, LEVELS)
            score = np.fromfile(file, np.float64, gold.size) if file else _numbers(given.path, batch, place.column)
            if np.isinf(score).any():
                row = at + 1 + int(np.flatnonzero(np.isinf(score))[0])
                raise UserError(f"{place.path} row {row}: {metric} is infinite; write null for a missing score.")
            yield score, gold
            at += gold.size


def _numbers(
    path: Path, batch: Any, name: str, words: Mapping[str, float] = MappingProxyType({})
) -> NDArray[np.float64]:
    """A column of Arrow as floats, NaN where it is null. words: that stand for numbers."""
    column = batch.column(name)
    if words and str(column.type) in ("string", "large_string"):
        encoded = column.dictionary_encode()
        known = {text: words.get(text.strip().casefold()) for text in encoded.dictionary.to_pylist()}
        if wrong := [text for text, number in known.items() if number is None]:
            raise UserError(f"{path}: {name} is {shown(wrong[0], 40)}; allowed: numbers, or {', '.join(words)}.")
        numbers = np.array([*known.values(), math.nan], dtype=np.float64)
        codes = encoded.indices.fill_null(len(known)).to_numpy()
        return np.asarray(numbers[codes], dtype=np.float64)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiu":
        raise UserError(f"{path}: column {name!r} is of type {column.type}; it must hold numbers.")
    return np.asarray(values, dtype=np.float64)
